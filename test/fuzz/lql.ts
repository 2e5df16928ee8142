import type { Random } from "./random.ts";

/** Pieces of LQL for random queries, many of them valid and most of them nearly. */
const FIELDS = [
  "id",
  "text",
  "link",
  "tags",
  "source",
  "user",
  "class",
  "value",
  "created",
  "geo",
  "data",
  "log",
  "email",
  "seen",
  "count",
  "pattern",
  "@status",
  "@http.path",
  "@'odd name'",
  "@__proto__",
];
const LITERALS = [
  "'a'",
  '"b"',
  "1",
  "-1.5e3",
  "''",
  "'9/19/2011'",
  "'2026-11-21T00:00:00Z'",
  "'it''s'",
  "null",
  "true",
  "'\u{1f600}'",
];
const EXPRESSIONS = [
  "a+",
  "(a|b)*c",
  "\\bword\\b",
  "\\B",
  "[^a-z]{2,5}$",
  "^x",
  ".",
  "(?i)A",
  "(?-i)\u017f",
  "\\pL+",
  "[^\\p{Greek}]\\p{^Lu}",
  "\\C",
  "a{0,3}",
  "(a",
  "a**",
  "\\Q.\\E",
  "a[ab]{400}[cx]",
  "(?:\\b|a)(?:a|\\bb|\\Bb){200}",
  "(?:[ab]?){900}",
  "(?:.{0,30}){30}",
  "((a{30}){30}){30}",
  "[\\pL]{500}",
  "[^a]{999}",
];
const LISTED = ["KEY, COUNT", "id, text", "text, @status, attributes", "user, count", ""];
const CLAUSES: readonly ((random: Random) => string)[] = [
  (random) => `WHERE ${condition(random, 0)}`,
  (random) => `TAKE ${random.oneOf(["1", "10", "500", "501", "0", "-1", "1e3"])}`,
  (random) => `SKIP ${random.oneOf(["0", "7", "100000", "-1"])}`,
  (random) =>
    `SORT ${random.percent(50) ? aggregate(random) : random.oneOf(FIELDS)} ${random.oneOf(["", "ASC", "DESC", "UP"])}`,
  (random) => `${random.oneOf(["GROUPBY", "GROUP BY"])} ${several(random, 4, key)}`,
  (random) => `OCCURS(${moment(random)}${random.percent(50) ? `, ${moment(random)}` : ""})`,
  (random) => `COLUMNS(${random.percent(70) ? several(random, 3, column) : random.oneOf(LISTED)})`,
  (random) => `HAVING ${having(random)}`,
  () => "FILL",
  (random) => `COMPARE(${step(random)})`,
  () => "// a comment\n",
];

function condition(random: Random, depth: number): string {
  if (depth < 4 && random.percent(45)) {
    const [left, right] = [condition(random, depth + 1), condition(random, depth + 1)];
    return random.oneOf([
      `(${left})`,
      `NOT ${left}`,
      `${left} AND ${right}`,
      `${left} OR ${right}`,
      `(${left} OR ${right}) AND ${left}`,
    ]);
  }
  const field = random.oneOf(FIELDS);
  const literal = random.oneOf(LITERALS);
  return random.oneOf([
    `${field} ${random.oneOf(["=", "!=", "<>", "<", "<=", ">", ">="])} ${literal}`,
    `${field} CONTAINS ${literal}`,
    `${field} MATCHES '${random.oneOf(EXPRESSIONS)}'`,
    `${field} IN (${literal}, ${random.oneOf(LITERALS)})`,
    `${field} IS ${random.oneOf(["", "NOT "])}NULL`,
    `geo ${random.oneOf(["", "NOT "])}${random.oneOf(["WITHIN (-10, 170, 10, -170)", "NEAR (52.5, 13.4, 1e3)", "NEAR (91, 0, -1)", "WITHIN (1)"])}`,
  ]);
}

function moment(random: Random): string {
  const start = random.oneOf(["TODAY", "NOW", "9/19/2011", "2011-09-19", "'2026-11-21T08:00:00Z'", "13/13/2011"]);
  return `${start} ${random.oneOf(["", "- DAYS(1)", "+ MONTHS(100)", "- WEEKS(999999999)", "+ HOURS(-1)", "- MINUTES(5) + DAYS(2)"])}`;
}

function several(random: Random, most: number, one: (random: Random) => string): string {
  return Array.from({ length: 1 + random.below(most) }, () => one(random)).join(", ");
}

function key(random: Random): string {
  return random.oneOf([
    random.oneOf(FIELDS),
    random.oneOf(["DAY", "HOUR", "WEEK", "MONTH", "YEAR"]),
    `${random.oneOf(["SECONDS", "MINUTES", "HOURS", "DAYS", "WEEKS"])}(${random.oneOf(["1", "5", "7", "12", "0", "9999"])})`,
    `BANDS(${random.oneOf(["value", "@status", "text"])}, ${random.oneOf(["0", "-1, 0, 1e9", "2, 1", "0, 0", ""])})`,
  ]);
}

function aggregate(random: Random): string {
  const functions = [
    "COUNT",
    "AVG",
    "SUM",
    "MIN",
    "MAX",
    "MEDIAN",
    "P95",
    "P99.9",
    "P100",
    "DISTINCT",
    "FIRST",
    "LAST",
  ];
  return random.oneOf([
    random.oneOf(["KEY", "COUNT", "AVG", "P50", "MEDIAN", "n"]),
    `${random.oneOf(functions)}(${random.oneOf(FIELDS)})`,
    `COUNT(${condition(random, 3)})`,
    `RATE(${step(random)})`,
  ]);
}

function column(random: Random): string {
  return aggregate(random) + random.oneOf(["", "", " AS n", " AS __proto__", " AS _", " AS key"]);
}

function having(random: Random): string {
  const test = `${aggregate(random)} ${random.oneOf(["> 0", "= 1", "!= -2.5", "IS NULL", "< 'a'"])}`;
  return random.oneOf([test, `NOT ${test}`, `${test} AND COUNT >= 1`, `(${test} OR n < 3)`]);
}

function step(random: Random): string {
  return `${random.oneOf(["MINUTES", "HOURS", "DAYS", "WEEKS", "MONTHS"])}(${random.oneOf(["1", "7", "0", "1000000000"])})`;
}

/** Returns a query that is valid, or nearly. */
export function randomQuery(random: Random): string {
  // Each clause may occur only once.
  const chosen = random.percent(90) ? CLAUSES.filter(() => random.percent(30)) : [...CLAUSES, ...CLAUSES];
  const tables = ["events", "events", "events", "events", "events.a", "events.a", "users", "things"];
  return `GET ${random.oneOf(tables)} ${chosen.map((clause) => clause(random)).join(" ")}`;
}
