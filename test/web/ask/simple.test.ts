import test from "ava";
import * as fc from "fast-check";

import { readAsk, withoutFilter } from "../../../src/web/ask/compose.ts";
import type { Ask } from "../../../src/web/ask/compose.ts";
import { setText, simpleOf, typedChip, withTyped } from "../../../src/web/ask/simple.ts";
import { holds } from "../../reference/evaluate.ts";
import { conditionOf, events, typedQueries } from "./queries.ts";

function read(text: string): Ask {
  const ask = readAsk(text);
  if (ask === null) throw new Error(`not read: ${text}`);
  return ask;
}

/** Returns the simple mode of a query in words; null if it has none. */
function words(text: string): string[] | null {
  const simple = simpleOf(read(text));
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

test("the text of the box is the last one in a CONTAINS condition", (t) => {
  const text = "GET events WHERE text CONTAINS 'a' AND user = 'u' AND text CONTAINS 'b' // c";
  t.is(simpleOf(read(text))!.text, "b");
  t.is(setText(read(text), "it's"), "GET events WHERE text CONTAINS 'a' AND user = 'u' AND text CONTAINS 'it''s' // c");
  t.is(setText(read(text), ""), "GET events WHERE text CONTAINS 'a' AND user = 'u' // c");
  t.is(setText(read("GET events // c"), "x"), "GET events WHERE text CONTAINS 'x' // c");
  t.is(setText(read("GET events"), ""), "GET events");
});

test("typed fields become conditions, all else is text", (t) => {
  const typed: [string, string][] = [
    ["source:payments disk full", "text CONTAINS 'disk full' AND source = 'payments'"],
    ["-tag:robot", "tag != 'robot'"],
    ['user:"Ann Lee"', "user = 'Ann Lee'"],
    ["@http.status>=500 value<5", "@http.status >= 500 AND value < 5"],
    ["@path:~/cart class!=error", "@path CONTAINS '/cart' AND class != 'error'"],
    ["@'odd name':7 text:x", "@'odd name' = 7 AND text CONTAINS 'x'"],
    ["http://example.com/?a=b", "text CONTAINS 'http://example.com/?a=b'"],
    ["error: it's  12:30", "text CONTAINS 'error: it''s  12:30'"],
    ["value:x source>5 geo:1 created:5", "text CONTAINS 'value:x source>5 geo:1 created:5'"],
    ["filter:error", "class = 'error'"],
  ];
  for (const [box, expected] of typed) t.is(withTyped(read("GET events"), box), `GET events WHERE ${expected}`, box);
});

test("any typed text makes a valid query, which simple mode shows", (t) => {
  const piece = fc.oneof(
    fc.constantFrom("source:", "-", "'", '"', "@", ":", ">=5", "value", "tag:x", "//", "\\", "\n", " "),
    fc.string({ maxLength: 5 }),
  );
  const property = fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
    const after = withTyped(read("GET events WHERE user = 'u'"), pieces.join(""));
    t.true(simpleOf(read(after)) !== null, after);
    t.notThrows(() => conditionOf(after), after);
  });
  fc.assert(property, { numRuns: 500 });
});

test("a chip that is removed and typed again gives the same query", (t) => {
  const property = fc.property(typedQueries, events, (text, all) => {
    const ask = read(text);
    for (const chip of simpleOf(ask)?.chips ?? []) {
      const typed = typedChip(chip);
      if (typed === "") continue;
      const rest = read(withoutFilter(ask, chip.filter));
      const after = withTyped(rest, `${typed} ${simpleOf(rest)!.text}`);
      const [before, now] = [conditionOf(text), conditionOf(after)];
      for (const event of all) t.is(holds(now, event), holds(before, event), `${text}\n${typed}\n${after}`);
    }
  });
  fc.assert(property, { numRuns: 500 });
});
