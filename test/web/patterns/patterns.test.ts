import test from "ava";

import { readAsk } from "../../../src/web/ask/compose.ts";
import { stepOf } from "../../../src/web/ask/steps.ts";
import { courseQuery, patternQueries, piecesOfPattern } from "../../../src/web/patterns/patterns.ts";

const RANGE = { from: Date.UTC(2026, 10, 24), to: Date.UTC(2026, 10, 25) };

test("patterns are asked for by their number, and how many there are", (t) => {
  const queries = patternQueries("GET events WHERE source = 'a' SORT text", RANGE, "UTC")!;
  t.regex(queries.patterns, /GROUPBY pattern/);
  t.regex(queries.patterns, /SORT COUNT DESC/);
  t.regex(queries.total, /DISTINCT\(pattern\)/);
  for (const query of Object.values(queries)) t.regex(query, /WHERE source = 'a'/);
  t.is(patternQueries("GET events WHERE", RANGE, "UTC"), null);
});

test("courses are asked for as many patterns as a query has room for", (t) => {
  const patterns = Array.from({ length: 200 }, (_, index) => `it's <n> of ${"x".repeat(90)} ${index}`);
  const query = courseQuery("GET events", patterns, stepOf(RANGE), RANGE, "UTC")!;
  t.true(query.length < 4_096);
  t.regex(query, /it''s <n>/);
  t.not(readAsk(query), null);
  t.is(courseQuery("GET events", [], stepOf(RANGE), RANGE, "UTC"), null);
});

test("what varies in a pattern is told from what does not", (t) => {
  t.deepEqual(piecesOfPattern("Order <n> of <shop> at <time>"), [
    { text: "Order ", varies: false },
    { text: "<n>", varies: true },
    { text: " of <shop> at ", varies: false },
    { text: "<time>", varies: true },
  ]);
});
