import test from "ava";

import { intoBatches } from "../../src/cli/batches.ts";

async function* now(items: readonly string[]): AsyncGenerator<string> {
  yield* items;
}

async function all(batches: AsyncIterable<readonly string[]>): Promise<string[]> {
  const found: string[] = [];
  for await (const batch of batches) found.push(batch.join(""));
  return found;
}

const length = (text: string): number => text.length;
const BOUNDS = { items: 3, size_bytes: 10, age_ms: 60_000 };

test("a batch ends at its limits, with all items in order", async (t) => {
  t.deepEqual(await all(intoBatches(now(["a", "b", "c", "d"]), length, BOUNDS)), ["abc", "d"]);
  t.deepEqual(await all(intoBatches(now(["a", "b", "c"]), length, BOUNDS)), ["abc"]);
  t.deepEqual(await all(intoBatches(now(["aaaaaa", "bbbb", "c"]), length, BOUNDS)), ["aaaaaabbbb", "c"]);
  t.deepEqual(await all(intoBatches(now(["a", "b".repeat(20), "c"]), length, BOUNDS)), ["a", "b".repeat(20), "c"]);
  t.deepEqual(await all(intoBatches(now([]), length, BOUNDS)), []);
});

test("waiting items are returned without later ones", async (t) => {
  const late = Promise.withResolvers<void>();
  async function* source(): AsyncGenerator<string> {
    yield "a";
    yield "b";
    await late.promise;
    yield "c";
  }
  const batches = intoBatches(source(), length, { ...BOUNDS, age_ms: 5 });
  t.deepEqual((await batches.next()).value, ["a", "b"]);
  late.resolve();
  t.deepEqual((await batches.next()).value, ["c"]);
  t.true((await batches.next()).done);
});

test("a source that fails between batches is reported at the next one", async (t) => {
  const failed = Promise.withResolvers<void>();
  async function* broken(): AsyncGenerator<string> {
    try {
      yield* ["a", "b", "c"];
      throw new Error("gone");
    } finally {
      setImmediate(failed.resolve);
    }
  }
  const batches = intoBatches(broken(), length, BOUNDS);
  t.deepEqual((await batches.next()).value, ["a", "b", "c"]);
  await failed.promise;
  await t.throwsAsync(batches.next(), { message: "gone" });
});

test("a source that fails is reported, and one that is no longer needed is closed", async (t) => {
  async function* broken(): AsyncGenerator<string> {
    yield "a";
    throw new Error("gone");
  }
  await t.throwsAsync(all(intoBatches(broken(), length, BOUNDS)), { message: "gone" });
  const batches = intoBatches(broken(), length, BOUNDS);
  t.deepEqual((await batches.next()).value, ["a"], "what it gave before comes first");
  await t.throwsAsync(batches.next(), { message: "gone" });
  const ended = Promise.withResolvers<boolean>();
  async function* endless(): AsyncGenerator<string> {
    try {
      for (;;) yield "abc";
    } finally {
      ended.resolve(true);
    }
  }
  for await (const batch of intoBatches(endless(), length, BOUNDS)) {
    t.is(batch.length, 3);
    break;
  }
  t.true(await ended.promise);
});
