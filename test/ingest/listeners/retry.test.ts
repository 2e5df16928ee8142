import test from "ava";
import { pino } from "pino";

import { LoggiaError } from "../../../src/errors.ts";
import { appendWithRetry } from "../../../src/ingest/listeners/retry.ts";

function attempts() {
  const abandoned = new AbortController();
  const lines: string[] = [];
  const counted: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void lines.push(line) });
  const limiter = { countCaller: (owner: string) => void counted.push(owner) } as never;
  const given: unknown[] = [];
  const options = {
    context: { limiter, log, abandoned: abandoned.signal },
    owner: "someone",
    what: "events of a test",
    gaveUp: (error: unknown) => void given.push(error),
  };
  return { abandoned, options, lines, counted, given };
}

test("appends to a full bus are retried, and each attempt counts for the owner", async (t) => {
  const { options, lines, counted, given } = attempts();
  let n = 0;
  const stored = await appendWithRetry(() => {
    n += 1;
    return n < 4 ? Promise.reject(new LoggiaError("overloaded", "full")) : Promise.resolve("stored");
  }, options);
  t.is(stored, "stored");
  t.deepEqual(
    counted,
    Array.from({ length: 4 }, () => "someone"),
  );
  t.deepEqual([lines, given], [[], []], "a full bus is no news");
});

test("an unexpected failure is logged, and the append is retried", async (t) => {
  const { options, lines } = attempts();
  let n = 0;
  const stored = await appendWithRetry(() => {
    n += 1;
    return n === 1 ? Promise.reject(new Error("a fault")) : Promise.resolve(7);
  }, options);
  t.is(stored, 7);
  t.is(lines.length, 1);
  t.regex(lines[0]!, /events of a test could not be stored/);
});

test("retries end with the last failure at shutdown, or when nobody waits", async (t) => {
  const ending = attempts();
  const full = new LoggiaError("bus_unavailable", "away");
  let n = 0;
  const waiting = appendWithRetry(() => {
    n += 1;
    if (n === 2) ending.abandoned.abort();
    return Promise.reject(full);
  }, ending.options);
  t.is(await waiting, null);
  t.deepEqual(ending.given, [full]);

  const left = attempts();
  t.is(await appendWithRetry(() => Promise.reject(full), { ...left.options, isAbandoned: () => true }), null);
  t.deepEqual(left.given, [full]);
});
