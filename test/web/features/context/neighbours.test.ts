import test from "ava";

import { Neighbours } from "../../../../src/web/features/context/neighbours.ts";
import type { ReadNeighbours } from "../../../../src/web/features/context/neighbours.ts";
import { until } from "../../../support/until.ts";
import { rowOf, rowsOf } from "../../support/rows.ts";

const ALL = rowsOf(0, 700);

const read: ReadNeighbours = async (id, { before, after }) => {
  const at = ALL.findIndex((row) => row.id === id);
  await Promise.resolve();
  return ALL.slice(Math.max(0, at - before), at + after + 1);
};

for (const order of ["asc", "desc"] as const) {
  test(`events on both sides are read as the reader approaches, ${order}`, async (t) => {
    const rows = new Neighbours({ id: rowOf(300).id, order, read });
    await rows.begin();
    t.is(rows.length.peek(), 121);
    t.is(rows.indexOf(rowOf(300).id), 60);
    await until(
      () => {
        rows.need(0, rows.length.peek());
        return rows.ends.peek().before && rows.ends.peek().after;
      },
      { what: "both ends", interval_ms: 1 },
    );
    const ids = Array.from({ length: rows.length.peek() }, (_, index) => rows.idAt(index)!);
    const expected = ALL.map(({ id }) => id);
    t.deepEqual(ids, order === "asc" ? expected : expected.toReversed());
  });
}

test("a failed read is repeated on request", async (t) => {
  let fails = true;
  const rows = new Neighbours({
    id: rowOf(300).id,
    order: "desc",
    read: async (...asked) => {
      if (fails) throw new Error("away");
      return await read(...asked);
    },
  });
  await t.throwsAsync(rows.begin(), { message: "away" });
  fails = false;
  rows.retry();
  t.not(rows.fault.peek(), null, "what failed is said until there is an answer");
  await until(() => rows.length.peek() === 121, { what: "the rows", interval_ms: 1 });
  t.is(rows.fault.peek(), null);
});
