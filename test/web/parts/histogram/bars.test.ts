import test from "ava";

import { readQuery } from "../../../../src/web/parts/query/compose.ts";
import { stepOfRange } from "../../../../src/web/parts/query/steps.ts";
import {
  barsQuery,
  columnsOfRange,
  labelled,
  partKeysOfColumns,
  partName,
  axisScale,
} from "../../../../src/web/parts/histogram/bars.ts";

const HOUR_MS = 3_600_000;
const FROM = Date.UTC(2026, 10, 24, 12);
const RANGE = { from: FROM, to: FROM + 2 * HOUR_MS };
const STEP = { ...stepOfRange(RANGE), unit: "hours" as const, count: 1, key: "HOUR", name: "1-hour bars" };

test("bars are groups by time and class of a query's events within its range", (t) => {
  const query = barsQuery("GET events WHERE source = 'a' SORT text TAKE 5", RANGE, "UTC", STEP, { kind: "count" })!;
  t.regex(query, /WHERE source = 'a'/);
  t.regex(query, /GROUPBY HOUR, class/);
  t.regex(query, /COLUMNS\(KEY, COUNT, COUNT\(level = 'fatal'\) AS fatal, .*AS trace\)/);
  t.regex(query, /OCCURS\('2026-11-24T12/);
  t.notRegex(query, /SORT|TAKE/);
  t.not(readQuery(query), null);
});

test("the bars of a grouped query show the events behind the groups", (t) => {
  const query = barsQuery("GET events GROUPBY source HAVING COUNT > 3", RANGE, "UTC", STEP, { kind: "count" })!;
  t.notRegex(query, /source|HAVING/);
});

test("an aggregate of a field replaces the count", (t) => {
  const query = barsQuery("GET events", RANGE, "UTC", STEP, { kind: "avg", field: "@odd name" })!;
  t.regex(query, /GROUPBY HOUR\s/);
  t.regex(query, /AVG\(@'odd name'\) AS height/);
});

test("a query with a fault, or one for users, has no bars", (t) => {
  t.is(barsQuery("GET events WHERE", RANGE, "UTC", STEP, { kind: "count" }), null);
  t.is(barsQuery("GET users", RANGE, "UTC", STEP, { kind: "count" }), null);
});

test("every bar of the range is present, with its classes by weight and events without one last", (t) => {
  const records = [
    { key: "11/24/2026 12:00", keys: ["11/24/2026 12:00", ""], count: "7" },
    { key: "11/24/2026 12:00", keys: ["11/24/2026 12:00", "removed"], count: "4" },
    { key: "11/24/2026 12:00", keys: ["11/24/2026 12:00", "slow"], count: "2" },
    { key: "11/24/2026 12:00", keys: ["11/24/2026 12:00", "error"], count: "1" },
  ];
  const [first, second, ...more] = columnsOfRange(records, STEP, RANGE, "UTC", ["error", "slow"]);
  t.deepEqual(more, []);
  t.is(first!.height, 14);
  t.deepEqual(first!.parts, [
    { class: "error", level: "", count: 1 },
    { class: "slow", level: "", count: 2 },
    { class: "removed", level: "", count: 4 },
    { class: "", level: "", count: 7 },
  ]);
  t.is(second!.height, 0);
  t.deepEqual(axisScale([first!, second!]), { low: 0, high: 14 });
});

test("events without a class are split by level, the most severe first; a class wins", (t) => {
  const at = "11/24/2026 12:00";
  const levels = { fatal: "0", error: "2", warn: "1", info: "3", debug: "0", trace: "0" };
  const records = [
    { key: at, keys: [at, ""], count: "7", ...levels },
    { key: at, keys: [at, "slow"], count: "3", ...levels },
  ];
  const columns = columnsOfRange(records, STEP, RANGE, "UTC", ["slow"]);
  t.deepEqual(columns[0]!.parts, [
    { class: "slow", level: "", count: 3 },
    { class: "", level: "error", count: 2 },
    { class: "", level: "warn", count: 1 },
    { class: "", level: "info", count: 3 },
    { class: "", level: "", count: 1 },
  ]);
  t.is(columns[0]!.height, 10);
  t.deepEqual(
    partKeysOfColumns(columns, ["slow"]).map((part) => partName(part, (key) => key.toUpperCase())),
    ["SLOW", "error", "warn", "info", "No class"],
  );
});

test("a bar without numbers has no value, which 0 would be", (t) => {
  const records = [{ key: "11/24/2026 12:00", numbers: "0", height: "0" }];
  const figures = (given: typeof records) =>
    columnsOfRange(given, STEP, RANGE, "UTC", [], "avg").map(({ height, parts }) => [height, parts.length]);
  t.deepEqual(figures(records), [
    [null, 0],
    [null, 0],
  ]);
  t.deepEqual(figures([{ key: "11/24/2026 12:00", numbers: "2", height: "0" }]), [
    [0, 0],
    [null, 0],
  ]);
});

test("the axis includes 0, also if all values are below it", (t) => {
  const column = { ...columnsOfRange([], STEP, RANGE, "UTC", [])[0]!, height: -5 };
  t.deepEqual(axisScale([column]), { low: -5, high: 1 });
  t.deepEqual(axisScale([]), { low: 0, high: 1 });
});

test("round local times are labelled under the axis, and not too many", (t) => {
  const columns = Array.from({ length: 96 }, (_, index) => ({
    ...columnsOfRange([], STEP, RANGE, "UTC", [])[0]!,
    start: Date.UTC(2026, 10, 24, 5, 15) + index * 900_000,
  }));
  const clock = (moment: number) => new Date(moment).toISOString().slice(11, 16);
  const named = labelled(columns, clock).map((index) => clock(columns[index]!.start));
  t.deepEqual(named, ["06:00", "09:00", "12:00", "15:00", "18:00", "21:00", "00:00", "03:00"]);
});
