import test from "ava";

import type { LogKey, UserId } from "../../../../src/events/event.ts";
import type { EventId } from "../../../../src/events/id.ts";
import type { Condition, RecordSource, SortKey } from "../../../../src/query/plan.ts";
import { ATTRIBUTE_PATHS, attributeKey } from "../../../../src/store/elasticsearch/documents/attributes.ts";
import { compileByWords, compileFilter } from "../../../../src/store/elasticsearch/compile/compile.ts";
import type { Query } from "../../../../src/store/elasticsearch/client/queries.ts";
import { and, not, or } from "../../../../src/store/elasticsearch/client/queries.ts";
import { DOUBT_OF_DATA } from "../../../../src/store/elasticsearch/compile/uncertain.ts";
import { compileSort } from "../../../../src/store/elasticsearch/compile/compile-sort.ts";

const SHOP: Query = { term: { log: "shop" } };
const tagged: Condition = { kind: "text", field: "tags", op: "=", value: "error" };
const isTagged: Query = { term: { "folded.tags": "error" } };
const slow: Condition = { kind: "number", field: "value", op: ">", value: 9.5 };
const isSlow: Query = { range: { value: { gt: 9.5 } } };
const worded: Condition = { kind: "matches", field: "text", pattern: "(\\bat\\b ?)+" };

/** Returns the query of a condition without the part for the logs, and whether it is exact. */
const LONG_NAME: `@${string}` = `@${"\u{1f600}".repeat(200)}`;

function compile(where: Condition): [query: Query[], exact: boolean] {
  const plan = { from: { kind: "events" as const }, logs: ["shop" as LogKey], where };
  const { query, exact } = compileFilter(plan);
  const [, ...rest] = (query.bool?.filter ?? []) as Query[];
  return [rest, exact];
}

const CONDITIONS: readonly [what: string, where: Condition, expected: Query[], exact?: boolean][] = [
  ["everything", { kind: "and", conditions: [] }, []],
  ["nothing", { kind: "or", conditions: [] }, [{ match_none: {} }]],
  ["a tag", tagged, [isTagged]],
  ["both", { kind: "and", conditions: [tagged, slow] }, [isTagged, isSlow]],
  [
    "nested conjunctions lie flat",
    { kind: "and", conditions: [tagged, { kind: "and", conditions: [slow] }] },
    [isTagged, isSlow],
  ],
  [
    "either",
    { kind: "or", conditions: [tagged, slow] },
    [{ bool: { should: [isTagged, isSlow], minimum_should_match: 1 } }],
  ],
  ["not", { kind: "not", condition: tagged }, [{ bool: { must_not: isTagged } }]],
  ["not not", { kind: "not", condition: { kind: "not", condition: tagged } }, [isTagged]],
  [
    "neither",
    { kind: "not", condition: { kind: "or", conditions: [tagged, slow] } },
    [{ bool: { must_not: isTagged } }, { bool: { must_not: isSlow } }],
  ],
  [
    "an order of texts",
    { kind: "text", field: "source", op: "<=", value: "m" },
    [{ range: { "folded.source": { lte: "m" } } }],
  ],
  [
    "absence by equality",
    { kind: "text", field: "user", op: "=", value: "" },
    [{ bool: { must_not: { exists: { field: "folded.user" } } } }],
  ],
  [
    "one of several, or absent",
    { kind: "in", field: "class", values: ["a", "", "b"] },
    [
      {
        bool: {
          should: [
            { terms: { "folded.class": ["a", "b"] } },
            { bool: { must_not: { exists: { field: "folded.class" } } } },
          ],
          minimum_should_match: 1,
        },
      },
    ],
  ],
  ["one of none", { kind: "in", field: "class", values: [] }, [{ match_none: {} }]],
  [
    "a moment between two milliseconds",
    { kind: "number", field: "created", op: "=", value: 1.5 },
    [{ match_none: {} }],
  ],
  [
    "before a moment between two milliseconds",
    { kind: "number", field: "created", op: "<", value: 1.5 },
    [{ range: { created: { lt: 2 } } }],
  ],
  [
    "after a moment between two milliseconds",
    { kind: "number", field: "created", op: ">", value: 1.5 },
    [{ range: { created: { gt: 1 } } }],
  ],
  [
    "before the end of time",
    { kind: "number", field: "created", op: "<", value: 1e300 },
    [{ range: { created: { lt: Number.MAX_SAFE_INTEGER } } }],
  ],
  ["with a place", { kind: "not", condition: { kind: "absent", field: "geo" } }, [{ term: { has: "geo" } }]],
  ["without a link", { kind: "absent", field: "link" }, [{ bool: { must_not: { exists: { field: "folded.link" } } } }]],
  [
    "accepted after",
    { kind: "accepted-after", id: "5f".repeat(12) as EventId },
    [{ range: { id: { gt: "5f".repeat(12) } } }],
  ],
  [
    "containing",
    { kind: "contains", field: "text", value: "A.b" },
    [{ regexp: { "folded.text": { value: ".*a\\.b.*", flags: "NONE" } } }],
  ],
  [
    "telling upper from lower case",
    { kind: "matches", field: "link", pattern: "(?-i:Ab)" },
    [{ regexp: { link: { value: ".*Ab.*", flags: "NONE" } } }],
  ],
  ["matching what cannot be", { kind: "matches", field: "text", pattern: "a^b" }, [{ match_none: {} }]],
  ["matching more than asked", worded, [{ regexp: { text: { value: ".*([Aa][Tt] ?)+.*", flags: "NONE" } } }], false],
  ["all that may not match", { kind: "not", condition: worded }, [], false],
  [
    "containing more than is sent",
    { kind: "contains", field: "text", value: "x".repeat(9000) },
    [{ exists: { field: "folded.text" } }],
    false,
  ],
  [
    "containing, of a name longer than Elasticsearch 8 takes",
    { kind: "contains", field: LONG_NAME, value: "x" },
    [{ term: { [ATTRIBUTE_PATHS.keys]: attributeKey(LONG_NAME.slice(1)) } }],
    false,
  ],
];

for (const [what, where, expected, exact = true] of CONDITIONS) {
  test(`conditions: ${what}`, (t) => {
    t.deepEqual(compile(where), [expected, exact]);
  });
}

test("an expression that is too complex selects all events with the field, and all events under `not`", (t) => {
  const plan = { from: { kind: "events" as const }, logs: ["shop" as LogKey], where: worded };
  t.deepEqual(compileFilter(plan, "broad"), {
    query: { bool: { filter: [SHOP, { exists: { field: "folded.text" } }] } },
    exact: false,
  });
  t.deepEqual(compileFilter({ ...plan, where: { kind: "not", condition: worded } }, "broad"), {
    query: { bool: { filter: [SHOP] } },
    exact: false,
  });
});

const regexpOn = (field: string, value: string): Query => ({ regexp: { [field]: { value, flags: "NONE" } } });
const either = (...should: Query[]): Query => ({ bool: { should, minimum_should_match: 1 } });
const IS_ODD: Query = { term: { has: "odd-text" } };

test("words: Lucene runs an expression only if the words do not decide", (t) => {
  const byWords = (where: Condition) => compileByWords({ from: { kind: "events" }, logs: ["shop" as LogKey], where });
  const found = (query: Query, exact: boolean) => ({ query: { bool: { filter: [SHOP, query] } }, exact });
  const letters = regexpOn("folded.text.letters", ".*timeout.*");

  const expression: Condition = { kind: "matches", field: "text", pattern: "timeout.*id=9[0-9]{3}$" };
  const words: Query = { bool: { filter: [letters, regexpOn("folded.digits", "\\=9[0-9][0-9][0-9]")] } };
  t.deepEqual(byWords(expression), found(either(words, IS_ODD), false));

  const word: Condition = { kind: "contains", field: "text", value: "timeout" };
  const plain: Query = { bool: { filter: [letters], must_not: IS_ODD } };
  const whole = regexpOn("folded.text", ".*timeout.*");
  t.deepEqual(byWords(word), found(either(plain, { bool: { filter: [IS_ODD, whole] } }), true));
});

test("data is found by its words, which decide for a plain word", (t) => {
  const compiled = (where: Condition, from: RecordSource = { kind: "events" }) => {
    const { query, ...rest } = compileFilter({ from, logs: ["shop" as LogKey], where });
    return { query: (query.bool!.filter as Query[]).at(-1)!, ...rest };
  };
  const isOdd: Query = { term: { has: "odd-data" } };
  const hasData: Query = { term: { has: "data" } };
  const letters = regexpOn("data", ".*timeout.*");
  const word: Condition = { kind: "contains", field: "data", value: "Timeout" };
  t.deepEqual(compiled(word), { query: either(letters, isOdd), exact: true, doubts: [isOdd] });
  const notWord: Query = { bool: { must_not: letters } };
  t.deepEqual(compiled({ kind: "not", condition: word }), {
    query: either(notWord, isOdd),
    exact: true,
    doubts: [isOdd],
  });
  const words: Condition = { kind: "contains", field: "data", value: "pool exhausted 83" };
  const all: Query = {
    bool: {
      filter: [{ term: { data: "exhausted" } }, regexpOn("data", ".*pool"), { prefix: { "folded.dataDigits": "83" } }],
    },
  };
  t.deepEqual(compiled(words), { query: either(all, isOdd), exact: false });
  t.deepEqual(compiled({ kind: "not", condition: words }), { query: SHOP, exact: false });
  // Nothing follows about words, and copies have no index of words.
  t.deepEqual(compiled({ kind: "matches", field: "data", pattern: "x|yz" }), { query: hasData, exact: false });
  t.deepEqual(compiled(word, { kind: "bookmarks", user: "00ff" as UserId }), { query: hasData, exact: false });
});

test("annotated events belong to a user", (t) => {
  const plan = { from: { kind: "alerts" as const, user: "00ff" as UserId }, logs: ["shop" as LogKey], where: tagged };
  t.deepEqual(compileFilter(plan).query, { bool: { filter: [SHOP, { term: { owner: "00ff" } }, isTagged] } });
});

/** Levels of boolean queries that leave room for those around a plan's filters, and for a term. */
const MOST_LEVELS = 26;
const DEEP: readonly Condition[] = [
  tagged,
  { kind: "in", field: "user", values: ["ann", ""] },
  { kind: "text", field: "pattern", op: "=", value: "" },
  { kind: "number", field: "@ms", op: "<", value: 5 },
  { kind: "absent", field: "geo" },
  { kind: "contains", field: "text", value: "request" },
  { kind: "contains", field: "text", value: "7 took" },
  { kind: "matches", field: "text", pattern: "took (?:7 ab|14 cd|(?:x y|z 9) ms) ms" },
  { kind: "contains", field: "data", value: "exhausted" },
  { kind: "contains", field: "data", value: "l exhausted" },
  { kind: "geo-within", south: -1, west: 9, north: 5, east: 1 },
  { kind: "geo-near", lat: 4, lon: 8, km: 10 },
];
/** What verified data looks like at its deepest. */
const VERIFIED = new Map(
  ["contains exhausted", "contains l exhausted"].map((name) => [
    name,
    or([and([regexpOn("data", ".*exhausted.*"), not(DOUBT_OF_DATA)]), { terms: { id: ["1", "2"] } }]),
  ]),
);

for (const leaf of DEEP) {
  test(`conditions nest deeper than the engine allows, and the rest is filtered here: ${JSON.stringify(leaf)}`, (t) => {
    let where = leaf;
    for (let depth = 1; depth <= 64; depth++) {
      where = { kind: depth % 2 === 0 ? "or" : "and", conditions: [slow, where] };
      for (const each of [where, { kind: "not", condition: where } as const]) {
        const plan = { from: { kind: "events" as const }, logs: ["shop" as LogKey], where: each };
        const compiled = [
          compileFilter(plan, "narrow"),
          compileFilter(plan, "broad"),
          compileByWords(plan) ?? { query: {}, exact: false },
          compileFilter(plan, "narrow", { verifiedData: VERIFIED }),
        ];
        for (const { query, exact } of compiled) {
          const levels = depthOf(query);
          t.true(levels <= MOST_LEVELS, `${levels} levels at depth ${depth}`);
          t.true(!exact || levels >= depth, `conditions are lost at depth ${depth}`);
        }
      }
    }
  });
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = Math.max(0, ...Object.values(value).map(depthOf));
  return "bool" in value ? inner + 1 : inner;
}

const SORTS: readonly [keys: SortKey[], expected: unknown][] = [
  [[], ["created asc _first", "id asc _first"]],
  [[{ field: "created", direction: "desc" }], ["created desc _last", "id desc _last"]],
  [[{ field: "source", direction: "desc" }], ["folded.source desc _last", "created desc _last", "id desc _last"]],
  [
    [
      { field: "id", direction: "desc" },
      { field: "text", direction: "asc" },
    ],
    ["id desc _last"],
  ],
  [
    [
      { field: "value", direction: "desc" },
      { field: "created", direction: "asc" },
    ],
    ["value desc _last", "created asc _first", "id asc _first"],
  ],
];

for (const [keys, expected] of SORTS) {
  test(`sort: ${JSON.stringify(keys)}`, (t) => {
    t.deepEqual(compileSort(keys).map(describe), expected);
  });
}

test("sort: the same order from its end", (t) => {
  t.deepEqual(compileSort([{ field: "source", direction: "asc" }], true).map(describe), [
    "folded.source desc _last",
    "created desc _last",
    "id desc _last",
  ]);
});

function describe(key: unknown): string {
  const [[field, { order, missing }]] = Object.entries(key as object) as [[string, { order: string; missing: string }]];
  return `${field} ${order} ${missing}`;
}
