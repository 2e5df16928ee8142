import test from "ava";

import { keepOrder } from "../../../../src/web/features/fields/keep-order.ts";

const ordered = (before: string, after: string) => keepOrder([...before], [...after], (letter) => letter).join("");

test("entries keep their places, and new ones take the places of removed ones", (t) => {
  t.is(ordered("", "abc"), "abc");
  t.is(ordered("abc", "cba"), "abc");
  t.is(ordered("abc", "cxa"), "axc");
  t.is(ordered("abc", "xyzc"), "xycz");
  t.is(ordered("abc", "c"), "c");
});

test("entries have their latest contents", (t) => {
  const before = [{ key: "a", count: 1 }];
  const after = [{ key: "a", count: 2 }];
  t.deepEqual(
    keepOrder(before, after, ({ key }) => key),
    after,
  );
});
