import { fold } from "../../../events/text.ts";
import type { Condition, DataSearch } from "../../../query/plan.ts";
import { DOUBT_OF_DATA } from "./uncertain.ts";
import { wordsOfExpression, wordsOfText } from "../documents/words.ts";
import type { WordCondition } from "../documents/words.ts";
import { and, or } from "../client/queries.ts";
import type { Query } from "../client/queries.ts";

/** A condition that searches a text. */
export type TextSearch = Extract<Condition, { kind: "contains" | "matches" }>;

/** Returns what a condition searches for, whatever the field. */
export function nameOfSearch(condition: Extract<Condition<string>, { kind: "contains" | "matches" }>): string {
  return condition.kind === "matches" ? `matches ${condition.pattern}` : `contains ${condition.value}`;
}

export type RequiredWords = { readonly condition: WordCondition; readonly exact: boolean };

/** Cache: an expression is needed several times while its plan is compiled. */
const wordsCache = new WeakMap<TextSearch, RequiredWords | null>();

/** Returns the words that an expression requires. Only `text` and `data` have an index of words. */
export function requiredWords(expression: TextSearch): RequiredWords | null {
  if (expression.field !== "text" && expression.field !== "data") return null;
  const before = wordsCache.get(expression);
  if (before !== undefined) return before;
  const { condition, exact } =
    expression.kind === "contains" ? wordsOfText(fold(expression.value)) : wordsOfExpression(expression.pattern);
  const known = condition === null ? null : { condition, exact };
  wordsCache.set(expression, known);
  return known;
}

/** Paths of the runs of letters and of digits of a field. */
type WordPaths = { readonly letters: string; readonly digits: string };
export const PATHS_OF_TEXT_WORDS: WordPaths = { letters: "folded.text.letters", digits: "folded.digits" };
const PATHS_OF_DATA_WORDS: WordPaths = { letters: "data", digits: "folded.dataDigits" };

export function queryOfWords(condition: WordCondition, paths: WordPaths): Query {
  const queryOfPart = (part: WordCondition): Query => queryOfWords(part, paths);
  switch (condition.kind) {
    case "all":
      return and(condition.parts.map(queryOfPart));
    case "any":
      return or(condition.parts.map(queryOfPart));
    case "word": {
      const path = paths[condition.of];
      const { expression } = condition;
      const [, start, rest] = /^([a-z0-9]+)(\.\*)?$/.exec(expression) ?? [];
      if (start === undefined) return { regexp: { [path]: { value: expression, flags: "NONE" } } };
      return rest === undefined ? { term: { [path]: start } } : { prefix: { [path]: start } };
    }
  }
  throw condition satisfies never;
}

/**
 * Queries for a search of data: `candidates` finds all events that may meet it. `certain` finds
 * just those that do, except for {@link DOUBT_OF_DATA}, or is null if words do not decide.
 */
export type DataQueries = { readonly candidates: Query; readonly certain: Query | null };

/** @param isIndexed whether the data is in the index of words */
export function findData(search: DataSearch, isIndexed: boolean): DataQueries {
  const words = isIndexed ? requiredWords(search) : null;
  if (words === null) return { candidates: HAS_DATA, certain: null };
  const byWords = queryOfWords(words.condition, PATHS_OF_DATA_WORDS);
  return { candidates: or([byWords, DOUBT_OF_DATA]), certain: words.exact ? byWords : null };
}

const HAS_DATA: Query = { term: { has: "data" } };
