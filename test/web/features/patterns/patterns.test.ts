import test from "ava";

import { readQuery } from "../../../../src/web/parts/query/compose.ts";
import { stepOfRange } from "../../../../src/web/parts/query/steps.ts";
import {
  classText,
  courseQuery,
  patternQueries,
  patternRow,
  piecesOfPattern,
} from "../../../../src/web/features/patterns/patterns.ts";

const RANGE = { from: Date.UTC(2026, 10, 24), to: Date.UTC(2026, 10, 25) };

test("patterns are requested by count, with their total number", (t) => {
  const queries = patternQueries("GET events WHERE source = 'a' SORT text", RANGE, "UTC")!;
  t.regex(queries.patterns, /GROUPBY pattern/);
  t.regex(queries.patterns, /SORT COUNT DESC/);
  t.regex(queries.total, /DISTINCT\(pattern\)/);
  for (const query of Object.values(queries)) t.regex(query, /WHERE source = 'a'/);
  t.is(patternQueries("GET events WHERE", RANGE, "UTC"), null);
});

test("trends are requested for as many patterns as a query has room for", (t) => {
  const patterns = Array.from({ length: 200 }, (_, index) => `it's <n> of ${"x".repeat(90)} ${index}`);
  const query = courseQuery("GET events", patterns, stepOfRange(RANGE), RANGE, "UTC")!;
  t.true(query.length < 4_096);
  t.regex(query, /it''s <n>/);
  t.not(readQuery(query), null);
  t.is(courseQuery("GET events", [], stepOfRange(RANGE), RANGE, "UTC"), null);
  const behind = courseQuery("GET events", ["x".repeat(8_000), "short"], stepOfRange(RANGE), RANGE, "UTC")!;
  t.regex(behind, /pattern IN \('short'\)/);
});

test("variable parts of a pattern are distinguished from constant ones", (t) => {
  t.deepEqual(piecesOfPattern("Order <n> of <shop> at <time>"), [
    { text: "Order ", varies: false },
    { text: "<n>", varies: true },
    { text: " of <shop> at ", varies: false },
    { text: "<time>", varies: true },
  ]);
});

test("a pattern has a class if all of its events have it, otherwise the share is shown", (t) => {
  const words = (count: number, classed: number, classes: number) => {
    const record = { key: "p", class: classed > 0 ? "slow" : "" };
    const numbers = { count: String(count), classed: String(classed), classes: String(classes) };
    return classText(patternRow({ ...record, ...numbers }), (key) => `Class ${key}`);
  };
  t.is(words(100, 0, 0), "");
  t.is(words(100, 100, 1), "Class slow");
  t.is(words(100, 3, 1), "Class slow, 3 %");
  t.is(words(1000, 999, 1), "Class slow, 99 %");
  t.is(words(1000, 1, 1), "Class slow, under 1 %");
  t.is(words(100, 100, 2), "2 classes");
  t.is(words(100, 40, 2), "2 classes, 40 %");
});
