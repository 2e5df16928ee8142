import test from "ava";
import * as fc from "fast-check";

import { requiredTexts } from "../../src/query/required-texts.ts";
import type { RequiredText } from "../../src/query/required-texts.ts";
import type { Requirement } from "../../src/query/requirements.ts";
import { checkExpression } from "../../src/query/regex/regex.ts";
import { compileExpression } from "../../src/query/regex/tree.ts";
import { fold } from "../../src/events/text.ts";
import { expressions, textsForExpressions } from "../reference/expressions.ts";

const contains = (text: string): RequiredText => ({ kind: "contains", text });
const all = (...parts: string[]): Requirement<RequiredText> => ({ kind: "all", parts: parts.map(contains) });

const CASES: readonly [pattern: string, required: Requirement<RequiredText> | null][] = [
  ["request", contains("request")],
  ["ReQuest-17", contains("request-17")],
  ["short", null],
  ["timeout.*id=9[0-9]{3}", contains("timeout")],
  ["request.*customer", all("customer", "request")],
  ["^request\\b 17$", contains("request 17")],
  // The parser of re2js factors out the common prefix.
  ["(?:request|response)", null],
  ["(?:request|customer)", { kind: "any", parts: [contains("request"), contains("customer")] }],
  ["(?:request|reply)", null],
  ["(?:request)?", null],
  ["(?:request)+", contains("request")],
  ["a{8}", contains("aaaaaaaa")],
  ["a{4,}bcdefg", contains("aaaabcdefg")],
  ["abcdefa*bcdefg", null],
  ["kelvins", contains("kelvins")],
  ["größenwahn", null],
  ["größenwahnsinn", contains("enwahnsinn")],
  ["not[^x]thing", null],
];

for (const [pattern, required] of CASES) {
  test(`/${pattern}/ requires ${JSON.stringify(required)}`, (t) => {
    t.deepEqual(requiredTexts(pattern, 7), required);
  });
}

function quoted(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

function meets(folded: string, required: Requirement<RequiredText>): boolean {
  if (required.kind === "contains") return folded.includes(required.text);
  const parts = required.parts.map((part) => meets(folded, part));
  return required.kind === "all" ? parts.every(Boolean) : parts.some(Boolean);
}

test("a text that an expression matches contains the texts required by it", (t) => {
  let matched = 0;
  // Most expressions are a part of the text with some characters replaced or repeated.
  const parts = fc.tuple(textsForExpressions, fc.nat(20), fc.constantFrom("", ".", ".*", "+", "{1,3}", "\\b"));
  const related = parts.map(([text, at, odd]) => [quoted(text.slice(0, at)) + odd + quoted(text.slice(at)), text]);
  const pairs = fc.oneof(fc.tuple(expressions, textsForExpressions), related);
  const property = fc.property(pairs, ([pattern = "", text = ""]) => {
    if (checkExpression(pattern).kind !== "ok") return true;
    const required = requiredTexts(pattern, 1);
    if (required === null || !compileExpression(pattern).matcher(text).find()) return true;
    matched += 1;
    return meets(fold(text), required);
  });
  fc.assert(property, { numRuns: 4_000 });
  t.true(matched > 50, `${matched} matched`);
});
