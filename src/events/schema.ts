/**
 * The fields of an event. Limits, checks, query fields, output formats and reports derive from
 * this table. It is in the order in which messages name fields.
 */

/** What the service knows of a field. */
export type FieldSchema = {
  /** Longest posted value in characters, by default and at most; null if its length is not bounded. */
  readonly length: readonly [standard: number, highest: number] | null;
  /** Its type in queries, see {@link FieldType}. */
  readonly type: FieldType;
  /** Whether results can be sorted by it. */
  readonly sorts: boolean;
  /** Whether events can be grouped by its exact values. */
  readonly groups: boolean;
  /** What `/fields` reports: its values, how many events have it, or nothing. */
  readonly report: "values" | "count" | null;
  /** Whether it is shown by default; others are shown only as columns. */
  readonly isShown: boolean;
  /** Set for a keyword: a posted text that is compared as a whole, "" if it is absent. */
  readonly keyword?: KeywordSchema;
};

/** Everything that inlets, stores and outlets know of a keyword. */
export type KeywordSchema = {
  /** Whether lists have a parameter of its name. Its values then have tokens in block filters. */
  readonly filters?: true;
  /** Whether events that follow each other mostly differ in it. */
  readonly varies?: true;
};

/**
 * - `text`: compared, searched and matched by expressions
 * - `number`, `date`: compared as numbers
 * - `searched`: searched and tested for presence
 * - `place`: located and tested for presence
 * - `level`: compared by rank, see `level.ts`
 * - `annotation`: ids of users, shown in results only
 */
export type FieldType = "text" | "number" | "date" | "searched" | "place" | "level" | "annotation";

const UNBOUNDED = { length: null, isShown: true } as const;
const COLUMN = { ...UNBOUNDED, isShown: false } as const;
const POSTED = { isShown: true } as const;
const NUMBER = { type: "number", sorts: true, groups: true } as const;
const ALONE = { sorts: false, groups: false } as const;
const TEXT = { type: "text", sorts: true, groups: true } as const;
const UNSORTED = { ...TEXT, sorts: false } as const;
const KEYWORD = { ...POSTED, ...TEXT, report: "values" } as const;

// prettier-ignore
export const EVENT_SCHEMA = {
  id:        { ...UNBOUNDED, type: "text", sorts: true, groups: false, report: null },
  created:   { ...UNBOUNDED, type: "date", sorts: true, groups: false, report: "count" },
  text:      { ...POSTED, ...TEXT, length: [8_000, 8_000], report: "count" },
  link:      { ...KEYWORD, length: [2_000, 8_000],
               keyword: {} },
  hash:      { ...UNBOUNDED, ...UNSORTED, report: null },
  pattern:   { ...COLUMN, ...TEXT, report: "values" },
  tags:      { ...POSTED, ...UNSORTED, length: [1_000, 2_000], report: "values" },
  source:    { ...KEYWORD, length: [200, 2_000],
               keyword: { filters: true } },
  log:       { ...UNBOUNDED, ...TEXT, report: null },
  class:     { ...UNBOUNDED, ...TEXT, report: "values" },
  level:     { ...COLUMN, type: "level", sorts: true, groups: false, report: null },
  data:      { ...POSTED, length: [65_536, 65_536], ...ALONE, type: "searched", report: "count" },
  geo:       { ...POSTED, length: [30, 300], type: "place", ...ALONE, report: "count" },
  user:      { ...KEYWORD, length: [200, 2_000],
               keyword: { filters: true, varies: true } },
  value:     { ...POSTED, length: [30, 300], ...NUMBER, report: "values" },
  /** The class filter that assigned the class, which has the same key. */
  filter:    { ...UNBOUNDED, type: "text", ...ALONE, report: null },
  bookmarks: { ...UNBOUNDED, type: "annotation", ...ALONE, report: null },
  alerts:    { ...UNBOUNDED, type: "annotation", ...ALONE, report: null },
} as const satisfies Readonly<Record<string, FieldSchema>>;

/** The table by name, for facts that not all fields have. */
const SCHEMA: Readonly<Record<FieldName, FieldSchema>> = EVENT_SCHEMA;

type Schema = typeof EVENT_SCHEMA;

/** Name of a field of an event. */
export type FieldName = keyof Schema;

/** Names of the fields with some facts, such as `FieldsWith<{ sorts: true }>`. */
export type FieldsWith<Facts> = { [Name in FieldName]: Schema[Name] extends Facts ? Name : never }[FieldName];

/** Returns the names of the fields with some facts, in the order of the table. */
export function fieldsWith<const Facts extends Partial<FieldSchema>>(facts: Facts): readonly FieldsWith<Facts>[] {
  const wanted = Object.entries(facts);
  const has = (name: FieldName): boolean =>
    wanted.every(([fact, value]) => SCHEMA[name][fact as keyof FieldSchema] === value);
  const names = Object.keys(EVENT_SCHEMA) as FieldName[];
  return Object.freeze(names.filter(has)) as readonly FieldsWith<Facts>[];
}

/** Name of a posted field whose length is bounded. */
export type BoundedField = Exclude<FieldName, FieldsWith<{ length: null }>>;

/** The names of the posted fields whose length is bounded. */
export const BOUNDED_FIELDS = /* @__PURE__ */ (Object.keys(EVENT_SCHEMA) as FieldName[]).filter(
  (name): name is BoundedField => EVENT_SCHEMA[name].length !== null,
);

/** Descriptions of the keywords in the OpenAPI document. */
export const KEYWORD_DESCRIPTIONS: Readonly<Record<FieldsWith<{ keyword: KeywordSchema }>, string>> = {
  link: "A URL with more information.",
  source: "Where it comes from.",
  user: "The user it concerns.",
};
