import test from "ava";
import fc from "fast-check";

import { Heights } from "../../../../src/web/parts/list/heights.ts";
import { MAX_ROWS, NO_ROWS, visibleRows, rowsToDraw } from "../../../../src/web/parts/list/window.ts";

test("partly visible rows count as visible", (t) => {
  const heights = new Heights(26, 1_000);
  t.deepEqual(visibleRows(heights, 13, 260), { from: 0, to: 11 });
  t.deepEqual(visibleRows(heights, 26, 260), { from: 1, to: 11 });
  t.deepEqual(visibleRows(new Heights(26, 0), 0, 260), NO_ROWS);
});

test("the window contains the visible rows, and never more than a page can handle", (t) => {
  fc.assert(
    fc.property(fc.array(fc.nat(99_000), { minLength: 1 }), fc.integer({ min: 1, max: 100 }), (places, screen) => {
      let drawn = NO_ROWS;
      for (const from of places) {
        const seen = { from, to: from + screen };
        drawn = rowsToDraw(seen, drawn, 100_000);
        if (drawn.from > seen.from || drawn.to < seen.to || drawn.to - drawn.from > MAX_ROWS) return false;
      }
      return true;
    }),
  );
  t.pass();
});

test("small steps leave the window unchanged", (t) => {
  const first = rowsToDraw({ from: 100, to: 130 }, NO_ROWS, 1_000);
  t.is(rowsToDraw({ from: 103, to: 133 }, first, 1_000), first);
  t.not(rowsToDraw({ from: 120, to: 150 }, first, 1_000), first);
});
