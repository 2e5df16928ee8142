import test from "ava";
import * as fc from "fast-check";

import {
  formatBound,
  formatMeasure,
  formatNumber,
  roundUp,
  shortenMiddle,
} from "../../../../src/web/parts/text/numbers.ts";

test("numbers are formatted like the browser's English format", (t) => {
  const numbers = fc.oneof(fc.integer(), fc.double({ min: -1e9, max: 1e9, noNaN: true }));
  const property = fc.property(numbers, (number) => {
    const rounded = Math.round(number * 1000) / 1000;
    // The format shows no negative zero.
    t.is(formatNumber(number), (rounded === 0 ? 0 : rounded).toLocaleString("en"));
  });
  fc.assert(property, { numRuns: 2000 });
  t.is(formatNumber(12_480), "12,480");
  t.is(formatNumber(-1234.5678), "-1,234.568");
});

test("very large and very small numbers are written as powers of ten", (t) => {
  t.is(formatNumber(1e300), "1.0e300");
  t.is(formatNumber(-1.26e21), "-1.3e21");
  t.is(formatNumber(999_999_999_999_999), "999,999,999,999,999");
  t.is(formatMeasure(0.00000012), "1.2e-7");
  t.is(formatMeasure(-0.0001), "-1.0e-4");
  t.is(formatMeasure(0), "0");
  t.is(formatMeasure(1234.5678), "1,234.568");
  t.is(formatBound(2e299), "2e299");
  t.is(formatBound(1e-7), "1e-7");
  t.is(formatBound(1000), "1000");
});

test("the largest number is rounded up to one that can still be drawn", (t) => {
  t.is(roundUp(1.7e308), Number.MAX_VALUE);
  t.is(roundUp(3), 5);
});

test("a name cut in the middle keeps its start and more of its end", (t) => {
  t.is(shortenMiddle("user-2031", 9), "user-2031");
  t.is(shortenMiddle("user-2031", 6), "u…2031");
  t.is(shortenMiddle("user-2031", 6).length, 6);
});
