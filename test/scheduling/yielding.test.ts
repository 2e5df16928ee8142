import test from "ava";
import fc from "fast-check";
import { setImmediate as turn } from "node:timers/promises";

import { Scheduler } from "../../src/scheduling/scheduler.ts";
import { Yielder, mapYielding, sortYielding } from "../../src/scheduling/yielding.ts";
import { turnsDuring } from "../support/turns.ts";

const scheduler = new Scheduler();
const { querying } = scheduler;

type Item = { readonly key: number; readonly place: number };
const byKey = (a: Item, b: Item): number => a.key - b.key;

test("sorts like the language's own sort, and is stable", async (t) => {
  t.deepEqual(await sortYielding([], byKey, querying), []);
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 9_000 }), fc.integer({ min: 1, max: 5_000 }), async (length, spread) => {
      const items = Array.from({ length }, (_, place) => ({ key: (place * 7_919) % spread, place }));
      t.deepEqual(await sortYielding(items, byKey, querying), items.toSorted(byKey));
    }),
    { numRuns: 20 },
  );
});

test("sorting yields to other work", async (t) => {
  const items = Array.from({ length: 20_000 }, (_, place) => ({ key: -place, place }));
  const turns = await turnsDuring(() => sortYielding(items, byKey, querying));
  t.true(turns >= 20, `${turns} turns`);
});

test("mapping keeps the order of items and yields to other work", async (t) => {
  const items = Array.from({ length: 20_000 }, (_, i) => i);
  let made: readonly number[] = [];
  const turns = await turnsDuring(async () => {
    made = await mapYielding(items, (item) => item * 2, querying);
  });
  t.deepEqual(
    made,
    items.map((item) => item * 2),
  );
  t.true(turns >= 5, `${turns} turns`);
});

/** Runs steps of a millisecond each. */
async function paced(yielder: Yielder, steps: number): Promise<void> {
  for (let step = 0; step < steps; step++) {
    if (yielder.isDue) await yielder.turn();
    const begin_ms = performance.now();
    while (performance.now() - begin_ms < 1);
  }
}

test("paced work of unknown length yields to other work, and ends when it is cancelled", async (t) => {
  const turns = await turnsDuring(() => paced(new Yielder(querying), 200));
  t.true(turns >= 5, `${turns} turns`);
  const unwanted = new Yielder(querying, () => {
    throw new Error("not wanted");
  });
  await t.throwsAsync(paced(unwanted, 200), { message: "not wanted" });
});

test("of several paced works one slice runs between two turns of other work", async (t) => {
  const turns = await turnsDuring(() => Promise.all([1, 2, 3, 4].map(() => paced(new Yielder(querying), 100))));
  t.true(turns >= 20, `${turns} turns`);
});

test.serial("long queries leave requests that arrive more than a turn between their pieces", async (t) => {
  let turns = 0;
  const over = new AbortController();
  const requests = (async () => {
    for (; !over.signal.aborted; turns++) {
      scheduler.noteRequest();
      await turn();
    }
  })();
  const places: number[] = [];
  const yielder = new Yielder(querying);
  for (let piece = 0; piece < 60; piece++) {
    await paced(yielder, 6);
    await yielder.turn();
    places.push(turns);
  }
  over.abort();
  await requests;
  const gaps = places.slice(-31).map((place, i, all) => place - (all[i - 1] ?? place));
  t.true(gaps.toSorted((a, b) => a - b)[15]! > 10, gaps.join(", "));
});
