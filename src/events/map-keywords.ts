import { KEYWORD_FIELDS } from "./keywords.ts";
import type { KeywordField } from "./keywords.ts";
import { objectMaker } from "./object-maker.ts";

type ValueOf<Value> = (name: KeywordField, index: number) => Value;

/** Returns a value for each keyword. */
export const mapKeywords = objectMaker<[valueOf: ValueOf<unknown>], Record<KeywordField, unknown>>(
  ["valueOf"],
  Object.fromEntries(KEYWORD_FIELDS.map((name, index) => [name, `valueOf("${name}", ${index})`])) as Record<
    KeywordField,
    string
  >,
) as <Value>(valueOf: ValueOf<Value>) => Record<KeywordField, Value>;
