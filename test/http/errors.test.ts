import test from "ava";
import { inspect } from "node:util";
import pino from "pino";

import { LoggiaError } from "../../src/errors.ts";
import { toFailure } from "../../src/http/errors.ts";
import { render } from "../../src/http/formats.ts";

/** Returns a logger and the lines that it has written. */
function recorder() {
  const lines: string[] = [];
  return { lines, log: pino({}, { write: (line: string) => void lines.push(line) }) };
}

test("an expected failure is returned as it is, in every format", (t) => {
  const { lines, log } = recorder();
  const failure = toFailure(new LoggiaError("event_not_found", "no <such> event"), log);
  t.is(failure.status, 404);
  t.deepEqual(failure.headers, {});
  t.is(
    render({ kind: "json" }, failure.body).payload,
    '{"error":{"status":404,"code":"event_not_found","message":"no <such> event"}}',
  );
  t.is(
    render({ kind: "xml" }, failure.body).payload,
    '<?xml version="1.0" encoding="utf-8"?><error><status>404</status><code>event_not_found</code><message>no &lt;such&gt; event</message></error>',
  );
  t.is(
    render({ kind: "jsonp", callback: "f" }, failure.body).payload,
    '/**/f({"error":{"status":404,"code":"event_not_found","message":"no <such> event"}});',
  );
  t.deepEqual(lines, []);
});

test("401 says how to authenticate; 429 and 503 say when to retry", (t) => {
  const { log } = recorder();
  t.deepEqual(toFailure(new LoggiaError("unauthorized", "no"), log).headers, {
    "WWW-Authenticate": 'Basic realm="Loggia"',
  });
  t.deepEqual(toFailure(new LoggiaError("too_many_requests", "no", { retryAfter_s: 7 }), log).headers, {
    "Retry-After": "7",
  });
  t.deepEqual(toFailure(new LoggiaError("store_unavailable", "no"), log).headers, { "Retry-After": "1" });
});

test("addresses of engines are not shown to callers", (t) => {
  const { lines, log } = recorder();
  const message =
    "Elasticsearch at http://127.0.0.1:9200 cannot be reached: connect ECONNREFUSED [::1]:9200, search-1.internal:9300";
  const { body } = toFailure(new LoggiaError("store_unavailable", message), log);
  const { payload } = render({ kind: "json" }, body);
  t.regex(payload, /"Elasticsearch cannot be reached: connect ECONNREFUSED,"/);
  t.true(lines.join().includes("http://127.0.0.1:9200"), "the log has it");
});

test("paths of engine files are not shown to callers", (t) => {
  const { lines, log } = recorder();
  const message = "The batches /srv/loggia-data/batches.sqlite cannot be used: database or disk is full";
  const { body } = toFailure(new LoggiaError("store_unavailable", message), log);
  const { payload } = render({ kind: "json" }, body);
  t.regex(payload, /"The batches cannot be used: database or disk is full"/);
  t.true(lines.join().includes("/srv/loggia-data/batches.sqlite"), "the log has it");
});

for (const fault of [
  new Error("password is hunter2"),
  new LoggiaError("internal_error", "an engine says hunter2"),
  new TypeError("x"),
  "a string",
  undefined,
  null,
  { status: 200 },
]) {
  test(`an unexpected ${inspect(fault, { depth: 0 }).split("\n")[0]} is logged and not shown`, (t) => {
    const { lines, log } = recorder();
    const failure = toFailure(fault, log);
    t.is(failure.status, 500);
    const { payload } = render({ kind: "json" }, failure.body);
    t.is((JSON.parse(payload) as { error: { code: string } }).error.code, "internal_error");
    t.notRegex(payload, /hunter2/);
    t.is(lines.length, 1);
    if (fault instanceof Error) t.true(lines[0]?.includes(fault.message));
  });
}
