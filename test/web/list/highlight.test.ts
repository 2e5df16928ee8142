import test from "ava";

import { parseQuery } from "../../../src/query/parser.ts";
import { matchesIn, needlesOf, plainAlternatives } from "../../../src/web/list/highlight.ts";
import { piecesOf } from "../../../src/web/list/visible-text.ts";

const needles = (query: string) => Object.fromEntries(needlesOf(parseQuery(query)));

test("the words that a query looks for are marked", (t) => {
  t.deepEqual(needles("GET events WHERE text CONTAINS 'Acquirer' AND (source CONTAINS 'pay' OR text MATCHES 'a|B')"), {
    text: ["acquirer", "a", "b"],
    source: ["pay"],
  });
  t.deepEqual(needles("GET events WHERE @Path CONTAINS '/cart'"), { "@Path": ["/cart"] });
});

test("what must not be there is not marked", (t) => {
  t.deepEqual(needles("GET events WHERE NOT text CONTAINS 'x'"), {});
  t.deepEqual(needles("GET events"), {});
});

test("of expressions only plain texts are marked", (t) => {
  t.deepEqual(plainAlternatives("disk|volume"), ["disk", "volume"]);
  t.deepEqual(plainAlternatives("^(disk|volume)$"), ["disk", "volume"]);
  t.deepEqual(plainAlternatives(String.raw`1\.5\|x`), ["1.5|x"]);
  t.deepEqual(plainAlternatives("(a+)+$"), []);
  t.deepEqual(plainAlternatives(String.raw`\d+`), []);
});

test("matches ignore case and stay in their places where folding changes lengths", (t) => {
  t.deepEqual(matchesIn("An ACQUIRER, an acquirer", ["acquirer"]), [
    { start: 3, end: 11 },
    { start: 16, end: 24 },
  ]);
  t.deepEqual(matchesIn("İİ error", ["error"]), [{ start: 3, end: 8 }]);
});

test("matches that overlap are one", (t) => {
  t.deepEqual(matchesIn("abcd", ["abc", "bcd"]), [{ start: 0, end: 4 }]);
});

test("controls and marks of direction are named, matched or not", (t) => {
  t.deepEqual(piecesOf("a\u202eb\nc\u0000", [{ start: 0, end: 2 }]), [
    { text: "a", kind: "match" },
    { text: "U+202E", kind: "control" },
    { text: "b", kind: "plain" },
    { text: "↵", kind: "control" },
    { text: "c", kind: "plain" },
    { text: "U+0000", kind: "control" },
  ]);
});

test("texts with lines keep them", (t) => {
  t.deepEqual(piecesOf("a\nb\u200bc", [], { keepLines: true }), [
    { text: "a\nb", kind: "plain" },
    { text: "U+200B", kind: "control" },
    { text: "c", kind: "plain" },
  ]);
});
