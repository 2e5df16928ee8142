import test from "ava";
import * as fc from "fast-check";

import { readQuery, withoutFilter } from "../../../../src/web/parts/query/compose.ts";
import type { EditableQuery } from "../../../../src/web/parts/query/compose.ts";
import {
  isWords,
  mayBeWords,
  searchFor,
  simpleOfQuery,
  typedChip,
  withTyped,
} from "../../../../src/web/parts/query/simple.ts";
import { holds } from "../../../reference/evaluate.ts";
import { conditionOf, events, typedQueries } from "./queries.ts";

function read(text: string): EditableQuery {
  const parsed = readQuery(text);
  if (parsed === null) throw new Error(`not read: ${text}`);
  return parsed;
}

/** Returns the simple mode of a query in words; null if it has none. */
function words(text: string): string[] | null {
  const simple = simpleOfQuery(read(text));
  return (
    simple?.chips
      .map(({ field, verb, values }) => [field, verb, values.join(", ")].join(" ").trim())
      .concat(`"${simple.text}"`) ?? null
  );
}

test("a query of simple conditions is shown as chips and a text", (t) => {
  t.deepEqual(
    words("GET events WHERE source = 'payments' AND class IN ('error', 'payment-failed') AND text CONTAINS 'acquirer'"),
    ["source is payments", "class is one of error, payment-failed", '"acquirer"'],
  );
  t.deepEqual(words("GET events.error"), ["class is error", '""']);
  t.deepEqual(
    words(
      "GET events WHERE tag != 'a' AND user IS NULL AND link IS NOT NULL AND value >= 10 AND value < 50 AND @took > 5 " +
        "AND NOT text CONTAINS 'x' AND user NOT IN ('a', '') AND text MATCHES 'a|b' AND created >= TODAY - DAYS(1)",
    ),
    [
      "tags is not a",
      "user is missing",
      "link is there",
      "value is 10 to 50",
      "@took is above 5",
      "text does not contain x",
      "user is none of a, none",
      "text matches a|b",
      "created is at least TODAY - DAYS(1)",
      '""',
    ],
  );
});

test("other queries are left to LQL", (t) => {
  for (const rich of [
    "GET users",
    "GET events SORT value",
    "GET events GROUPBY source",
    "GET events OCCURS(TODAY)",
    "GET events WHERE source = 'a' OR user = 'b'",
    "GET events WHERE geo NEAR (52.52, 13.405, 25)",
  ]) {
    t.is(words(rich), null, rich);
  }
});

test("the words of the box are all CONTAINS conditions on the text", (t) => {
  const text = "GET events WHERE text CONTAINS 'a' AND user = 'u' AND text CONTAINS 'b c' // c";
  t.is(simpleOfQuery(read(text))!.text, 'a "b c"');
  t.is(
    withTyped(read(text), "it's z"),
    "GET events WHERE text CONTAINS 'it''s' AND user = 'u' AND text CONTAINS 'z' // c",
  );
  t.is(withTyped(read(text), "z"), "GET events WHERE text CONTAINS 'z' AND user = 'u' // c");
  t.is(withTyped(read(text), ""), "GET events WHERE user = 'u' // c");
  t.is(withTyped(read("GET events // c"), "x"), "GET events WHERE text CONTAINS 'x' // c");
  t.is(withTyped(read("GET events"), ""), "GET events");
});

test("a word that reads as a condition is quoted, and one with quotes is a chip", (t) => {
  t.is(simpleOfQuery(read("GET events WHERE text CONTAINS 'source:a'"))!.text, '"source:a"');
  t.is(simpleOfQuery(read("GET events WHERE text CONTAINS 'error:'"))!.text, "error:");
  t.deepEqual(words(`GET events WHERE text CONTAINS 'say "x"'`), ['text contains say "x"', '""']);
});

test("what is no query is searched as words", (t) => {
  const words = ["payment failed", '"no connection"', "source:web timeout", "error: 12:30", "events were lost"];
  const ofQueries = ["get out", "GET /api/v1/orders", "get", "where is it", "from the start", "select a plan"];
  for (const text of [...words, ...ofQueries.filter((each) => each !== "get")]) t.true(isWords(text), text);
  const faulty = ["", " ", "g", "get", "GET e", "GET events WHERE", "get users.x", "source = 'a'", "WHERE a"];
  for (const text of [...faulty, "SELECT * FROM events", "text contains 'x'"]) t.false(isWords(text), text);
  // These can be searched for, on request.
  for (const text of ["a = b", "SELECT * FROM events", "where", "get event"])
    t.is(mayBeWords(text), text !== "get event");
  for (const text of ["get event logs", "get eventful"]) t.true(mayBeWords(text), text);
  t.is(searchFor("payment\nfailed"), "GET events WHERE text CONTAINS 'payment' AND text CONTAINS 'failed'");
  t.is(searchFor('source:web "no connection"'), "GET events WHERE text CONTAINS 'no connection' AND source = 'web'");
});

test("typed fields become conditions, all else is text", (t) => {
  const typed: [string, string][] = [
    ["source:payments disk full", "text CONTAINS 'disk' AND text CONTAINS 'full' AND source = 'payments'"],
    ["-tag:robot", "tag != 'robot'"],
    ['user:"Ann Lee"', "user = 'Ann Lee'"],
    ["@http.status>=500 value<5", "@http.status >= 500 AND value < 5"],
    ["@path:~/cart class!=error", "@path CONTAINS '/cart' AND class != 'error'"],
    ['data:"pool exhausted" data:~x', "data CONTAINS 'pool exhausted' AND data CONTAINS 'x'"],
    ["data=x", "text CONTAINS 'data=x'"],
    ["@'odd name':7 text:x", "@'odd name' = 7 AND text CONTAINS 'x'"],
    ["http://example.com/?a=b", "text CONTAINS 'http://example.com/?a=b'"],
    ['"disk full" "still open', "text CONTAINS 'disk full' AND text CONTAINS 'still open'"],
    ['"a source:x b"', "text CONTAINS 'a source:x b'"],
    ["error: it's  12:30", "text CONTAINS 'error:' AND text CONTAINS 'it''s' AND text CONTAINS '12:30'"],
    ["value:x geo:1", "text CONTAINS 'value:x' AND text CONTAINS 'geo:1'"],
    ["filter:error", "class = 'error'"],
  ];
  for (const [box, expected] of typed) t.is(withTyped(read("GET events"), box), `GET events WHERE ${expected}`, box);
});

test("typed levels become conditions, in any of their words", (t) => {
  const typed: [string, string][] = [
    ["level:error", "level = 'error'"],
    ["-level:Warning level>=notice", "level != 'Warning' AND level >= 'notice'"],
    ["level!=debug level<fatal x", "text CONTAINS 'x' AND level != 'debug' AND level < 'fatal'"],
    ["level:5 level:~err", "text CONTAINS 'level:5' AND text CONTAINS 'level:~err'"],
  ];
  for (const [box, expected] of typed) t.is(withTyped(read("GET events"), box), `GET events WHERE ${expected}`, box);
  t.deepEqual(words("GET events WHERE level >= 'warn'"), ["level is at least warn", '""']);
});

test("a chip of a comparison is typed as one", (t) => {
  const typed = (condition: string) => simpleOfQuery(read(`GET events WHERE ${condition}`))!.chips.map(typedChip);
  t.deepEqual(typed("level >= 'warn' AND @took > 5 AND value >= 10 AND value < 50 AND user != 'a'"), [
    "level>=warn",
    "@took>5",
    "value>=10 value<50",
    "-user:a",
  ]);
  t.deepEqual(typed("created >= TODAY AND user > 'a'"), ["", ""]);
});

test("no typed word is dropped, however many there are", (t) => {
  const many = Array.from({ length: 400 }, (_, i) => `word${i}`);
  const query = withTyped(read("GET events WHERE text CONTAINS 'a' AND user = 'u'"), [...many, "tag:x"].join(" "));
  for (const word of many) t.true(query.includes(`text CONTAINS '${word}'`), word);
  t.regex(query, /^GET events WHERE text CONTAINS 'word0' AND user = 'u' AND .* AND tag = 'x'$/);
});

test("any typed text makes a valid query, which simple mode shows", (t) => {
  const piece = fc.oneof(
    fc.constantFrom("source:", "-", "'", '"', "@", ":", ">=5", "value", "tag:x", "//", "\\", "\n", " "),
    fc.string({ maxLength: 5 }),
  );
  const property = fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
    const after = withTyped(read("GET events WHERE user = 'u'"), pieces.join(""));
    t.true(simpleOfQuery(read(after)) !== null, after);
    t.notThrows(() => conditionOf(after), after);
  });
  fc.assert(property, { numRuns: 500 });
});

test("a chip that is removed and typed again gives the same query", (t) => {
  const property = fc.property(typedQueries, events, (text, all) => {
    const parsed = read(text);
    for (const chip of simpleOfQuery(parsed)?.chips ?? []) {
      const typed = typedChip(chip);
      if (typed === "") continue;
      const rest = read(withoutFilter(parsed, chip.filter));
      const after = withTyped(rest, `${typed} ${simpleOfQuery(rest)!.text}`);
      const [before, now] = [conditionOf(text), conditionOf(after)];
      for (const event of all) t.is(holds(now, event), holds(before, event), `${text}\n${typed}\n${after}`);
    }
  });
  fc.assert(property, { numRuns: 500 });
});
