import type { IncomingMessage } from "node:http";
import test from "ava";

import { errorStatus, LoggiaError } from "../../src/errors.ts";
import { createRateLimiter, DEFAULT_RATES } from "../../src/ratelimit/rate-limiter.ts";
import type { LimitReason } from "../../src/ratelimit/rate-limiter.ts";

function gateAt() {
  let ms = 0;
  const refusals: LimitReason[] = [];
  const limiter = createRateLimiter({
    rates: { ...DEFAULT_RATES, address: 10, caller: 5 },
    refused: (reason) => refusals.push(reason),
    now: () => ms,
  });
  return { limiter, refusals, pass: (s: number) => void (ms += 1000 * s) };
}

const from = (remoteAddress: string) => ({ socket: { remoteAddress }, headers: {} }) as unknown as IncomingMessage;

test("requests are limited per address, with the time to retry", (t) => {
  const { limiter, refusals, pass } = gateAt();
  for (let i = 0; i < 20; i++) t.is(limiter.enter(from("192.0.2.1")), "192.0.2.1");
  const error = t.throws(() => limiter.enter(from("192.0.2.1")), { instanceOf: LoggiaError });
  t.deepEqual([errorStatus(error), error.retryAfter_s], [429, 1]);
  t.deepEqual(refusals, ["address"]);
  t.notThrows(() => limiter.enter(from("192.0.2.2")));
  pass(0.1);
  t.notThrows(() => limiter.enter(from("192.0.2.1")));
});

test("requests are limited per caller, from any address", (t) => {
  const { limiter, refusals } = gateAt();
  for (let i = 0; i < 10; i++) limiter.countCaller("ann");
  t.throws(() => limiter.countCaller("ann"), { message: /with these credentials/ });
  t.deepEqual(refusals, ["caller"]);
  t.notThrows(() => limiter.countCaller("bob"));
});

test("the combined check counts an admitted request like the single steps, and a refused one not at all", (t) => {
  const { limiter } = gateAt();
  for (let i = 0; i < 10; i++) t.true(limiter.admit("192.0.2.1", "ann"));
  t.false(limiter.admit("192.0.2.1", "ann"), "the caller has no more");
  for (let i = 0; i < 10; i++) t.notThrows(() => limiter.enter(from("192.0.2.1")));
  t.throws(() => limiter.enter(from("192.0.2.1")), { message: /from your address/ });
  t.false(limiter.admit("192.0.2.1", "bob"), "nor has the address");
  t.true(limiter.admit("192.0.2.2", "bob"));
});
