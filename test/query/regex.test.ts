import test from "ava";
import { DuckDBInstance } from "@duckdb/node-api";
import * as fc from "fast-check";
import { RE2JS } from "re2js";

import { checkExpression, matchCondition } from "../../src/query/regex.ts";

const FAULTS: readonly (readonly [string, string, number])[] = [
  ["a(b", "missing closing )", 1],
  ["(a(b)", "missing closing )", 0],
  ["a[)](b", "missing closing )", 4],
  ["\\(a(", "missing closing )", 3],
  ["a)(", "unexpected )", 1],
  ["\\Q(\\E)", "unexpected )", 5],
  ["ab[c", "missing closing ]: [c", 2],
  ["x[z-a]", "invalid character class range: z-a", 2],
  ["*a", "missing argument to repetition operator: *", 0],
  ["ab**", "invalid nested repetition operator: **", 2],
  ["x(?=a)", "invalid or unsupported Perl syntax: (?=", 1],
  ["a(?<=b)c", "invalid named capture: (?<=b)c", 1],
  ["(a)\\1", "invalid escape sequence: \\1", 3],
  ["a{1001}", "invalid repeat count: {1001}", 1],
  ["ab\\", "trailing backslash at end of expression", 2],
  ["a\\p{Emoji}", "not every store knows this property of characters", 1],
  ["[a\\P{^Cn}]", "not every store knows this property of characters", 2],
  ["x\\pC", "not every store knows this property of characters", 1],
  ["[a\\PC]", "not every store knows this property of characters", 2],
  [
    "\\pL{20}".repeat(3),
    "it is too large once its counted repeats are written out; make them smaller, or leave them out",
    0,
  ],
  ["(a{50}){50}b{50}", "invalid repeat count: {50}", 7],
  [
    "(?:.{0,500}|.{0,501})",
    "it is too large once its counted repeats are written out; make them smaller, or leave them out",
    0,
  ],
  ["a".repeat(1001), "it is longer than 1000 characters", 0],
];

test("what is no RE2, or costs too much, says why and where", (t) => {
  for (const [source, reason, at] of FAULTS)
    t.deepEqual(checkExpression(source), { kind: "fault", reason, at }, source);
});

/** Close to every limit, and with all that RE2 has of its own. */
const ACCEPTED = [
  "",
  "disk",
  "a".repeat(1000),
  ".{1000}",
  ".{0,900}",
  "\\w{1000}",
  "\\pL{29}",
  "[^\\pL]{29}",
  "[\\pL\\pN\\pP\\pS]{24}",
  "\\PM{60}",
  "(\\pL\\pN){20}",
  "\\p{Greek}+",
  "\\p{^Lu}",
  "(?i-s)a",
  "(?U)a+",
  "(?m)^a$",
  "(?s).",
  "(?P<n>a)",
  "(?<n>a)(?<m>(?<o>b))",
  "\\Qa.(?<b\\E",
  "[(?<]",
  "\\(?<",
  "[[:word:]]",
  "[[:^alpha:]\\d]",
  "[]a]",
  "[^]a]",
  "\\x{10FFFF}",
  "\\123\\a\\f\\v",
  "a{,2}",
  "()*",
  "\\z",
];

test("what is accepted runs in the RE2 of the embedded store, and finds the same", async (t) => {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  const texts = ["", "disk", "ſK", "a.(?<b", "\u{10ffff}", "Ω", "Á", "aaa\nbbb", "x".repeat(500), "日本".repeat(250)];
  for (const source of ACCEPTED) {
    const expression = checkExpression(source);
    if (expression.kind === "fault") {
      t.fail(`${source}: ${expression.reason}`);
      continue;
    }
    const compiled = RE2JS.compile(source, RE2JS.CASE_INSENSITIVE);
    for (const text of texts) {
      const reader = await connection.runAndReadAll("SELECT regexp_matches($1, $2, 'i')", [text, expression.pattern]);
      t.is(reader.getRows()[0]![0], compiled.test(text), `${source} in ${text.slice(0, 20)}`);
    }
  }
  connection.closeSync();
  instance.closeSync();
});

test("named groups are written as older ports want them, and nothing else changes", (t) => {
  t.deepEqual(checkExpression("(?<n>a)[(?<]\\(?<\\Q(?<\\E"), { kind: "ok", pattern: "(?P<n>a)[(?<]\\(?<\\Q(?<\\E" });
});

test("a plain text is contained, anything else is matched", (t) => {
  t.deepEqual(matchCondition("text", "disk full"), { kind: "contains", field: "text", value: "disk full" });
  for (const pattern of ["", ...Array.from("\\.+*?()|[]{}^$")])
    t.deepEqual(matchCondition("text", pattern), { kind: "matches", field: "text", pattern });
  const property = fc.property(fc.string({ unit: "binary" }), (source) => {
    const expression = checkExpression(source);
    if (expression.kind === "fault") return;
    const condition = matchCondition("text", expression.pattern);
    if (condition.kind === "contains") t.true(RE2JS.compile(source).matches(condition.value), source);
  });
  fc.assert(property, { numRuns: 2000 });
});

test("any text is judged, in bounded time", (t) => {
  const pieces = [
    ...Array.from("()[]{}|*+?.^$\\aZ0,-:<>=!P"),
    "{1000}",
    "{30}",
    "\\pL",
    "\\Q",
    "\\E",
    "[:alpha:]",
    "(?<",
    "(?i",
    "😀",
  ];
  const property = fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 60 }), (parts) => {
    const start = performance.now();
    const source = parts.join("");
    const expression = checkExpression(source);
    t.true(expression.kind === "ok" || (expression.at >= 0 && expression.at <= source.length));
    t.true(performance.now() - start < 2000);
  });
  fc.assert(property, { numRuns: 2000 });
});
