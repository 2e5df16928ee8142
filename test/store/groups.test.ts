import test from "ava";

import { GroupLengths, tooLongGroups } from "../../src/store/groups.ts";

test("the texts of groups are added up to the limit of a result", (t) => {
  const lengths = new GroupLengths();
  const values = ["x".repeat(10_000_000), 5, null];
  for (let i = 0; i < 5; i++) lengths.add(values);
  t.false(lengths.isFull);
  lengths.add(["x"]);
  t.true(lengths.isFull);
  t.regex(tooLongGroups().message, /have more than 50000000 characters: narrow it with WHERE/);
});
