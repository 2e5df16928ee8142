import test from "ava";

import { MOST_AGGREGATES } from "../../../../src/query/plan.ts";
import { readQuery } from "../../../../src/web/parts/query/compose.ts";
import { eventsQuery } from "../../../../src/web/parts/query/groups.ts";
import {
  bandBounds,
  choicesBeside,
  conditioned,
  countsQuery,
  facetFields,
  facetQuery,
  statisticsParts,
  statisticsQuery,
  readCounts,
  readFacet,
  readStatistics,
} from "../../../../src/web/features/fields/facets.ts";
import type { FieldStatistics } from "../../../../src/web/features/fields/facets.ts";

const RANGE = { from: Date.UTC(2026, 10, 24), to: Date.UTC(2026, 10, 25) };
const statistics = (changes: Partial<FieldStatistics>): FieldStatistics => ({
  name: "source",
  isNumber: false,
  distinct: 3,
  min: null,
  max: null,
  ...changes,
});

test("class, source, tags and value come first, then attributes of most events, the user last", (t) => {
  const field = (name: string, count: number) => ({ name, kind: "text", count: String(count) });
  const names = facetFields([
    field("created", 9),
    field("user", 9),
    field("@rare", 1),
    field("@often", 8),
    field("source", 9),
    field("class", 2),
    field("text", 9),
  ]).map(({ name }) => name);
  t.deepEqual(names, ["class", "source", "@often", "@rare", "user"]);
});

test("one query requests the facts of all fields, with minimum and maximum of numbers", (t) => {
  const fields = [
    { name: "source", kind: "text", count: "9" },
    { name: "@http.status", kind: "number", count: "9" },
  ];
  const query = statisticsQuery(eventsQuery("GET events WHERE tag = 'x' TAKE 3")!, fields, RANGE, "UTC");
  t.regex(query, /DISTINCT\(source\) AS d0, DISTINCT\(@http\.status\) AS d1, MIN\(@http\.status\) AS min1/);
  t.regex(query, /WHERE tag = 'x'/);
  t.notRegex(query, /TAKE/);
  const record = { key: "", d0: "2", d1: "5", min1: "200", max1: "503" };
  t.deepEqual(readStatistics(record, fields), [
    statistics({ distinct: 2 }),
    statistics({ name: "@http.status", isNumber: true, distinct: 5, min: 200, max: 503 }),
  ]);
});

test("fields are split into parts that ask for at most 50 aggregates each", (t) => {
  const fields = Array.from({ length: 90 }, (_, n) => ({
    name: `@f${n}`,
    kind: n % 3 === 0 ? "text" : "number",
    count: "9",
  }));
  const parts = statisticsParts(fields);
  t.deepEqual(parts.flat(), fields);
  for (const part of parts) {
    const query = statisticsQuery(eventsQuery("GET events")!, part, RANGE, "UTC");
    t.true((query.match(/ AS /g) ?? []).length <= MOST_AGGREGATES);
  }
  t.is(parts.length, 5);
});

test("few numbers are shown individually, many in bands at round numbers within their range", (t) => {
  t.is(bandBounds(statistics({})), null);
  t.is(bandBounds(statistics({ isNumber: true, distinct: 5, min: 200, max: 503 })), null);
  t.deepEqual(
    bandBounds(statistics({ isNumber: true, distinct: 90, min: 0, max: 8_979 })),
    [10, 50, 100, 500, 1_000, 5_000],
  );
  t.deepEqual(bandBounds(statistics({ isNumber: true, distinct: 90, min: -3, max: 7 })), [-2, 0, 2, 4, 6]);
  t.is(bandBounds(statistics({ isNumber: true, distinct: 90, min: 4, max: 4 })), null);
});

test("the values of a field are those of events that match all other conditions", (t) => {
  const query = facetQuery(
    statistics({}),
    eventsQuery("GET events WHERE source = 'a' AND tag = 'x'")!,
    RANGE,
    "UTC",
    5,
  )!;
  t.notRegex(query, /source = 'a'/);
  t.regex(query, /tag = 'x'/);
  t.regex(query, /GROUPBY source/);
  t.regex(query, /TAKE 5/);
});

test("values are ordered by count, absence last; bands by their bounds", (t) => {
  const records = [
    { key: "", count: "9" },
    { key: "web", count: "4" },
    { key: "gone", count: "0" },
  ];
  t.deepEqual(readFacet(statistics({}), records), [
    { choice: "web", count: 4 },
    { choice: null, count: 9 },
  ]);
  const banded = statistics({ isNumber: true, distinct: 90, min: -3, max: 7 });
  const bands = [
    { key: "..-2", count: "1" },
    { key: "0..2", count: "2" },
    { key: "6..", count: "3" },
  ];
  t.deepEqual(
    readFacet(banded, bands).map(({ choice }) => choice),
    [
      { from: null, to: -2 },
      { from: 0, to: 2 },
      { from: 6, to: null },
    ],
  );
});

test("selected values outside the list are counted without the field's own conditions", (t) => {
  const parsed = eventsQuery("GET events WHERE source IN ('a', 'it''s') AND source != 'c' AND tag = 'x' TAKE 3")!;
  const choices = choicesBeside(parsed, "source", [{ choice: "A" }]);
  t.deepEqual(choices, ["it's", "c"]);
  const query = countsQuery("source", choices, parsed, RANGE, "UTC")!;
  t.regex(query, /COLUMNS\(COUNT\(source = 'it''s'\) AS n0, COUNT\(source = 'c'\) AS n1\)/);
  t.regex(query, /WHERE tag = 'x'/);
  t.notRegex(query, /source (?:IN|!=)|TAKE/);
  t.deepEqual(readCounts(choices, { key: "", n0: "12", n1: "0" }), [
    { choice: "it's", count: 12 },
    { choice: "c", count: 0 },
  ]);
});

test("selected bands and absence are counted like values", (t) => {
  const parsed = eventsQuery("GET events WHERE value >= 3 AND value < 7 AND class IS NULL")!;
  const band = choicesBeside(parsed, "value", [{ choice: { from: 0, to: 10 } }]);
  const query = countsQuery("value", band, parsed, RANGE, "UTC")!;
  t.regex(query, /COUNT\(\(value >= 3 AND value < 7\)\) AS n0/);
  t.not(readQuery(query), null);
  t.regex(
    countsQuery("class", choicesBeside(parsed, "class", []), parsed, RANGE, "UTC")!,
    /COUNT\(class IS NULL\) AS n0/,
  );
  t.deepEqual(choicesBeside(parsed, "class", [{ choice: null }]), []);
});

test("a selection in a field does not narrow that field's facts", (t) => {
  const fields = ["source", "tags", "value"].map((name) => ({ name, kind: "text", count: "9" }));
  const parsed = eventsQuery("GET events WHERE source = 'a' AND value >= 3 AND value < 7 AND text = 'x'")!;
  const found = conditioned(parsed, fields).map(({ field, rest }) => [field.name, rest.text]);
  t.deepEqual(found, [
    ["source", "GET events WHERE value >= 3 AND value < 7 AND text = 'x'"],
    ["value", "GET events WHERE source = 'a' AND text = 'x'"],
  ]);
  t.deepEqual(conditioned(eventsQuery("GET events")!, fields), []);
});
