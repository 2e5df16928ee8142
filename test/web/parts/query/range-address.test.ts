import test from "ava";

import { PRESETS } from "../../../../src/web/parts/query/range.ts";
import { readRange, writeRange } from "../../../../src/web/parts/query/range-address.ts";

const read = (written: Readonly<Record<string, string>>) => readRange(new Map(Object.entries(written)));

test("a named range has one parameter, and the default one none", (t) => {
  const written = PRESETS.map(({ range }) => writeRange(range));
  t.deepEqual(
    written.map(({ t: name }) => name),
    ["15m", "1h", "6h", undefined, "today", "yesterday", "week", "7d", "30d", "90d", "all"],
  );
  t.true(written.every((each) => !("from" in each || "to" in each)));
});

for (const range of [
  ...PRESETS.map((preset) => preset.range),
  { from: "1792879200000", to: "1792882800000" },
  { from: "1792879200000", to: "now" },
  { from: "now-3h", to: "now-1h" },
  { from: "today-2d-3h", to: "now" },
]) {
  test(`the range ${range.from} to ${range.to} is read as it was written`, (t) => {
    t.deepEqual(read(writeRange(range)), range);
  });
}

test("the ranges of old links are read", (t) => {
  t.deepEqual(read({ from: "-15m" }), { from: "-15m", to: "now" });
  t.deepEqual(read({ from: "today-1d", to: "today" }), { from: "today-1d", to: "today" });
  t.deepEqual(writeRange(read({ from: "now-2h" })), { t: "2h" });
});

test("an invalid range is the default one", (t) => {
  t.deepEqual(read({ t: "soon" }), { from: "-24h", to: "now" });
});
