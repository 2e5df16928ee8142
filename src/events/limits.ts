/**
 * The longest value of each field that a producer may post, in characters (Unicode code points).
 * `tags` counts all tags together.
 */
export type FieldLimits = {
  readonly text: number;
  readonly link: number;
  readonly source: number;
  readonly user: number;
  readonly tags: number;
  readonly value: number;
  readonly geo: number;
  readonly data: number;
  /** `email` and `page` are posted only with users, beside `user`. */
  readonly email: number;
  readonly page: number;
  /** Maximum number of attributes, length of a name and of a value, and size of all in bytes. */
  readonly attributes: number;
  readonly attributeName: number;
  readonly attributeValue: number;
  readonly attributesBytes: number;
};

/**
 * The default limits. Those of the original service are kept for `source`, `user`, `value` and
 * `geo`; texts, links, tags and data may be longer, as messages and stack traces are. The others
 * are ours: for `email` the longest address (RFC 5321), for `page` the same as for a link.
 */
export const DEFAULT_LIMITS: FieldLimits = Object.freeze({
  text: 8_000,
  link: 2_000,
  source: 200,
  user: 200,
  tags: 1_000,
  value: 30,
  geo: 30,
  data: 65_536,
  email: 254,
  page: 2_000,
  attributes: 256,
  attributeName: 200,
  attributeValue: 7_500,
  attributesBytes: 65_536,
});

/**
 * The highest limits that an operator may set: what all engines can hold. A text, with its pattern
 * and its folded form, and each other compared field is one term of Elasticsearch. An event with
 * everything at its limit is one record of Kafka, compressed if need be.
 */
export const HIGHEST_LIMITS: FieldLimits = Object.freeze({
  text: 8_000,
  link: 8_000,
  source: 2_000,
  user: 2_000,
  tags: 2_000,
  value: 300,
  geo: 300,
  data: 65_536,
  email: 2_000,
  page: 8_000,
  attributes: 1_000,
  attributeName: 500,
  attributeValue: 8_000,
  attributesBytes: 65_536,
});

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
  const { text, link, source, user, tags, value, geo, data, attributes, attributesBytes } = limits;
  const characters = text + link + source + user + tags + value + geo + data;
  const fields_bytes = ENCODED_CHARACTER_BYTES * characters + ENCODED_FORM_BYTES;
  const attributes_bytes = ENCODED_ATTRIBUTE_BYTES * attributesBytes + ENCODED_PAIR_BYTES * attributes;
  return Math.max(FORM_LEAST_BYTES, fields_bytes + attributes_bytes);
}
