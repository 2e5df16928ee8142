import test from "ava";
import * as fc from "fast-check";

import { formatNumber } from "../../../src/web/parts/numbers.ts";

test("numbers are written as the browser's English format writes them", (t) => {
  const numbers = fc.oneof(fc.integer(), fc.double({ min: -1e9, max: 1e9, noNaN: true }));
  const property = fc.property(numbers, (number) => {
    const rounded = Math.round(number * 1000) / 1000;
    // There is no zero below zero to a reader.
    t.is(formatNumber(number), (rounded === 0 ? 0 : rounded).toLocaleString("en"));
  });
  fc.assert(property, { numRuns: 2000 });
  t.is(formatNumber(12_480), "12,480");
  t.is(formatNumber(-1234.5678), "-1,234.568");
});
