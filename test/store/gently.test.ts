import test from "ava";
import fc from "fast-check";

import { mapGently, sortGently } from "../../src/store/gently.ts";
import { turnsDuring } from "../support/turns.ts";

type Item = { readonly key: number; readonly place: number };
const byKey = (a: Item, b: Item): number => a.key - b.key;

test("it sorts as the language does, and keeps the order of equals", async (t) => {
  t.deepEqual(await sortGently([], byKey), []);
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 9_000 }), fc.integer({ min: 1, max: 5_000 }), async (length, spread) => {
      const items = Array.from({ length }, (_, place) => ({ key: (place * 7_919) % spread, place }));
      t.deepEqual(await sortGently(items, byKey), items.toSorted(byKey));
    }),
    { numRuns: 20 },
  );
});

test("others have their turn meanwhile", async (t) => {
  const items = Array.from({ length: 20_000 }, (_, place) => ({ key: -place, place }));
  const turns = await turnsDuring(() => sortGently(items, byKey));
  t.true(turns >= 20, `${turns} turns`);
});

test("what is made of each item is in their order, and others have their turn as well", async (t) => {
  const items = Array.from({ length: 20_000 }, (_, i) => i);
  let made: readonly number[] = [];
  const turns = await turnsDuring(async () => {
    made = await mapGently(items, (item) => item * 2);
  });
  t.deepEqual(
    made,
    items.map((item) => item * 2),
  );
  t.true(turns >= 5, `${turns} turns`);
});
