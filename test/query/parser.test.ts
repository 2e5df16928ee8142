import test from "ava";
import * as fc from "fast-check";

import { LoggiaError } from "../../src/errors.ts";
import { QUERY_LIMIT } from "../../src/query/lexer.ts";
import { NESTING_LIMIT } from "../../src/query/parse-conditions.ts";
import { parseQuery } from "../../src/query/parser.ts";
import { planQuery } from "../../src/query/planner.ts";
import type { LogKey } from "../../src/events/event.ts";
import { fixedZone } from "../../src/query/zone.ts";
import { bestOf_ms } from "../support/turns.ts";
import { printQuery, queries, printStyles, withoutPositions } from "./trees.ts";

const CONTEXT = { logs: ["shop" as LogKey], now_ms: Date.UTC(2011, 8, 19, 13), zone: fixedZone(0) };

test("parsing a printed query gives the same tree, with any order, case, blanks and quotes", (t) => {
  const property = fc.property(queries, printStyles, (query, style) => {
    const text = printQuery(query, style);
    fc.pre(Array.from(text).length <= QUERY_LIMIT);
    t.deepEqual(withoutPositions(parseQuery(text)), withoutPositions(query));
  });
  fc.assert(property, { numRuns: 1000 });
});

test("positions point to their part of the query", (t) => {
  const text = "GET events.bad // '\nWHERE Größe = -4.5 SORT created";
  const { table, class: key, clauses } = parseQuery(text);
  const written = ({ start, end }: { start: number; end: number }): string => text.slice(start, end);
  t.is(written(table.span), "events");
  t.is(written(key!.span), ".bad");
  const { key: sorted } = clauses.sort!;
  t.true(sorted.kind === "name" && written(sorted.name.span) === "created");
  const where = clauses.where!;
  t.true(where.kind === "compare" && written(where.field.span) === "Größe" && written(where.value.span) === "-4.5");
});

function isNull(text: string): unknown {
  return { kind: "null", field: { text } };
}

test("AND binds more tightly than OR, and NOT more tightly than both", (t) => {
  const tree = withoutPositions(parseQuery("GET events WHERE NOT a IS NULL AND b IS NULL OR c IS NOT NULL"));
  const expected = {
    kind: "or",
    parts: [
      { kind: "and", parts: [{ kind: "not", part: isNull("a") }, isNull("b")] },
      { kind: "not", part: isNull("c") },
    ],
  };
  t.deepEqual((tree as { clauses: { where: unknown } }).clauses.where, expected);
});

function stringIn(literal: string): unknown {
  const where = parseQuery(`GET events WHERE a = ${literal}`).clauses.where!;
  return where.kind === "compare" && where.value.kind === "string" ? where.value.value : null;
}

test("a quote within a string is doubled, and a backslash is literal", (t) => {
  t.is(stringIn("'it''s'"), "it's");
  t.is(stringIn(`"say ""no"""`), 'say "no"');
  t.is(stringIn(`"it's"`), "it's");
  t.is(stringIn(String.raw`'C:\new\'`), String.raw`C:\new` + "\\");
  t.is(stringIn("''"), "");
});

/** Pieces for mutations: words of the grammar and others. */
const PIECES = [
  ..."GET events users . error WHERE TAKE SKIP SORT ASC DESC GROUPBY GROUP BY DAY HOUR OCCURS COLUMNS ( ) , + - < <= = != <> >= > AND OR NOT CONTAINS MATCHES IN IS NULL".split(
    " ",
  ),
  ..."TODAY NOW MINUTES HOURS DAYS WEEKS MONTHS 5 501 -1 1e999 9/19/2011 2011-02-30 0/0/0000 ' \" 'x' '[' '(a{999}){99}' // \n \u{1f600} \ud800 # ; text created value tag geo user alerts count KEY @a @'b c' @ pattern attributes HAVING COMPARE FILL AS WEEK MONTH MINUTES(15) BANDS(value, AVG( P95(@a) P99.9 MEDIAN DISTINCT( FIRST( RATE( COUNT( WITHIN NEAR 60".split(
    " ",
  ),
];

test("invalid input is refused with a fault and nothing else, in bounded time", async (t) => {
  const garbage = fc.oneof(
    fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((pieces) => pieces.join(" ")),
    fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((pieces) => `GET events ${pieces.join(" ")}`),
    fc
      .array(fc.constantFrom(...PIECES), { maxLength: 40 })
      .map((pieces) => `GET events WHERE text ${pieces.join(" ")}`),
    fc.string({ unit: "binary", maxLength: 200 }),
  );
  let slowest_ms = 0;
  const property = fc.asyncProperty(garbage, async (text) => {
    const best_ms = await bestOf_ms(1000, () => {
      try {
        planQuery(text, CONTEXT);
      } catch (error) {
        if (!(error instanceof LoggiaError) || error.code !== "bad_query") throw error;
        if (!/^Line \d+, column \d+: /.test(error.message)) throw error;
      }
    });
    slowest_ms = Math.max(slowest_ms, best_ms);
  });
  await t.notThrowsAsync(async () => fc.assert(property, { numRuns: 3000 }));
  t.true(slowest_ms < 1000, `${slowest_ms} ms`);
});

function fill(head: string, piece: string): string {
  return head + piece.repeat(Math.floor((QUERY_LIMIT - head.length) / piece.length));
}

test("the longest queries of each shape are parsed in bounded time", async (t) => {
  const shapes = [
    "(",
    "NOT ",
    "a IS NULL AND ",
    "'",
    " ",
    "//",
    "\n",
    "9/",
    "1-",
    ".1",
    "'x' ,",
    "text MATCHES '' OR ",
    "a IN (1,",
  ];
  for (const shape of shapes) {
    for (const head of ["", "GET events WHERE ", "GET events WHERE a IN ("]) {
      const best_ms = await bestOf_ms(1000, () => {
        t.throws(() => planQuery(fill(head, shape), CONTEXT), { instanceOf: LoggiaError, code: "bad_query" });
      });
      t.true(best_ms < 1000, shape);
    }
  }
});

function queryOf(length: number): string {
  return `GET events WHERE text = '${"😀".repeat(length - 27)}' `;
}

test("accepts a query of 4,096 characters and refuses a longer one", (t) => {
  t.notThrows(() => parseQuery(queryOf(QUERY_LIMIT)));
  const error = t.throws(() => parseQuery(queryOf(QUERY_LIMIT + 1)));
  t.is(error.message, "The query has 4097 characters; at most 4096 are allowed");
});

const parentheses = (depth: number): string => `GET events WHERE ${"(".repeat(depth)}text = 'x'${")".repeat(depth)}`;
const nots = (depth: number): string => `GET events WHERE ${"NOT ".repeat(depth)}text = 'x'`;

test("accepts 64 levels of nesting and refuses one more", (t) => {
  for (const nest of [parentheses, nots]) {
    t.notThrows(() => planQuery(nest(NESTING_LIMIT), CONTEXT));
    t.throws(() => planQuery(nest(NESTING_LIMIT + 1), CONTEXT), { message: /conditions nest more than 64 deep/ });
  }
  t.notThrows(() => parseQuery(`GET events WHERE ${Array(100).fill("(text = 'x')").join(" AND ")}`));
});
