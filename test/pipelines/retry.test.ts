import test from "ava";
import { pino } from "pino";
import { LoggiaError } from "../../src/errors.ts";
import { writeWithRetry, retryForever } from "../../pipelines/retry.ts";
import type { RetryPolicy } from "../../pipelines/retry.ts";
import type { WriteOutcome } from "../../src/store/store.ts";

type Script = Partial<RetryPolicy> & { first_ms?: number };

function retryPolicy(given: Script = {}): RetryPolicy & { count: number } {
  const own = {
    signal: new AbortController().signal,
    closing: new AbortController().signal,
    first_ms: 1,
    last_ms: 4,
    log: pino({ level: "silent" }),
    count: 0,
    retried: (count: number) => void (own.count += count),
    ...given,
  };
  return own;
}

const DONE: WriteOutcome = { kind: "done" };
const well = async (): Promise<void> => {};

test("done items are not written again, and rejected ones are returned with their reason", async (t) => {
  const calls: number[][] = [];
  const given = retryPolicy();
  const rejected = await writeWithRetry<number>(
    {
      what: "test",
      groups: [[1, 2, 3, 4]],
      write: async (items) => {
        calls.push([...items]);
        return items.map((item): WriteOutcome => {
          if (item === 2) return { kind: "rejected", reason: "no" };
          return item === 4 && calls.length < 3 ? { kind: "retry", reason: "busy" } : DONE;
        });
      },
      ping: well,
    },
    given,
  );
  t.deepEqual(calls, [[1, 2, 3, 4], [4], [4]]);
  t.deepEqual([...rejected], [[2, "no"]]);
  t.is(given.count, 2);
});

test("a write knows whether it is the last one owed", async (t) => {
  const seen: [readonly number[], boolean][] = [];
  let call = 0;
  await writeWithRetry<number>(
    {
      what: "test",
      groups: [[1, 2], [3]],
      write: async (items, rest) => {
        seen.push([items, rest]);
        call += 1;
        if (call === 1) return [{ kind: "retry", reason: "busy" }, DONE];
        return items.map(() => DONE);
      },
      ping: well,
    },
    retryPolicy(),
  );
  t.deepEqual(seen, [
    [[1, 2], false],
    [[3], false],
    [[1], true],
  ]);
  seen.length = 0;
  await writeWithRetry<number>(
    {
      what: "test",
      groups: [[1, 2]],
      write: async (items, rest) => {
        seen.push([items, rest]);
        return items.length === 2
          ? [
              { kind: "rejected", reason: "no" },
              { kind: "retry", reason: "busy" },
            ]
          : [DONE];
      },
      ping: well,
    },
    retryPolicy(),
  );
  t.deepEqual(seen.at(-1), [[2], false], "a dead letter is still owed");
});

test("an unreachable engine is retried, and nothing is rejected", async (t) => {
  let calls = 0;
  const rejected = await writeWithRetry<number>(
    {
      what: "test",
      groups: [[1, 2]],
      write: async (items) => {
        calls += 1;
        if (calls < 8) throw new LoggiaError("store_unavailable", "away");
        return items.map(() => DONE);
      },
      ping: () => Promise.reject(new LoggiaError("store_unavailable", "away")),
    },
    retryPolicy(),
  );
  t.is(calls, 8);
  t.is(rejected.size, 0);
});

test("an item that makes every write with it throw is isolated and delays no other", async (t) => {
  const items = Array.from({ length: 1_000 }, (_, i) => i);
  const written = new Map<number, number>();
  const rejected = await writeWithRetry<number>(
    {
      what: "test",
      groups: [items],
      write: async (group) => {
        if (group.includes(617)) throw new TypeError("poison");
        for (const item of group) written.set(item, (written.get(item) ?? 0) + 1);
        return group.map(() => DONE);
      },
      ping: well,
    },
    retryPolicy(),
  );
  t.deepEqual([...rejected], [[617, "TypeError: poison"]]);
  t.is(written.size, 999);
  t.true([...written.values()].every((times) => times === 1));
});

test("if every write throws, the engine is at fault, and no event is rejected", async (t) => {
  const closing = new AbortController();
  let calls = 0;
  const retriedWrite = writeWithRetry<number>(
    {
      what: "test",
      groups: [Array.from({ length: 16 }, (_, i) => i)],
      write: async () => {
        calls += 1;
        if (calls > 500) closing.abort(new Error("enough"));
        throw new TypeError("ill");
      },
      ping: well,
    },
    retryPolicy({ closing: closing.signal }),
  );
  await t.throwsAsync(retriedWrite, { message: "enough" });
});

test("a response with too few outcomes is an error", async (t) => {
  const rejected = await writeWithRetry<number>(
    { what: "test", groups: [[1]], write: async () => [], ping: well },
    retryPolicy(),
  );
  t.regex(rejected.get(1)!, /0 outcomes for 1 items/);
});

test("the signal ends all retries with its reason", async (t) => {
  const lost = new AbortController();
  const work = retryForever(
    "test",
    async () => {
      setImmediate(() => lost.abort(new Error("partition lost")));
      throw new Error("no");
    },
    retryPolicy({ signal: lost.signal, first_ms: 60_000, last_ms: 60_000 }),
  );
  await t.throwsAsync(work, { message: "partition lost" });
});

test("delays double up to a maximum, with a random part", async (t) => {
  const waits: number[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void waits.push(JSON.parse(line).wait_ms) });
  let calls = 0;
  await retryForever(
    "test",
    async () => {
      calls += 1;
      if (calls < 8) throw new Error("no");
    },
    retryPolicy({ log, first_ms: 4, last_ms: 32 }),
  );
  t.is(waits.length, 7);
  [4, 8, 16, 32, 32, 32, 32].forEach((full, i) => {
    t.true(waits[i]! >= full / 2 && waits[i]! <= full, `wait ${i}: ${waits[i]}`);
  });
});
