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
  (name): name is FilteredField => "filters" in EVENT_SCHEMA[name].keyword,
);

/** Returns whether a name is that of a keyword. */
export function isKeyword(name: string): name is KeywordField {
  return (KEYWORD_FIELDS as readonly string[]).includes(name);
}

/** The keywords of an event that has none. */
export const NO_KEYWORDS = /* @__PURE__ */ Object.freeze(
  Object.fromEntries(KEYWORD_FIELDS.map((name) => [name, ""])),
) as Keywords;
