import test from "ava";
import * as fc from "fast-check";

import { formatNumber, showGroups } from "../../src/api/view.ts";

for (const [number, expected] of [
  [null, "0"],
  [0, "0"],
  [12.5, "12.5"],
  [-3, "-3"],
  [0.1 + 0.2, "0.3"],
  [1 / 3, "0.333333333333333"],
  [1e-7, "0.0000001"],
  [-1.5e-9, "-0.0000000015"],
  [1e21, "1000000000000000000000"],
  [2 ** 60, "1152921504606850000"],
] as const) {
  test(`${number} is written ${expected}`, (t) => {
    t.is(formatNumber(number), expected);
  });
}

test("any number is a plain decimal of at most fifteen digits, and the nearest such", (t) => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, min: -1e308, max: 1e308 }), (number) => {
      const text = formatNumber(number);
      t.regex(text, /^-?\d+(\.\d+)?$/);
      t.true(
        text
          .replace(/^-?0*\.?0*/, "")
          .replace(".", "")
          .replace(/0+$/, "").length <= 15,
      );
      t.is(Number(text), Number(number.toPrecision(15)) + 0);
    }),
  );
});

test("the groups of a number are keyed by plain decimals too, and absence by nothing", (t) => {
  const group = { count: 2, avg: 1e21, sum: 2e21, min: 1e21, max: 1e21 };
  const groups = showGroups([{ key: 1e21, ...group }, { key: null, ...group }], { kind: "field", field: "value" }, ["key"]); // prettier-ignore
  t.deepEqual(groups.show(0, 2), [{ key: "1000000000000000000000" }, { key: "" }]);
});
