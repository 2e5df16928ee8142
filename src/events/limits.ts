import { BOUNDED_FIELDS, EVENT_SCHEMA } from "./schema.ts";
import type { BoundedField } from "./schema.ts";

/** Limits of what is posted beside the fields of an event, by default and at most. */
const FURTHER = {
  /** Posted only with users, beside `user`: the longest address (RFC 5321). */
  email: [254, 2_000],
  /** The same, as long as a link. */
  page: EVENT_SCHEMA.link.length,
  attributes: [256, 1_000],
  attributeName: [200, 500],
  attributeValue: [7_500, 8_000],
  attributesBytes: [65_536, 65_536],
} as const;

/**
 * The longest value of each field that a producer may post, in characters (Unicode code points).
 * `tags` counts all tags together. `attributes` is the number of attributes, `attributeName` and
 * `attributeValue` are their lengths, `attributesBytes` is the size of all in bytes.
 */
export type FieldLimits = Readonly<Record<BoundedField | keyof typeof FURTHER, number>>;

/**
 * The default limits. Those of the original service are kept for `source`, `user`, `value` and
 * `geo`; texts, links, tags and data may be longer, as messages and stack traces are.
 */
export const DEFAULT_LIMITS: FieldLimits = limitsOf(0);

/**
 * The highest limits that an operator may set: what all engines can hold. A text, with its pattern
 * and its folded form, and each other compared field is one term of Elasticsearch. An event with
 * everything at its limit is one record of Kafka, compressed if need be.
 */
export const HIGHEST_LIMITS: FieldLimits = limitsOf(1);

function limitsOf(which: 0 | 1): FieldLimits {
  const bounds = [
    ...BOUNDED_FIELDS.map((name) => [name, EVENT_SCHEMA[name].length[which]]),
    ...Object.entries(FURTHER).map(([name, bound]) => [name, bound[which]]),
  ];
  return Object.freeze(Object.fromEntries(bounds) as FieldLimits);
}

/** Size limit of an Elasticsearch term, in bytes. */
export const TERM_MAX_BYTES = 32_766;
/** A character has at most four bytes in UTF-8. Folding maps each character to one character. */
const CHARACTER_BYTES = 4;
/** In a term, each byte of a name may take three. */
const NAME_CHARACTER_BYTES = 3 * CHARACTER_BYTES;

/** Returns the most bytes of an Elasticsearch term that holds an attribute's name and value. */
export function attributeTerm_bytes({ attributeName, attributeValue }: FieldLimits): number {
  return NAME_CHARACTER_BYTES * attributeName + 1 + CHARACTER_BYTES * attributeValue;
}

/** In a form each byte of a character may take three. */
const ENCODED_CHARACTER_BYTES = 3 * CHARACTER_BYTES;
/** In a form a byte of an attribute may be escaped in JSON, and that percent-encoded. */
const ENCODED_ATTRIBUTE_BYTES = 6;
/** Punctuation of an attribute, and of the form with its names and its key. */
const ENCODED_PAIR_BYTES = 32;
const ENCODED_FORM_BYTES = 4_096;
/** Forms up to this size are read under any limits, so that an error event holds what was posted. */
const FORM_LEAST_BYTES = 128 * 1024;

/** Returns the most bytes of a form with fields at their limits, percent-encoded. */
export function largestForm_bytes(limits: FieldLimits): number {
  const { attributes, attributesBytes } = limits;
  const characters = BOUNDED_FIELDS.reduce((sum, name) => sum + limits[name], 0);
  const fields_bytes = ENCODED_CHARACTER_BYTES * characters + ENCODED_FORM_BYTES;
  const attributes_bytes = ENCODED_ATTRIBUTE_BYTES * attributesBytes + ENCODED_PAIR_BYTES * attributes;
  return Math.max(FORM_LEAST_BYTES, fields_bytes + attributes_bytes);
}
