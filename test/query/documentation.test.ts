import { readFileSync } from "node:fs";

import test from "ava";

import type { LogKey } from "../../src/events/event.ts";
import { planQuery } from "../../src/query/planner.ts";
import { checkExpression } from "../../src/query/regex.ts";
import type { Question } from "../../src/query/question.ts";
import { fixedZone } from "../../src/query/zone.ts";

const DOCUMENT = readFileSync(new URL("../../docs/lql.md", import.meta.url), "utf8");
const PARSER = ["parser", "parse-values", "parse-conditions", "parse-groups"]
  .map((name) => readFileSync(new URL(`../../src/query/${name}.ts`, import.meta.url), "utf8"))
  .join("\n");

/** The fenced blocks of a language, without their fences. */
function blocks(language: string): string[] {
  return Array.from(
    DOCUMENT.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)\\n\`\`\`$`, "gm")),
    (found) => found[1]!,
  );
}

function plan(text: string): Question {
  return planQuery(text, { logs: ["shop" as LogKey], now_ms: Date.UTC(2011, 8, 19, 13), zone: fixedZone(120) });
}

test("every example can be planned", (t) => {
  const examples = blocks("lql");
  t.true(examples.length >= 20, `${examples.length}`);
  for (const example of examples) t.notThrows(() => plan(example), example);
});

test("there is an example of every clause, of every kind of plan and of every kind of condition", (t) => {
  const examples = blocks("lql");
  for (const clause of ["WHERE", "TAKE", "SKIP", "SORT", "GROUPBY", "OCCURS", "COLUMNS", "events.", "//"]) {
    t.true(
      examples.some((example) => example.includes(clause)),
      clause,
    );
  }
  const plans = JSON.stringify(examples.map(plan));
  for (const kind of [
    "list",
    "group",
    "users",
    "and",
    "or",
    "not",
    "text",
    "in",
    "number",
    "contains",
    "matches",
    "absent",
    "period",
    "field",
  ]) {
    t.true(plans.includes(`"kind":"${kind}"`), kind);
  }
});

test("every fault reads as it is printed", (t) => {
  const faults = blocks("fault");
  t.true(faults.length >= 3);
  for (const fault of faults) {
    const [text, message] = fault.split("\n---\n");
    t.throws(() => plan(text!), { message: message! });
  }
});

test("every expression of the table of those refused is", (t) => {
  const [, table = ""] = /\n\| refused \|.*\n\|.*\n([^]*?)\n\n/.exec(DOCUMENT) ?? [];
  const refused = Array.from(table.matchAll(/^\|([^|]*)\|/gm), ([, cell]) =>
    Array.from(cell!.matchAll(/`([^`]+)`/g), (code) => code[1]!),
  );
  t.true(refused.flat().length > 10);
  for (const expression of refused.flat()) t.is(checkExpression(expression).kind, "fault", expression);
});

function squeeze(rule: string): string {
  return rule.replace(/\s+/g, " ");
}

test("the grammar is that of the parser", (t) => {
  const printed = squeeze(DOCUMENT.slice(DOCUMENT.indexOf("## Grammar")));
  const rules = Array.from(
    PARSER.matchAll(/`([a-zA-Z]+) = ([^`]+)`/g),
    (found) => `${found[1]} = ${squeeze(found[2]!)}`,
  );
  t.true(rules.length >= 18, `${rules.length}`);
  for (const rule of rules) t.true(printed.includes(rule), rule);
});
