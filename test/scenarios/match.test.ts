import test from "ava";

import { differences } from "./match.ts";

for (const [expected, actual] of [
  [1, 1],
  [null, null],
  [{ a: 1 }, { a: 1, b: 2 }],
  [[{ a: 1 }, 2], [{ a: 1, b: 3 }, 2]], // prettier-ignore
  ["$any", null],
  [{ a: "$absent" }, {}],
  ["$number", 0],
  ["$match ^a b$", "a b"],
] as [unknown, unknown][]) {
  test(`${JSON.stringify(actual)} matches ${JSON.stringify(expected)}`, (t) => {
    t.deepEqual(differences(expected, actual), []);
  });
}

for (const [expected, actual] of [
  [1, 2],
  [1, "1"],
  [null, undefined],
  [{ a: 1 }, {}],
  [{ a: 1 }, null],
  [{ a: 1 }, [1]],
  [[1], [1, 2]],
  [[1, 2], [2, 1]], // prettier-ignore
  [[], {}],
  ["$any", undefined],
  [{ a: "$absent" }, { a: null }],
  ["$number", "0"],
  ["$match ^a$", "ab"],
] as [unknown, unknown][]) {
  test(`${JSON.stringify(actual)} differs from ${JSON.stringify(expected)}`, (t) => {
    t.not(differences(expected, actual).length, 0);
  });
}

test("an unknown marker is an error", (t) => {
  t.throws(() => differences("$anything", 1));
});
