import test from "ava";
import * as fc from "fast-check";

import { checkQuery } from "../../../../src/web/features/editor/check.ts";
import { shadesOfQuery } from "../../../../src/web/features/editor/highlight.ts";
import { blocksOf, examples, readPage } from "../../../query/examples.ts";
import { printQuery, queries, printStyles } from "../../../query/trees.ts";

test("every example of the language's pages is accepted", (t) => {
  t.true(examples().length >= 60);
  for (const example of examples()) t.is(checkQuery(example), null, example);
});

test("every fault of the language's page is that of the service, at the same place", (t) => {
  const faults = blocksOf(readPage("lql.md"), "fault");
  t.true(faults.length >= 5);
  for (const fault of faults) {
    const [text = "", message = ""] = fault.split("\n---\n");
    const [, column, words] = /^Line 1, column (\d+): (.*)\n/.exec(message)!;
    const found = checkQuery(text)!;
    t.is(found.span.start, Number(column) - 1);
    t.is(found.words + (found.fix === null ? "" : ` Did you mean ${found.fix}?`), `Column ${column}: ${words}`);
  }
});

test("a fault has a suggestion", (t) => {
  const fix = (text: string): [string, string | null] => {
    const { span, fix: meant } = checkQuery(text)!;
    return [text.slice(span.start, span.end), meant];
  };
  t.deepEqual(fix("GET events WHERE sorce = 'a'"), ["sorce", "source"]);
  t.deepEqual(fix("GET events TKAE 5"), ["TKAE", "TAKE"]);
  t.deepEqual(fix("GET evnts"), ["evnts", "events"]);
  t.deepEqual(fix("GET events WHERE source = 'a' SORT vlue"), ["vlue", "value"]);
  t.deepEqual(fix("GET events WHERE qqq = 'a'"), ["qqq", null]);
});

test("a fault before an incomplete end is found", (t) => {
  t.like(checkQuery("GET events WHERE sorce = 'a' AND @http.st"), {
    span: { start: 17, end: 22 },
    isUnfinished: false,
  });
  t.like(checkQuery("GET events WHERE source = 'a' AND @http.st"), {
    span: { start: 42, end: 42 },
    isUnfinished: true,
  });
  t.like(checkQuery("GET events WHERE value = 'a' AND (tag IN ('x',"), { span: { start: 25, end: 28 } });
  t.like(checkQuery("GET events WHERE "), { isUnfinished: true });
  t.like(checkQuery(""), { isUnfinished: true });
  t.is(checkQuery(`GET events WHERE text = '${"x".repeat(5000)}'`)!.span.start, 0);
  t.is(checkQuery("GET events\n  TAKE x")!.words.slice(0, 18), "Line 2, column 8: ");
});

test("what is no query yet is offered as the end of one, as a search of the text, or both", (t) => {
  const found = (text: string) => {
    const { fix, search, isWords } = checkQuery(text)!;
    return [fix, search, isWords];
  };
  const OUT = "GET events WHERE text CONTAINS 'get' AND text CONTAINS 'out'";
  t.deepEqual(found("get out"), [null, OUT, true]);
  t.deepEqual(found("get event logs")[2], false);
  const condition = "source = 'web'";
  for (const end of [condition, `WHERE ${condition}`]) {
    t.like(checkQuery(end), {
      fix: `GET events WHERE ${condition}`,
      isWords: false,
      span: { start: 0, end: end.length },
    });
  }
  t.deepEqual(found("a = b"), [
    null,
    "GET events WHERE text CONTAINS 'a' AND text CONTAINS '=' AND text CONTAINS 'b'",
    false,
  ]);
  t.deepEqual(found("GET events WHERE sorce = 'a'"), ["source", null, false]);
  const tooLong = checkQuery(Array.from({ length: 300 }, (_, i) => `word${i}`).join(" "))!;
  t.like(tooLong, { search: null, isWords: false });
  t.regex(tooLong.words, /more words than one query can hold/);
});

test("the rendered text is the typed one, with only the fault marked", (t) => {
  const texts = fc.oneof(
    fc.tuple(queries, printStyles).map(([query, style]) => printQuery(query, style)),
    fc.string(),
  );
  const property = fc.property(texts, fc.nat(), fc.nat(), (text, a, b) => {
    const [start, end] = [Math.min(a, b), Math.max(a, b)].map((each) => each % (text.length + 1));
    const fault = { start: Math.min(start!, end!), end: Math.max(start!, end!) };
    const shades = shadesOfQuery(text, fault);
    t.is(shades.map((shade) => shade.text).join(""), text);
    const marked = shades.filter(({ isFault }) => isFault).map((shade) => shade.text);
    t.is(marked.join(""), text.slice(fault.start, fault.end));
  });
  fc.assert(property, { numRuns: 500 });
  const drawn = shadesOfQuery("get events where Source in ('a', 5) // no").map(({ text, kind }) => [kind, text]);
  t.deepEqual(drawn, [
    ["keyword", "get"],
    ["plain", " "],
    ["keyword", "events"],
    ["plain", " "],
    ["keyword", "where"],
    ["plain", " "],
    ["plain", "Source"],
    ["plain", " "],
    ["keyword", "in"],
    ["plain", " "],
    ["plain", "("],
    ["literal", "'a'"],
    ["plain", ","],
    ["plain", " "],
    ["literal", "5"],
    ["plain", ")"],
    ["keyword", " // no"],
  ]);
});
