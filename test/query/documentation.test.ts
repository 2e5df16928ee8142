import { readFileSync } from "node:fs";

import test from "ava";

import type { LogKey } from "../../src/events/event.ts";
import { NUMBER_AGGREGATES } from "../../src/query/plan.ts";
import { CLAUSES } from "../../src/query/parse-values.ts";
import { planQuery } from "../../src/query/planner.ts";
import { checkExpression } from "../../src/query/regex/regex.ts";
import type { PlannedQuery } from "../../src/query/planned-query.ts";
import { fixedZone } from "../../src/query/zone.ts";
import { blocksOf, examples, readPage } from "./examples.ts";

const DOCUMENT = readPage("lql.md");
const PARSER = ["parser", "parse-values", "parse-conditions", "parse-groups"]
  .map((name) => readFileSync(new URL(`../../src/query/${name}.ts`, import.meta.url), "utf8"))
  .join("\n");

function plan(text: string): PlannedQuery {
  return planQuery(text, { logs: ["shop" as LogKey], now_ms: Date.UTC(2011, 8, 19, 13), zone: fixedZone(120) });
}

test("every example can be planned", (t) => {
  t.true(examples().length >= 60, `${examples().length}`);
  for (const example of examples()) t.notThrows(() => plan(example), example);
});

test("there is an example of every clause, kind of plan and kind of condition", (t) => {
  const queries = blocksOf(DOCUMENT, "lql");
  for (const clause of [...CLAUSES, "AS ", "RATE(", "events.", "//"]) {
    t.true(
      queries.some((example) => example.includes(clause)),
      clause,
    );
  }
  const plans = JSON.stringify(queries.map(plan));
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
    "geo-near",
    "geo-within",
    "period",
    "bands",
    "field",
    "count",
    "avg",
    "percentile",
    "distinct",
    "first",
    "last",
    "compare",
  ]) {
    t.true(plans.includes(`"kind":"${kind}"`), kind);
  }
});

test("every fault has the documented message", (t) => {
  const faults = blocksOf(DOCUMENT, "fault");
  t.true(faults.length >= 3);
  for (const fault of faults) {
    const [text, message] = fault.split("\n---\n");
    t.throws(() => plan(text!), { message: message! });
  }
});

test("every expression in the table of refused ones is refused", (t) => {
  const [, table = ""] = /\n\| refused \|.*\n\|.*\n([^]*?)\n\n/.exec(DOCUMENT) ?? [];
  const refused = Array.from(table.matchAll(/^\|([^|]*)\|/gm), ([, cell]) =>
    Array.from(cell!.matchAll(/`([^`]+)`/g), (code) => code[1]!),
  );
  t.true(refused.flat().length > 10);
  for (const expression of refused.flat()) t.is(checkExpression(expression).kind, "fault", expression);
});

test("25 queries are shown beside their equivalents in four other languages", (t) => {
  const page = readPage("lql-coming-from.md");
  t.is(blocksOf(page, "lql").length, 25);
  for (const block of blocksOf(page, "text")) {
    t.deepEqual(
      block.split("\n").map((line) => line.split(" ")[0]),
      ["SQL", "LogsQL", "KQL", "Seq"],
    );
  }
  t.is(blocksOf(page, "text").length, 25);
});

function squeeze(rule: string): string {
  return rule.replace(/\s+/g, " ");
}

test("the grammar equals that of the parser", (t) => {
  const printed = squeeze(DOCUMENT.slice(DOCUMENT.indexOf("## Grammar")));
  const rules = Array.from(
    PARSER.matchAll(/`([a-zA-Z]+) = ([^`]+)`/g),
    (found) => `${found[1]} = ${squeeze(found[2]!)}`,
  );
  t.true(rules.length >= 18, `${rules.length}`);
  for (const rule of rules) t.true(printed.includes(rule), rule);
  const functions = NUMBER_AGGREGATES.map((name) => name.toUpperCase());
  t.true(printed.includes(`numbers = ${functions.map((name) => `"${name}"`).join(" | ")} percentile`));
  for (const name of functions) t.true(DOCUMENT.includes(`\`${name}(x)\``), name);
});
