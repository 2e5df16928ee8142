import type { Expression, Query } from "../../../query/syntax.ts";
import type { MatchSpan } from "./visible-text.ts";

/** Folded search texts by field: those that make an event match, without any under a NOT. */
export type Needles = ReadonlyMap<string, readonly string[]>;

export const NO_NEEDLES: Needles = new Map();

/** Most matches marked in one text. */
const MAX_MATCHES = 100;

/** Returns the texts to mark in the events of a query. */
export function needlesOfQuery(query: Query | null): Needles {
  const needles = new Map<string, string[]>();
  if (query?.clauses.where) collect(query.clauses.where, needles);
  return needles;
}

function collect(expression: Expression, needles: Map<string, string[]>): void {
  const { kind } = expression;
  if (kind === "and" || kind === "or") for (const part of expression.parts) collect(part, needles);
  if (kind === "contains") add(needles, expression.field.text, [expression.value.value]);
  if (kind === "matches") add(needles, expression.field.text, plainAlternatives(expression.value.value));
}

function add(needles: Map<string, string[]>, field: string, texts: readonly string[]): void {
  const key = field.startsWith("@") ? field : field.toLowerCase();
  const folded = texts.map(foldUnits).filter((text) => text !== "");
  if (folded.length > 0) needles.set(key, [...(needles.get(key) ?? []), ...folded]);
}

/**
 * Returns the texts that an expression matches if it is one plain text or several joined by `|`.
 * Others are not marked: RE2 guarantees linear time, the browser's own expressions do not.
 */
export function plainAlternatives(expression: string): string[] {
  const body = expression.replace(/^\^/, "").replace(/(?<!\\)\$$/, "");
  const inner = /^\(([^()]*)\)$/.exec(body)?.[1] ?? body;
  const alternatives = inner.split(/(?<!\\)\|/);
  const texts = alternatives.map((alternative) => alternative.replace(/\\([^a-zA-Z0-9])/g, "$1"));
  const isPlain = alternatives.every((alternative) => /^(?:[^\\.^$*+?()[\]{}|]|\\[^a-zA-Z0-9])+$/.test(alternative));
  return isPlain ? texts : [];
}

/** Finds the needles in a text, ignoring case. */
export function matchesIn(text: string, needles: readonly string[] | undefined): readonly MatchSpan[] {
  if (needles === undefined || needles.length === 0) return [];
  const folded = foldUnits(text);
  const found: MatchSpan[] = [];
  for (const needle of needles) {
    let start = folded.indexOf(needle);
    while (start !== -1 && found.length < MAX_MATCHES) {
      found.push({ start, end: start + needle.length });
      start = folded.indexOf(needle, start + needle.length);
    }
  }
  return needles.length === 1 ? found : joined(found);
}

/** Sorts matches and merges those that overlap or touch. */
function joined(found: MatchSpan[]): MatchSpan[] {
  const all: MatchSpan[] = [];
  for (const match of found.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    if (last !== undefined && match.start <= last.end) {
      all[all.length - 1] = { start: last.start, end: Math.max(last.end, match.end) };
    } else all.push(match);
  }
  return all;
}

/** Lowercases a text but keeps the position of every unit, so that matches apply to the text. */
function foldUnits(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return Array.from(text, (character) => {
    const folded = character.toLowerCase();
    return folded.length === character.length ? folded : character;
  }).join("");
}
