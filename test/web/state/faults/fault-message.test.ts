import test from "ava";

import { createRateLimiter, DEFAULT_RATES } from "../../../../src/ratelimit/rate-limiter.ts";
import { errorStatus, LoggiaError } from "../../../../src/errors.ts";
import { tooWide } from "../../../../src/store/too-wide.ts";
import { ApiFault } from "../../../../src/web/parts/api/client.ts";
import { messageForFault } from "../../../../src/web/state/faults/fault-message.ts";
import { wordAt } from "../../../../src/web/state/faults/word-at.ts";
import { parseQuery } from "../../../../src/query/parser.ts";

const faultOf = (status: number, code: string, message: string, retryAfter_s: number | null = null): ApiFault =>
  new ApiFault({ status, code, message, retryAfter_s });

/** A fault as returned by the service. */
const answered = (error: LoggiaError): ApiFault =>
  faultOf(errorStatus(error), error.code, error.message, error.retryAfter_s);

test("a temporary fault is retried automatically, and a permanent one is not", (t) => {
  const helps = (fault: ApiFault) => messageForFault(fault, "shop").help;
  t.is(helps(faultOf(0, "unreachable", "")), "count down");
  t.is(helps(faultOf(502, "unknown", "")), "count down");
  t.is(helps(faultOf(500, "internal_error", "")), "count down");
  t.is(helps(faultOf(503, "overloaded", "Too many queries are running; try again shortly", 1)), "count down");
  t.is(helps(faultOf(429, "too_many_requests", "Too many requests from your address", 4)), "count down");
  t.is(helps(faultOf(400, "bad_query", "Line 1, column 3: no")), "show query");
  t.is(helps(faultOf(401, "unauthorized", "")), "sign in");
  t.is(helps(faultOf(403, "forbidden", "")), "try");
  t.is(helps(faultOf(404, "log_not_found", "")), "other log");
  // A retry would take as long and delay others.
  t.is(
    helps(faultOf(503, "overloaded", "The query took longer than 30 s: narrow it, for example by time", 1)),
    "shorten",
  );
  t.is(helps(answered(tooWide("This reads too much", null))), "shorten");
});

test("the number of running queries is read from the service's own message", async (t) => {
  const limiter = createRateLimiter({ rates: { ...DEFAULT_RATES, queries: 1 } });
  const running = Promise.withResolvers<void>();
  const first = limiter.query("ann", () => running.promise);
  const refusal = await t.throwsAsync(
    limiter.query("ann", () => Promise.resolve()),
    { instanceOf: LoggiaError },
  );
  running.resolve();
  await first;
  const words = messageForFault(answered(refusal), "shop");
  t.is(words.title, "One query is running for your account");
  t.is(words.help, "wait");
  const eight = faultOf(429, refusal.code, refusal.message.replace("1 queries", "8 queries"), 1);
  t.is(messageForFault(eight, "shop").title, "Eight queries are running for your account");
});

test("a refused query is described by its place and reason, without the query itself", (t) => {
  const refusal = t.throws(() => parseQuery("GET events TKAE 5"), { instanceOf: LoggiaError });
  const words = messageForFault(answered(refusal), "shop");
  t.regex(words.title, /^Line 1, column 12: expected WHERE, TAKE, .*, found "TKAE"$/);
  t.is(words.text, "Did you mean TAKE?");
  // As the page's own parser throws it, before any request.
  t.deepEqual(messageForFault(refusal, "shop"), words);
});

test("the word at a fault is found by its line and column", (t) => {
  const text = "GET events\r\nWHERE text = '👍 x' AND sorce = 1";
  const word = (line: number, column: number) => {
    const { start, end } = wordAt(text, line, column);
    return text.slice(start, end);
  };
  t.is(word(1, 5), "events");
  t.is(word(2, 14), "'👍 x'");
  t.is(word(2, 24), "sorce");
  t.is(word(2, 99), "");
});
