import test from "ava";

import { readQuery } from "../../../../src/web/parts/query/compose.ts";
import {
  changeText,
  eventsOfGroup,
  groupsOfRecords,
  keysOfQuery,
  measuredColumn,
  measuredBy,
  peakOfSeries,
  sortColumnOfQuery,
  valuesAt,
} from "../../../../src/web/parts/groups/model.ts";

const QUERY = "GET events WHERE tag = 'x' GROUPBY source, HOUR COLUMNS(KEY, COUNT)";
const RECORDS = [
  { key: "web", keys: ["web", "11/24/2026 13:00"], count: "5", previous: { count: "2" } },
  { key: "web", keys: ["web", "11/24/2026 12:00"], count: "3", previous: { count: "1" } },
  { key: "", keys: ["", "11/24/2026 12:00"], count: "1" },
];
const AT_12 = Date.UTC(2026, 10, 24, 12);

test("the keys of a query are fields, bands and times", (t) => {
  const keys = keysOfQuery(readQuery("GET events GROUPBY tag, BANDS(value, 0, 10), MINUTES(5)")!);
  t.deepEqual(keys, [
    { kind: "field", name: "tags" },
    { kind: "bands", name: "value" },
    { kind: "time", name: "5 minutes", step: { unit: "minutes", count: 5 } },
  ]);
  t.deepEqual(keysOfQuery(readQuery("GET events COLUMNS(COUNT)")!), []);
});

test("groups that differ only in their time are one row with a trend, added up", (t) => {
  const groups = groupsOfRecords(keysOfQuery(readQuery(QUERY)!), RECORDS, "UTC");
  t.deepEqual(
    groups.keys.map(({ name }) => name),
    ["source"],
  );
  t.deepEqual(groups.columns, ["count"]);
  t.deepEqual(
    groups.times.map(({ from }) => from),
    [AT_12, AT_12 + 3_600_000],
  );
  const [web, none] = groups.rows;
  t.deepEqual(web!.keys, ["web"]);
  t.deepEqual(web!.values, { count: "8" });
  t.deepEqual(web!.previous, { count: "3" });
  t.deepEqual(valuesAt(web!, groups.times), [3, 5]);
  t.deepEqual(valuesAt(none!, groups.times), [1, 0]);
  t.is(peakOfSeries(web!.series)!.value, 5);
});

test("averages of several times are not added up", (t) => {
  const records = RECORDS.slice(0, 2).map((record, index) => ({ ...record, "avg(value)": String(index + 1) }));
  const [row] = groupsOfRecords(keysOfQuery(readQuery(QUERY)!), records, "UTC").rows;
  t.is(row!.values["avg(value)"], "2");
  t.is(row!.values["count"], "8");
});

test("a group leads to its events: its keys as conditions, its time as the range", (t) => {
  const keys = keysOfQuery(readQuery(QUERY)!);
  const { rows, keys: shown } = groupsOfRecords(keys, RECORDS, "UTC");
  t.deepEqual(eventsOfGroup(QUERY, shown, rows[0]!, "UTC"), {
    query: "GET events WHERE tag = 'x' AND source = 'web'",
    moments: null,
  });
  t.regex(eventsOfGroup(QUERY, shown, rows[1]!, "UTC").query, /source IS NULL/);
  const byTime = "GET events GROUPBY HOUR";
  const time = groupsOfRecords(keysOfQuery(readQuery(byTime)!), [{ key: "11/24/2026 12:00", count: "3" }], "UTC");
  t.deepEqual(eventsOfGroup(byTime, time.keys, time.rows[0]!, "UTC"), {
    query: "GET events",
    moments: { from: AT_12, to: AT_12 + 3_600_000 },
  });
});

test("a band leads to its numbers", (t) => {
  const query = "GET events GROUPBY BANDS(value, 0, 10)";
  const { rows, keys } = groupsOfRecords(keysOfQuery(readQuery(query)!), [{ key: "0..10", count: "3" }], "UTC");
  t.is(eventsOfGroup(query, keys, rows[0]!, "UTC").query, "GET events WHERE (value >= 0 AND value < 10)");
});

test("a place leads to the events at its coordinates, and the group without one to all others", (t) => {
  const query = "GET events WHERE source = 'web' GROUPBY geo";
  const keys = keysOfQuery(readQuery(query)!);
  t.deepEqual(keys, [{ kind: "place", name: "geo" }]);
  const records = ["", "-17.7,179.9", "5e-7,-120"].map((key) => ({ key, count: "1" }));
  const { rows } = groupsOfRecords(keys, records, "UTC");
  const queries = rows.map((row) => eventsOfGroup(query, keys, row, "UTC").query);
  t.deepEqual(queries, [
    "GET events WHERE source = 'web' AND geo NOT WITHIN (-90, -180, 90, 180)",
    "GET events WHERE source = 'web' AND geo WITHIN (-17.7, 179.9, -17.7, 179.9)",
    "GET events WHERE source = 'web' AND geo WITHIN (5e-7, -120, 5e-7, -120)",
  ]);
  for (const each of queries) t.not(readQuery(each), null, each);
});

test("changes are shown in whole per cent", (t) => {
  t.is(changeText(612, 201), "+204 %");
  t.is(changeText(96, 141), "−32 %");
  t.is(changeText(5, 0), "new");
  t.is(changeText(0, 0), "0 %");
});

test("the chart shows the column that rows are sorted by, or else the first one of numbers", (t) => {
  const records = RECORDS.slice(0, 2).map((record, i) => ({ ...record, note: "late", "sum(@took)": String(70 - i) }));
  const groups = groupsOfRecords(keysOfQuery(readQuery(QUERY)!), records, "UTC");
  t.is(measuredColumn(groups, "sum(@took)"), "sum(@took)");
  for (const sorted of [null, "note", "gone"]) t.is(measuredColumn(groups, sorted), "count");
  const [row] = measuredBy(groups, "sum(@took)").rows;
  t.deepEqual(valuesAt(row!, groups.times), [69, 70]);
  t.is(peakOfSeries(row!.series)!.value, 70);
});

test("the column that a query sorts by is found by its name or its expression", (t) => {
  const columnOf = (clauses: string) => sortColumnOfQuery(readQuery(`GET events GROUPBY user ${clauses}`)!);
  t.is(columnOf(""), null);
  t.is(columnOf("SORT COUNT DESC"), "count");
  t.is(columnOf("COLUMNS(KEY, SUM( @took )) SORT SUM(@took)"), "sum(@took)");
  t.is(columnOf("COLUMNS(KEY, SUM(@took) AS Spent) SORT spent"), "Spent");
  t.is(columnOf("COLUMNS(KEY, SUM(@took) AS Spent) SORT SUM(@took)"), "Spent");
});
