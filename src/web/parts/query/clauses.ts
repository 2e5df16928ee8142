import type { Clauses } from "../../../query/syntax.ts";
import { readQuery, withCondition } from "./compose.ts";
import { textWithout, queryPieces } from "./pieces.ts";

/** Formats a moment as an LQL literal. */
export function momentInLql(ms: number): string {
  return `'${new Date(ms).toISOString()}'`;
}

/** Removes clauses from a query. A query with an error is returned unchanged. */
export function textWithoutClauses(text: string, names: readonly (keyof Clauses)[]): string {
  const clauses = queryPieces(text)?.clauses;
  return textWithout(text, ...names.flatMap((name) => clauses?.get(name) ?? []));
}

/** Returns a clause as written; null if absent. */
export function clauseText(text: string, name: keyof Clauses): string | null {
  const span = queryPieces(text)?.clauses.get(name);
  return span === undefined ? null : text.slice(span.start, span.end);
}

/** Adds a condition that must hold as well. A query with an error is returned unchanged. */
export function textWithCondition(text: string, condition: string): string {
  const parsed = readQuery(text);
  return parsed === null ? text : withCondition(parsed, condition);
}
