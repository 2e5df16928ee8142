import { EVENT_SCHEMA } from "./schema.ts";
import type { FieldName, FieldsWith, KeywordSchema } from "./schema.ts";

/** Name of a keyword, see {@link KeywordSchema}. */
export type KeywordField = FieldsWith<{ keyword: KeywordSchema }>;
/** Name of a keyword that lists filter by. */
export type FilteredField = FieldsWith<{ keyword: { filters: true } }>;

/** A value for each keyword. */
export type Keywords<Value = string> = Readonly<Record<KeywordField, Value>>;

/** The names of the keywords, in the order of the table. */
export const KEYWORD_FIELDS = /* @__PURE__ */ (Object.keys(EVENT_SCHEMA) as FieldName[]).filter(
  (name): name is KeywordField => "keyword" in EVENT_SCHEMA[name],
);
/** The names of the keywords that lists filter by, in the order of the table. */
export const FILTERED_FIELDS = /* @__PURE__ */ KEYWORD_FIELDS.filter(
  (name): name is FilteredField => EVENT_SCHEMA[name].keyword.filters,
);

/** Returns a value for each keyword. */
export function mapKeywords<Value>(valueOf: (name: KeywordField, index: number) => Value): Record<KeywordField, Value> {
  const values = {} as Record<KeywordField, Value>;
  for (let i = 0; i < KEYWORD_FIELDS.length; i++) values[KEYWORD_FIELDS[i]!] = valueOf(KEYWORD_FIELDS[i]!, i);
  return values;
}

/** The keywords of an event that has none. */
export const NO_KEYWORDS: Keywords = /* @__PURE__ */ Object.freeze(mapKeywords(() => ""));
