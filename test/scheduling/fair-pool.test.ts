import test from "ava";

import { currentCaller } from "../../src/caller-context.ts";
import { LoggiaError } from "../../src/errors.ts";
import { createRateLimiter } from "../../src/ratelimit/rate-limiter.ts";
import { FairPool } from "../../src/scheduling/fair-pool.ts";

const REFUSAL = { own: "yours", others: "those of others", retryAfter_s: 10 };

/** Takes items for callers in order, records who received one, and returns items on demand. */
function track(pool: FairPool<number>) {
  const given: { caller: string | undefined; item: number }[] = [];
  return {
    names: () => given.map(({ caller }) => caller ?? "nobody"),
    async take(...callers: (string | undefined)[]): Promise<void> {
      for (const caller of callers) void pool.take(caller).then((item) => given.push({ caller, item }));
      await Promise.resolve();
    },
    async give(place: number): Promise<void> {
      const { caller, item } = given[place]!;
      pool.give(item, caller);
      await Promise.resolve();
    },
  };
}

test("one caller leaves an item to others and takes its turn after them", async (t) => {
  const two = track(new FairPool([1, 2], REFUSAL));
  await two.take("ann", "ann", "ann");
  t.deepEqual(two.names(), ["ann"]);
  await two.take("bob");
  t.deepEqual(two.names(), ["ann", "bob"], "without waiting for those of ann that came before");
  await two.take("bob", "cal");
  await two.give(0);
  t.deepEqual(two.names(), ["ann", "bob", "cal"], "who has had nothing yet comes first");
  await two.give(1);
  t.deepEqual(two.names(), ["ann", "bob", "cal", "ann"], "then who was served longest ago");
});

test("work without a caller may take all items, and a pool of one serves every caller", async (t) => {
  const two = track(new FairPool([1, 2], REFUSAL));
  await two.take(undefined, undefined);
  t.deepEqual(two.names(), ["nobody", "nobody"]);
  const one = track(new FairPool([1], REFUSAL));
  await one.take("ann", "ann", "bob");
  await one.give(0);
  t.deepEqual(one.names(), ["ann", "bob"]);
});

test("draining waits until all items are returned", async (t) => {
  const pool = new FairPool([1, 2], REFUSAL);
  const item = await pool.take("ann");
  const drained = pool.drain();
  pool.give(item, "ann");
  t.deepEqual(
    (await drained).toSorted((a, b) => a - b),
    [1, 2],
  );
});

test("a query runs for the person whose limits it counts against", async (t) => {
  const limiter = createRateLimiter();
  t.is(await limiter.query("ann", async () => currentCaller()), "ann");
  t.is(currentCaller(), undefined);
});

test("an error after waiting too long says whether the caller's own queries or others caused it", async (t) => {
  const pool = new FairPool([1, 2], REFUSAL);
  await pool.take("ann");
  const own = await t.throwsAsync(pool.take("ann", undefined, 1), { instanceOf: LoggiaError });
  t.is(own.code, "too_many_requests");
  t.true(own.retryAfter_s !== null);
  const item = await pool.take("bob");
  const other = await t.throwsAsync(pool.take("cal", undefined, 1), { instanceOf: LoggiaError });
  t.is(other.code, "overloaded");
  pool.give(item, "bob");
  t.is(await pool.take("cal", undefined, 60_000), item, "whoever gave up is not in line any more");
});
