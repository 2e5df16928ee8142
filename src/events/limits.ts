/** The longest value of each field that a producer may post, in characters (Unicode code points). `tags` counts all of them together. */
export type FieldLimits = {
  readonly text: number;
  readonly link: number;
  readonly source: number;
  readonly user: number;
  readonly tags: number;
  readonly value: number;
  readonly geo: number;
  readonly data: number;
};

/** The limits of the original service. */
export const DEFAULT_LIMITS: FieldLimits = Object.freeze({
  text: 500,
  link: 200,
  source: 200,
  user: 200,
  tags: 200,
  value: 30,
  geo: 30,
  data: 5120,
});
