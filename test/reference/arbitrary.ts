import * as fc from "fast-check";

import { EVENT_FIELDS } from "../../src/events/field-order.ts";
import { textPattern } from "../../src/events/pattern.ts";
import { hashText } from "../../src/events/hash.ts";
import { fold } from "../../src/events/text.ts";
import type { Geo, LogKey, StoredEvent } from "../../src/events/event.ts";
import type { EventId } from "../../src/events/id.ts";
import type { Condition, ListPlan, NumberField, SortField, TextField } from "../../src/query/plan.ts";
import { EVERYTHING } from "../../src/query/plan.ts";
import { fixedZone, parseZone } from "../../src/query/zone.ts";
import { attributeConditions, attributeFields, attributes } from "./arbitrary-attributes.ts";
import { CHARACTERS_IN_DISPUTE, expressions } from "./expressions.ts";

/**
 * Events and plans for properties: few distinct values, so that conditions match, and many unusual
 * ones.
 */

/**
 * Letters without a one-to-one case mapping, combining marks, code points beyond the basic plane,
 * both ends of Unicode's ranges.
 */
const ODD_CHARACTERS = [
  ...CHARACTERS_IN_DISPUTE,
  ...Array.from("aAzZ09 sSſKkKåÅÅßẞσςΣİiIéÉΩωΩǆǅǄᾳᾼﬁﬀıΐﬅﬆ'\"\\/%_*?.^$()[]{}|+-&<>#@~`,;:=!"),
  "\u0301", // combining acute accent
  "\u0307", // combining dot above
  "\u0000",
  "\u0001",
  "\t",
  "\n",
  "\r",
  "\u0085",
  "\u00a0",
  "\u200d",
  "\u2028",
  "\ud7ff",
  "\ue000",
  "\ufffd",
  "\uffff",
  "\u{10000}",
  "\u{10400}", // Deseret capital, whose small letter is U+10428
  "\u{10428}",
  "\u{1f600}",
  "\u{10ffff}",
];

const WORDS = [
  "error",
  "Error",
  "ERROR disk",
  "disk full",
  "Straße",
  "STRASSE",
  "σίσυφος",
  "ΣΊΣΥΦΟΣ",
  "50% off_now",
  "a.b*c",
  "naïve",
  "naïve",
];
const DATA = ["@html\n<b>x</b>", ...WORDS.map((word) => `${word}\n    at ${word} (pool.ts:4711)`)];
const TAGS = ["error", "Error", "warn", "a-1", "straße", "ς", "K", "\u{1f600}"];
const SOURCES = ["", "", "web-1", "Web-1", "db", "ſ", "İ", "\u{10400}"];
const USERS = ["", "ann", "ANN", "bob@example.com", "Å"];
const LINKS = ["", "http://example.com/a?b=c&d=%20", "HTTP://EXAMPLE.COM/A?B=C&D=%20", "ftp://x"];
const CLASSES = [null, "error", "warning", "a-1"];

/**
 * Midnights in UTC: an ordinary day, a leap day and its neighbours, the turn of a year, days with
 * clock changes.
 */
const MIDNIGHTS = [
  "2011-06-19",
  "2012-02-29",
  "2012-03-01",
  "2011-12-31",
  "2012-01-01",
  "2011-10-30",
  "2011-03-13",
].map(Date.parse);
/** Minutes east of UTC. */
const OFFSETS = [0, 0, 60, -300, 330, 345, 840, -720, 570];

/**
 * Time zones with clock changes at one and at three, by half an hour, at midnight, in both
 * hemispheres, without any; and one that is weeks ahead, as COMPARE sets it.
 */
export const ZONES = [
  ...OFFSETS.map(fixedZone),
  { offset_ms: 3 * 7 * 86_400_000 + 3_600_000, changes: [] },
  ...["Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "America/Havana", "Pacific/Apia"].map((tz) =>
    parseZone(tz),
  ),
];

const VALUES = [0, 1, -1, 0.1, 0.2, 42, -42.5, 1e15, 9007199254740991, -9007199254740991, 1e-9, 5e-324, 1e29, -1e29];

/** Text of any code points, often with unusual ones; never a lone surrogate. */
export function anyText(constraints: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  const unit = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...ODD_CHARACTERS) },
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  );
  return fc.array(unit, { maxLength: 12, ...constraints }).map((units) => units.join(""));
}

/**
 * Moments near the boundaries of days and hours in several time zones, in milliseconds since the
 * Unix epoch.
 */
export const moments: fc.Arbitrary<number> = fc
  .record({
    midnight: fc.constantFrom(...MIDNIGHTS),
    offset_min: fc.constantFrom(...OFFSETS),
    hours: fc.constantFrom(0, 0, 1, 12, 23),
    rest_ms: fc.oneof(fc.constantFrom(-1000, -1, 0, 1, 999), fc.integer({ min: 0, max: 3_600_000 })),
  })
  .map(({ midnight, offset_min, hours, rest_ms }) => midnight - offset_min * 60_000 + hours * 3_600_000 + rest_ms);

/**
 * Values that a producer may post: integers, fractions, huge and tiny numbers; never NaN, infinite
 * or minus zero.
 */
export const values: fc.Arbitrary<number> = fc
  .oneof(fc.constantFrom(...VALUES), fc.integer({ min: -5, max: 5 }), fc.double({ min: -1e29, max: 1e29, noNaN: true }))
  .map((value) => (value === 0 ? 0 : value));

const geos: fc.Arbitrary<Geo | null> = fc.constantFrom(
  null,
  { lat: 40.1203, lon: -76.2944 },
  { lat: 40.2, lon: -76.25 },
  { lat: -90, lon: 180 },
  { lat: -17.8, lon: -179.9 },
  { lat: -17.7, lon: 178.4 },
  { lat: -17.7, lon: 9 },
  { lat: 5e-7, lon: -120 },
  { ip: "203.0.113.9" },
);

/** Events of these logs, with distinct ids, in any order. */
export function storedEvents(
  logs: readonly LogKey[],
  constraints: { minLength?: number; maxLength?: number } = {},
): fc.Arbitrary<StoredEvent[]> {
  return fc.uniqueArray(storedEvent(logs), { maxLength: 40, ...constraints, selector: (event) => event.id });
}

/** An event whose id and `created` agree, as after acceptance. */
export function storedEvent(logs: readonly LogKey[]): fc.Arbitrary<StoredEvent> {
  return fc
    .record({
      log: fc.constantFrom(...logs),
      created: moments,
      counter: fc.nat({ max: 0xfffff }),
      process: fc.nat({ max: 0xffffffff }),
      text: fc
        .oneof(fc.constantFrom(...WORDS), anyText({ minLength: 1 }))
        .map((text) => (text.trim() === "" ? "blank" : text)),
      link: fc.constantFrom(...LINKS),
      tags: fc.uniqueArray(fc.constantFrom(...TAGS), { maxLength: 4 }),
      source: fc.constantFrom(...SOURCES),
      user: fc.constantFrom(...USERS),
      value: fc.option(values),
      geo: geos,
      data: fc.option(fc.oneof(anyText({ minLength: 1 }), fc.constantFrom(...DATA))),
      class: fc.constantFrom(...CLASSES),
      attributes,
    })
    .map(({ counter, process, ...event }) =>
      Object.assign(event, {
        id: eventId(event.created, counter, process),
        pattern: textPattern(event.text),
      }),
    );
}

function eventId(created: number, counter: number, process: number): EventId {
  const parts = [
    [Math.floor(created / 1000), 8],
    [created % 1000, 3],
    [counter, 5],
    [process, 8],
  ] as const;
  return parts.map(([number, digits]) => number.toString(16).padStart(digits, "0")).join("") as EventId;
}

const WORDS_OF_FIELD: Record<Exclude<TextField, "id" | "hash" | "log">, readonly string[]> = {
  text: WORDS,
  pattern: [...WORDS.map(textPattern), "<n>", "<hex>"],
  link: LINKS,
  tags: TAGS,
  source: SOURCES,
  user: USERS,
  class: CLASSES.map((key) => key ?? ""),
};

/** Expressions as users write them. */
const PATTERNS = [
  "error",
  "^e",
  "k$",
  "disk|db",
  "[a-k]+",
  "[^a-z ]",
  "\\d{1,3}",
  "\\bdisk\\b",
  "(a|b)\\.",
  "s",
  "k",
  "\\x{10400}",
  "^.{1,4}$",
  "x*",
  "(?:web|db)-?1?$",
  "\\pL+",
  "σ",
];

/** Conditions on events of these logs, at most `depth` deep. */
export function conditions(logs: readonly LogKey[], depth = 3): fc.Arbitrary<Condition> {
  const leaf = leafConditions(logs);
  if (depth === 0) return leaf;
  const inner = conditions(logs, depth - 1);
  const several = fc.array(inner, { maxLength: 3 });
  return fc.oneof(
    { weight: 4, arbitrary: leaf },
    several.map((conditions) => ({ kind: "and" as const, conditions })),
    several.map((conditions) => ({ kind: "or" as const, conditions })),
    inner.map((condition) => ({ kind: "not" as const, condition })),
  );
}

function leafConditions(logs: readonly LogKey[]): fc.Arbitrary<Condition> {
  const op = fc.constantFrom("=" as const, "=" as const, "<" as const, "<=" as const, ">" as const, ">=" as const);
  const fieldAndValue = fieldAndText(logs);
  const nonEmpty = fieldAndValue.filter(({ value }) => value !== "");
  const numberField: fc.Arbitrary<NumberField> = fc.constantFrom("created", "value");
  return fc.oneof(
    fc
      .record({ kind: fc.constant("text" as const), at: fieldAndValue, op })
      .map(({ kind, at, op }) => ({ kind, field: at.field, op, value: fold(at.value) })),
    fieldAndValue.chain(({ field, value }) =>
      fc
        .array(fc.constantFrom(value, "error", "db", ""), { minLength: 1, maxLength: 3 })
        .map((values) => ({ kind: "in" as const, field, values: values.map(fold) })),
    ),
    numberField.chain((field) =>
      fc.record({
        kind: fc.constant("number" as const),
        field: fc.constant(field),
        op,
        value: field === "created" ? moments : values,
      }),
    ),
    nonEmpty.chain(({ field, value }) =>
      pieceOf(value).map((piece) => ({ kind: "contains" as const, field, value: piece })),
    ),
    fc.record({
      kind: fc.constant("matches" as const),
      field: fc.constantFrom<TextField>("text", "text", "pattern", "tags", "source", "user", "link", "class"),
      pattern: fc.oneof(fc.constantFrom(...PATTERNS), expressions),
    }),
    fc.record({
      kind: fc.constant("absent" as const),
      field: fc.constantFrom(
        "link" as const,
        "tags" as const,
        "source" as const,
        "class" as const,
        "user" as const,
        "value" as const,
        "geo" as const,
        "data" as const,
      ),
    }),
    { weight: 3, arbitrary: attributeConditions },
    dataConditions,
    placeConditions,
    moments.map((moment) => ({ kind: "accepted-after" as const, id: eventId(moment, 0x80000, 0) })),
  );
}

const placeConditions: fc.Arbitrary<Condition> = fc.oneof(
  fc.constantFrom(
    { kind: "geo-within" as const, south: 40.1203, west: -77, north: 41, east: -76.2944 },
    { kind: "geo-within" as const, south: -20, west: 178, north: -10, east: -179 },
    { kind: "geo-within" as const, south: -90, west: -180, north: 90, east: 180 },
    { kind: "geo-within" as const, south: 40.1203, west: -76.2944, north: 40.1203, east: -76.2944 },
  ),
  fc.record({
    kind: fc.constant("geo-near" as const),
    lat: fc.constantFrom(40.1203, -17.8, -90, 0),
    lon: fc.constantFrom(-76.2944, 180, -179.9, 0),
    km: fc.constantFrom(0.001, 9, 12, 200, 9_000, 25_000),
  }),
);

const dataConditions: fc.Arbitrary<Condition> = fc.oneof(
  fc
    .oneof(fc.constantFrom(...WORDS, ...DATA), anyText({ minLength: 1 }))
    .chain(pieceOf)
    .map((value) => ({ kind: "contains" as const, field: "data" as const, value })),
  fc.record({
    kind: fc.constant("matches" as const),
    field: fc.constant("data" as const),
    pattern: fc.oneof(fc.constantFrom(...PATTERNS, "pool\\.ts", "at .*4711\\)$"), expressions),
  }),
);

function fieldAndText(logs: readonly LogKey[]): fc.Arbitrary<{ field: TextField; value: string }> {
  const wordy = fc.constantFrom(...(Object.keys(WORDS_OF_FIELD) as (keyof typeof WORDS_OF_FIELD)[]));
  return fc.oneof(
    {
      weight: 6,
      arbitrary: wordy.chain((field) => fc.constantFrom(...WORDS_OF_FIELD[field]).map((value) => ({ field, value }))),
    },
    anyText().map((value) => ({ field: "text" as const, value })),
    fc.constantFrom(...logs).map((value) => ({ field: "log" as const, value })),
    fc.constantFrom(...WORDS).map((word) => ({ field: "hash" as const, value: hashText(word) })),
    moments.map((moment) => ({ field: "id" as const, value: eventId(moment, 0, 0) })),
  );
}

function pieceOf(text: string): fc.Arbitrary<string> {
  const characters = Array.from(text);
  return fc
    .tuple(fc.nat({ max: characters.length - 1 }), fc.integer({ min: 1, max: characters.length }))
    .map(([start, length]) => characters.slice(start, start + length).join(""));
}

const directions = fc.constantFrom("asc" as const, "desc" as const);
const sortFields: fc.Arbitrary<SortField> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom<SortField>(
      "id",
      "created",
      "text",
      "link",
      "pattern",
      "source",
      "log",
      "class",
      "level",
      "user",
      "value",
    ),
  },
  attributeFields,
);

/** Plans for lists of events of these logs. */
export function listPlans(logs: readonly LogKey[]): fc.Arbitrary<ListPlan> {
  return fc.record({
    kind: fc.constant("list" as const),
    from: fc.constant({ kind: "events" as const }),
    logs: fc.subarray([...logs], { minLength: 0 }),
    where: fc.oneof(fc.constant(EVERYTHING), { weight: 5, arbitrary: conditions(logs) }),
    sort: fc.uniqueArray(fc.record({ field: sortFields, direction: directions }), {
      maxLength: 2,
      selector: ({ field }) => field,
    }),
    skip: fc.constantFrom(0, 0, 1, 3, 1000),
    take: fc.constantFrom(1, 2, 5, 100, 500),
    columns: fc.option(fc.subarray([...EVENT_FIELDS], { minLength: 1 })),
  });
}
