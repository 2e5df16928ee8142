import test from "ava";
import * as fc from "fast-check";
import { RE2JS } from "re2js";

import { checkExpression, matchCondition } from "../../../src/query/regex/regex.ts";
import { bestOf_ms } from "../../support/turns.ts";

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
  ["a\\p{Emoji}", "RE2 does not support this character property", 1],
  ["[a\\P{^Cn}]", "RE2 does not support this character property", 2],
  ["x\\p{LC}", "RE2 does not support this character property", 1],
  ["x\\p{Klingon}", "invalid character class range: \\p{Klingon}", 1],
  ["x\\C", "invalid escape sequence: \\C", 1],
  ["\\pL{20}".repeat(3), "it is too large when its counted repeats are expanded; reduce or remove them", 0],
  ["\\pN".repeat(11), "a query has at most 10 properties such as \\pL; write ranges such as [a-z]", 30],
  [`${"[\\pL\\pN]".repeat(6)}**`, "a query has at most 10 properties such as \\pL; write ranges such as [a-z]", 41],
  ["(a{50}){50}b{50}", "invalid repeat count: {50}", 7],
  ["(?:.{0,500}|.{0,501})", "it is too large when its counted repeats are expanded; reduce or remove them", 0],
  ["a".repeat(1001), "it is longer than 1000 characters", 0],
];

test("an expression that is invalid or too expensive is refused with reason and position", (t) => {
  for (const [source, reason, at] of FAULTS)
    t.deepEqual(checkExpression(source), { kind: "fault", reason, at }, source);
});

test("a plain text becomes a substring search, any other expression a match", (t) => {
  t.deepEqual(matchCondition("text", "disk full"), { kind: "contains", field: "text", value: "disk full" });
  for (const pattern of ["", ...Array.from("\\.+*?()|[]{}^$")])
    t.deepEqual(matchCondition("text", pattern), { kind: "matches", field: "text", pattern });
  const property = fc.property(fc.string({ unit: "binary" }), (source) => {
    const expression = checkExpression(source);
    if (expression.kind === "fault") return;
    const condition = matchCondition("text", source);
    if (condition.kind === "contains") t.true(RE2JS.compile(source).matches(condition.value), source);
  });
  fc.assert(property, { numRuns: 2000 });
});

test("any text is checked in bounded time", async (t) => {
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
  const property = fc.asyncProperty(fc.array(fc.constantFrom(...pieces), { maxLength: 60 }), async (parts) => {
    const source = parts.join("");
    const best_ms = await bestOf_ms(2000, () => {
      const expression = checkExpression(source);
      t.true(expression.kind === "ok" || (expression.at >= 0 && expression.at <= source.length));
    });
    t.true(best_ms < 2000);
  });
  await fc.assert(property, { numRuns: 2000 });
});
