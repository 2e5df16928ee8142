import test from "ava";
import { inspect } from "node:util";

import { LoggiaError } from "../../src/errors.ts";
import { toFailure } from "../../src/http/errors.ts";
import { render } from "../../src/http/formats.ts";

test("an expected failure is returned as it is, in every format", (t) => {
  const failure = toFailure(new LoggiaError("event_not_found", "no <such> event"));
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
});

test("401 says how to authenticate; 429 and 503 say when to retry", (t) => {
  t.deepEqual(toFailure(new LoggiaError("unauthorized", "no")).headers, {
    "WWW-Authenticate": 'Basic realm="Loggia"',
  });
  t.deepEqual(toFailure(new LoggiaError("too_many_requests", "no", { retryAfter_s: 7 })).headers, {
    "Retry-After": "7",
  });
  t.deepEqual(toFailure(new LoggiaError("store_unavailable", "no")).headers, { "Retry-After": "1" });
});

test("addresses of engines are not shown to callers", (t) => {
  const message =
    "Elasticsearch at http://127.0.0.1:9200 cannot be reached: connect ECONNREFUSED [::1]:9200, search-1.internal:9300";
  const { body } = toFailure(new LoggiaError("store_unavailable", message));
  const { payload } = render({ kind: "json" }, body);
  t.regex(payload, /"Elasticsearch cannot be reached: connect ECONNREFUSED,"/);
});

test("paths of engine files are not shown to callers", (t) => {
  const message = "The batches /srv/loggia-data/batches.sqlite cannot be used: database or disk is full";
  const { body } = toFailure(new LoggiaError("store_unavailable", message));
  const { payload } = render({ kind: "json" }, body);
  t.regex(payload, /"The batches cannot be used: database or disk is full"/);
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
  test(`an unexpected ${inspect(fault, { depth: 0 }).split("\n")[0]} is not shown`, (t) => {
    const failure = toFailure(fault);
    t.is(failure.status, 500);
    const { payload } = render({ kind: "json" }, failure.body);
    t.is((JSON.parse(payload) as { error: { code: string } }).error.code, "internal_error");
    t.notRegex(payload, /hunter2/);
  });
}
