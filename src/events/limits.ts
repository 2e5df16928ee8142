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
 * The default limits: those of the original service and, where it has none, the longest e-mail
 * address (RFC 5321) and for a page the same as for a link.
 */
export const DEFAULT_LIMITS: FieldLimits = Object.freeze({
  text: 500,
  link: 200,
  source: 200,
  user: 200,
  tags: 200,
  value: 30,
  geo: 30,
  data: 5120,
  email: 254,
  page: 200,
  attributes: 256,
  attributeName: 200,
  attributeValue: 4096,
  attributesBytes: 32_768,
});
