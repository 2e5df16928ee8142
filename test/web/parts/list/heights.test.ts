import test from "ava";
import fc from "fast-check";

import { Heights } from "../../../../src/web/parts/list/heights.ts";

const LAYOUT = fc.record({
  length: fc.integer({ min: 1, max: 200 }),
  extras: fc.dictionary(fc.nat(199).map(String), fc.integer({ min: 1, max: 900 })),
});

test("the position of a row is the sum of all heights before it", (t) => {
  fc.assert(
    fc.property(LAYOUT, ({ length, extras }) => {
      const all = Object.entries(extras).map(([index, extra]) => ({ index: Number(index), extra }));
      const heights = new Heights(26, length, all);
      let top = 0;
      for (let index = 0; index < length; index++) {
        if (heights.top(index) !== top) return false;
        const bottom = top + 26 + (extras[String(index)] ?? 0);
        if (heights.indexAt(top) !== index || heights.indexAt(bottom - 1) !== index) return false;
        top = bottom;
      }
      return heights.total === top;
    }),
  );
  t.pass();
});

test("positions outside a list map to its first and last row", (t) => {
  const heights = new Heights(26, 10);
  t.is(heights.indexAt(-500), 0);
  t.is(heights.indexAt(99_999), 9);
  t.is(new Heights(26, 0).indexAt(5), 0);
});
