import test from "ava";

import { QueryFault } from "../../../../src/query/fault.ts";
import { QUERY_LIMIT } from "../../../../src/query/lexer.ts";
import { parseQuery } from "../../../../src/query/parser.ts";
import { checkQuery } from "../../../../src/web/features/editor/check.ts";
import { completionContextAt } from "../../../../src/web/features/editor/completion-context.ts";
import { valueQuery } from "../../../../src/web/features/editor/completion-source.ts";
import { insertion, completionsFor } from "../../../../src/web/features/editor/completions.ts";
import type { CompletionData } from "../../../../src/web/features/editor/completions.ts";
import { examples } from "../../../query/examples.ts";

const DATA: CompletionData = {
  fields: [
    { name: "source", kind: "text", count: "100" },
    { name: "@http.status", kind: "number", count: "4113" },
    { name: "@odd name", kind: "boolean", count: "3" },
  ],
  values: [
    { value: "payments", count: "12" },
    { value: "it's", count: "1" },
    { value: "", count: "5" },
  ],
  classes: [{ key: "payment-failed", display: "Payment failed" }],
};

/** Returns the labels offered at `|`. */
function offered(marked: string): string[] {
  const caret = marked.indexOf("|");
  const context = completionContextAt(marked.replace("|", ""), caret);
  return context === null ? [] : completionsFor(context, DATA).map(({ label }) => label);
}

/** Returns the text after accepting a completion at `|`. */
function taken(marked: string, label: string): string | null {
  const text = marked.replace("|", "");
  const context = completionContextAt(text, marked.indexOf("|"));
  const completion = context === null ? undefined : completionsFor(context, DATA).find((each) => each.label === label);
  if (context === null || completion === undefined) return null;
  const { span, insert } = insertion(text, context, completion);
  return text.slice(0, span.start) + insert + text.slice(span.end);
}

test("valid completions are offered at each place", (t) => {
  const expected: [string, string[]][] = [
    ["|", ["GET"]],
    ["G|", ["GET"]],
    ["GET |", ["events", "users"]],
    ["GET events.|", ["payment-failed"]],
    ["GET events.pay|", ["payment-failed"]],
    ["GET events WH|", ["WHERE"]],
    ["GET events WHERE so|", ["source"]],
    ["GET events WHERE @|", ["@http.status", "@'odd name'"]],
    ["GET events WHERE @'o|", ["@'odd name'"]],
    ["GET events WHERE source |", ["=", "!=", "CONTAINS", "IN (…)", "MATCHES", "IS NULL", "IS NOT NULL"]],
    ["GET events WHERE source = |", ["payments", "it's"]],
    ["GET events WHERE source = 'pay|", ["payments"]],
    ["GET events WHERE source IN ('a', 'pay|", ["payments"]],
    ["GET events WHERE class = |", ["payments", "it's"]],
    ["GET events WHERE source NOT |", ["IN (…)", "CONTAINS", "MATCHES"]],
    ["GET events WHERE value IS |", ["NULL", "NOT NULL"]],
    ["GET events WHERE value IS NOT |", ["NULL"]],
    ["GET events WHERE created > |", ["TODAY", "NOW"]],
    ["GET users WHERE se|", ["seen"]],
    ["GET events WHERE geo N|", ["NEAR (…)"]],
    ["GET events WHERE data |", ["CONTAINS", "MATCHES", "IS NULL", "IS NOT NULL"]],
    ["GET events WHERE data NOT |", ["CONTAINS", "MATCHES"]],
    ["GET events WHERE dat|", ["data"]],
    ["GET events WHERE source = 'a' A|", ["AND"]],
    ["GET events GROUP |", ["BY"]],
    ["GET events GROUPBY MI|", ["MINUTES(…)"]],
    ["GET events GROUPBY source F|", ["FILL"]],
    ["GET events GROUPBY source COLUMNS(KEY, P|", ["P95(…)"]],
    ["GET events GROUPBY source SORT CO|", ["COUNT"]],
    ["GET events COLUMNS(use|", ["user"]],
    ["GET events SORT value D|", ["DESC"]],
    ["GET events OCCURS(|", ["TODAY", "NOW"]],
    ["GET events OCCURS(TODAY - D|", ["DAYS(…)"]],
    ["GET events GROUPBY BANDS(|", ["@http.status", "@'odd name'", "value"]],
  ];
  for (const [marked, labels] of expected) {
    const found = offered(marked);
    if (/(?:MI|WH|use|se|A|D|P|CO|F|N)\|$/.test(marked)) t.is(found[0], labels[0], `${marked}: ${found.join()}`);
    else t.deepEqual(found, labels, marked);
  }
});

test("tests and values of HAVING are those of aggregates", (t) => {
  const tests = [">", ">=", "<", "<=", "=", "!=", "IS NULL"];
  t.deepEqual(offered("GET events GROUPBY source HAVING P95(@took) |"), tests);
  t.deepEqual(offered("GET events WHERE user = 'a' GROUPBY source HAVING COUNT |"), tests);
  t.deepEqual(offered("GET events GROUPBY source HAVING COUNT = |"), []);
  t.deepEqual(offered("GET events GROUPBY source HAVING LAST(user) = |"), []);
  t.deepEqual(offered("GET events GROUPBY source HAVING LAST(created) > |"), ["TODAY", "NOW"]);
});

test("words are offered only where they have a meaning", (t) => {
  t.deepEqual(offered("GET events GROUPBY source COLUMNS(COUNT |"), ["AS"]);
  t.deepEqual(offered("GET events GROUPBY source COLUMNS(COUNT AS |"), []);
  t.false(offered("GET events GROUPBY source COLUMNS(RATE(|").includes("MONTHS(…)"));
  t.true(offered("GET events GROUPBY source COMPARE(|").includes("MONTHS(…)"));
  t.deepEqual(offered("GET events SORT value FILL|"), []);
  t.deepEqual(offered("GET users.|"), []);
  t.deepEqual(offered("GET events WHERE @http.|"), []);
});

test("a fault before the caret does not prevent completions", (t) => {
  for (const marked of [
    "GET events WHERE user = alice AND source = |",
    "GET events TKAE 5 WHERE source = |",
    "GET events TAKE 1000 WHERE source = |",
    "GET events TAKE all WHERE source = |",
    "GET events WHERE user LIKE 'a' AND source = |",
    "GET events WHERE value BETWEEN 1 AND 2 AND source = |",
    "GET events WHERE AND source = |",
  ]) {
    t.deepEqual(offered(marked), ["payments", "it's"], marked);
  }
  // The repaired text is longer than a query may be.
  t.deepEqual(offered(`${"GET events WHERE user = a AND source".padEnd(QUERY_LIMIT - 2)}= |`), []);
  t.deepEqual(offered(`GET events ${"x ".repeat(2000)}5 |`), []);
});

test("the parser accepts every word that is offered", (t) => {
  let words = 0;
  for (const example of examples()) {
    for (const { index } of example.matchAll(/(?<=[\s(])/g)) {
      const before = example.slice(0, index);
      const context = completionContextAt(before, index);
      if (context?.typed !== "") continue;
      for (const word of context.words) {
        const span = parseFault(`${before}${word} `)?.span;
        t.true(span === undefined || span.start >= index + word.length, `${before}|${word}`);
        words += 1;
      }
    }
  }
  t.true(words > 1000, `${words}`);
});

function parseFault(text: string): QueryFault | null {
  try {
    parseQuery(text);
    return null;
  } catch (error) {
    if (error instanceof QueryFault) return error;
    throw error;
  }
}

test("nothing is offered within words, comments and strings without a field", (t) => {
  for (const marked of [
    "GET ev|ents",
    "GET events // WHERE so|",
    "GET events WHERE text CONTAINS 'so|",
    "GET events WHERE text MATCHES 'so|",
    "GET events TAKE |",
    "GET events WHERE source = 'payments'|",
    "GET events COLUMNS(|".repeat(300),
  ]) {
    t.deepEqual(offered(marked), [], marked.slice(0, 50));
  }
});

test("an accepted completion is written in valid syntax", (t) => {
  t.is(taken("GET events WHERE so| = 'a'", "source"), "GET events WHERE source = 'a'");
  t.is(taken("GET events WHERE so|", "source"), "GET events WHERE source ");
  t.is(taken("GET events WHERE @'o|", "@'odd name'"), "GET events WHERE @'odd name' ");
  t.is(taken("GET events WHERE source = 'pay|'", "payments"), "GET events WHERE source = 'payments'");
  t.is(taken('GET events WHERE source = "i|', "it's"), "GET events WHERE source = 'it''s'");
  t.is(taken("GET events.pay|", "payment-failed"), "GET events.payment-failed ");
  t.is(taken("GET events GROUPBY MI|", "MINUTES(…)"), "GET events GROUPBY MINUTES(");
});

test("hints show kind and count", (t) => {
  const context = completionContextAt("GET events WHERE @", 18)!;
  t.deepEqual(
    completionsFor(context, DATA).map(({ hint }) => hint),
    ["number, 4,113 events", "true or false, 3 events"],
  );
});

test("every word of every example is offered where it is typed, or is a name, a literal or a sign", (t) => {
  let completions = 0;
  for (const example of examples()) {
    for (const { 0: word, index } of example.matchAll(/(?<![@.'"\w])[A-Z]{3,}\b/g)) {
      const before = example.slice(0, index);
      if (/\/\/[^\n]*$|'[^']*$/.test(before.replace(/'[^'\n]*'/g, "''"))) continue;
      const context = completionContextAt(before + word[0]!, index + 1);
      const labels =
        context === null ? [] : completionsFor(context, DATA).map(({ label }) => label.replace(/ ?\(…\)$/, ""));
      const isAlike = labels.some((label) => label.split(" ").includes(word) || (/^P\d/.test(word) && label === "P95"));
      if (["ASC", "NOT", "GROUP", "BY"].includes(word)) continue;
      t.true(isAlike, `${before}|${word}: ${labels.join()}`);
      completions += 1;
    }
  }
  t.true(completions > 150, `${completions}`);
});

test("values are requested with a query that the service accepts", (t) => {
  for (const field of ["source", "@odd name", "value", "tags", "class", "@it's"]) {
    for (const typed of ["", "it's", "5"]) t.is(checkQuery(valueQuery(field, typed, { from: 0, to: 1 })), null);
  }
});
