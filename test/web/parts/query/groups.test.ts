import test from "ava";

import { readQuery } from "../../../../src/web/parts/query/compose.ts";
import { withKey } from "../../../../src/web/parts/query/groups.ts";

test("a grouped query is sent with its keys, and otherwise as typed", (t) => {
  const asked = (query: string) => withKey(readQuery(query)!).text;
  t.is(
    asked("GET events GROUPBY user COLUMNS(count,sum) TAKE 3"),
    "GET events GROUPBY user COLUMNS(count,sum, KEY) TAKE 3",
  );
  t.is(
    asked("GET events GROUPBY user, DAY COLUMNS(KEY AS who, AVG(@took)\n// )\n)"),
    "GET events GROUPBY user, DAY COLUMNS(KEY AS who, AVG(@took)\n// )\n, KEY)",
  );
  for (const query of [
    "GET events GROUPBY user",
    "GET events GROUPBY user COLUMNS(count, key)",
    "GET events COLUMNS(count, sum)",
  ]) {
    t.is(asked(query), query);
  }
});
