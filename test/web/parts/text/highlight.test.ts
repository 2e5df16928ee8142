import test from "ava";

import { parseQuery } from "../../../../src/query/parser.ts";
import { matchesIn, needlesOfQuery, plainAlternatives } from "../../../../src/web/parts/text/highlight.ts";
import { visiblePieces } from "../../../../src/web/parts/text/visible-text.ts";

const needles = (query: string) => Object.fromEntries(needlesOfQuery(parseQuery(query)));

test("the words of a query are marked", (t) => {
  t.deepEqual(needles("GET events WHERE text CONTAINS 'Acquirer' AND (source CONTAINS 'pay' OR text MATCHES 'a|B')"), {
    text: ["acquirer", "a", "b"],
    source: ["pay"],
  });
  t.deepEqual(needles("GET events WHERE @Path CONTAINS '/cart'"), { "@Path": ["/cart"] });
});

test("excluded words are not marked", (t) => {
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

test("matches ignore case and keep their places if folding changes lengths", (t) => {
  t.deepEqual(matchesIn("An ACQUIRER, an acquirer", ["acquirer"]), [
    { start: 3, end: 11 },
    { start: 16, end: 24 },
  ]);
  t.deepEqual(matchesIn("İİ error", ["error"]), [{ start: 3, end: 8 }]);
});

test("overlapping matches are merged", (t) => {
  t.deepEqual(matchesIn("abcd", ["abc", "bcd"]), [{ start: 0, end: 4 }]);
});

test("controls and marks of direction are named, in matches or not", (t) => {
  t.deepEqual(visiblePieces("a\u202eb\nc\u0000", [{ start: 0, end: 2 }]), [
    { text: "a", kind: "match" },
    { text: "U+202E", kind: "control" },
    { text: "b", kind: "plain" },
    { text: "↵", kind: "control" },
    { text: "c", kind: "plain" },
    { text: "U+0000", kind: "control" },
  ]);
});

test("line breaks are kept", (t) => {
  t.deepEqual(visiblePieces("a\nb\u200bc", [], { keepLines: true }), [
    { text: "a\nb", kind: "plain" },
    { text: "U+200B", kind: "control" },
    { text: "c", kind: "plain" },
  ]);
});
