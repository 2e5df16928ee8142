import test from "ava";
import fc from "fast-check";

import { RowStore } from "../../../../src/web/parts/rows/row-store.ts";
import { idOf, rowOf, rowsOf } from "../../support/rows.ts";

type Step = readonly ["append" | "prepend" | "insert" | "shift" | "truncate", number, number];

const STEPS = fc.array(
  fc.tuple(
    fc.constantFrom("append", "prepend", "insert", "shift", "truncate"),
    fc.nat(9),
    fc.nat(5),
  ) as fc.Arbitrary<Step>,
);

test("rows are found at their positions after any additions and removals", (t) => {
  fc.assert(
    fc.property(STEPS, (steps) => {
      const store = new RowStore();
      const model: string[] = [];
      let next = 0;
      for (const [kind, at, count] of steps) {
        const rows = Array.from({ length: count }, () => rowOf(next++));
        const ids = rows.map(({ id }) => id);
        const place = Math.min(at, model.length);
        const removed = Math.min(count, model.length);
        if (kind === "append") {
          model.push(...ids);
          store.append(rows);
        } else if (kind === "prepend") {
          model.unshift(...ids);
          store.prepend(rows);
        } else if (kind === "insert") {
          model.splice(place, 0, ...ids);
          store.insert(place, rows);
        } else if (kind === "shift") {
          model.splice(0, removed);
          store.shift(removed);
        } else {
          model.splice(place);
          store.truncate(place);
        }
      }
      const found = model.map((id, index) => store.indexOf(id) === index && store.at(index)?.id === id);
      return store.length === model.length && found.every(Boolean) && store.indexOf(idOf(9)) === -1;
    }),
  );
  t.pass();
});

test("an event is added once", (t) => {
  const store = new RowStore();
  store.append(rowsOf(0, 5));
  t.is(store.append(rowsOf(3, 8)), 3);
  t.is(store.prepend(rowsOf(0, 2)), 0);
  t.is(store.length, 8);
});

test("dropped rows keep their positions, and changed ones take them", (t) => {
  const store = new RowStore();
  store.append(rowsOf(0, 2_000));
  const all = store.characters;
  store.forget(0, 1_000);
  t.true(store.characters < all);
  t.is(store.at(5), undefined);
  t.is(store.idAt(5), rowOf(5).id);
  t.true(store.isForgotten(999) && !store.isForgotten(1_000));
  store.replace(rowOf(5, { text: "changed" }));
  t.is(store.at(5)?.text, "changed");
});
