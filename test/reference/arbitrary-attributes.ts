import * as fc from "fast-check";

import { encodeAttributes } from "../../src/events/attributes.ts";
import type { AttributeValue } from "../../src/events/attributes.ts";
import { fold } from "../../src/events/text.ts";
import type { AttributeField, Condition } from "../../src/query/plan.ts";

/**
 * Attributes of events and conditions on them: values of all kinds under few names, and difficult
 * names.
 */

const NAMES = ["status", "Status", "http.path", "took", "odd name", "it's", "__proto__", "7", "größe", 'a"b\\c', "*"];

const VALUES: readonly AttributeValue[] = [
  200,
  404,
  500,
  "500",
  "007",
  7,
  "+4.25",
  4.25,
  ".5",
  -1.5,
  0,
  1e21,
  "1e21",
  9007199254740991,
  "9007199254740993",
  " 12 ",
  true,
  false,
  "true",
  "ok",
  "OK",
  "Straße",
  "ſ",
  "",
  " ",
  "/a/b?c=d",
  "a b",
  "\u{1f600}",
  "\u0000",
];

const values: fc.Arbitrary<AttributeValue> = fc.constantFrom(...VALUES);

/** The canonical text of an event's attributes; null if it has none. */
export const attributes: fc.Arbitrary<string | null> = fc
  .dictionary(
    fc.constantFrom(...NAMES),
    fc.oneof({ weight: 4, arbitrary: values }, fc.array(values, { minLength: 1, maxLength: 3 })),
    { maxKeys: 5 },
  )
  .map((object) => {
    const entries = Object.entries(object);
    return entries.length === 0 ? null : encodeAttributes(new Map(entries));
  });

/** Attributes of events, and one that no event has. */
export const attributeFields: fc.Arbitrary<AttributeField> = fc
  .constantFrom(...NAMES, "status", "took", "none")
  .map((name) => `@${name}` as const);

const OPS = ["=", "=", "<", "<=", ">", ">="] as const;

/**
 * Conditions as a front end builds them: equality with a text that spells a number is one of
 * numbers.
 */
export const attributeConditions: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({
    kind: fc.constant("number" as const),
    field: attributeFields,
    op: fc.constantFrom(...OPS),
    value: fc.constantFrom(200, 500, 7, 4.25, 0.5, -1.5, 0, 12, 1e21, 9007199254740992),
  }),
  fc
    .record({ field: attributeFields, op: fc.constantFrom(...OPS), value: values })
    .map(({ field, op, value }) => ({ kind: "text" as const, field, op, value: fold(String(value)) })),
  fc
    .record({ field: attributeFields, values: fc.array(values, { minLength: 1, maxLength: 3 }) })
    .map(({ field, values }) => ({ kind: "in" as const, field, values: values.map((value) => fold(String(value))) })),
  fc.record({
    kind: fc.constant("contains" as const),
    field: attributeFields,
    value: fc.constantFrom("0", "o", "K", "s", "/", " ", "ru", "\u0000"),
  }),
  fc.record({
    kind: fc.constant("matches" as const),
    field: attributeFields,
    pattern: fc.constantFrom("^5", "\\d+$", "o|k", "^$", "(?-i)OK", "x*", "stra(ss|ß)e"),
  }),
  fc.record({ kind: fc.constant("absent" as const), field: attributeFields }),
);
