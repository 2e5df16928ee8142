import { fold } from "../../events/text.ts";
import { nearest } from "../../query/fault.ts";
import { readAsk, toggle } from "../ask/compose.ts";
import type { Ask, Filter } from "../ask/compose.ts";
import { writeSelection } from "../ask/choices.ts";
import { replaced } from "../ask/pieces.ts";
import { isPlainNumber } from "../ask/print.ts";

/** A condition that a field has exactly one text. */
export type TextCondition = { readonly filter: Filter; readonly field: string; readonly value: string };

/** Texts of these are seldom written by hand, or are each event's own. */
const NOT_ASKED = new Set(["text", "link", "hash", "id", "value", "pattern"]);

/** The conditions of a query that want one exact text of a field. */
export function textConditions({ filters }: Ask): readonly TextCondition[] {
  return filters.flatMap((filter) => {
    const { selection } = filter;
    const [value, ...others] = selection?.choices ?? [];
    if (selection === null || selection.isNot || others.length > 0 || typeof value !== "string") return [];
    // Numbers that are near are no slips.
    if (value === "" || isPlainNumber(value) || NOT_ASKED.has(selection.field)) return [];
    return [{ filter, field: selection.field, value }];
  });
}

/** Letters that a beginning has at least, to be taken for the whole. */
const LEAST_BEGINNING = 3;

/**
 * The value that was probably meant: one slip or two away, or else the first that begins as it does.
 * null where none is near, or where the value itself is among them.
 *
 * @param values those that are there, the most frequent first
 */
export function nearValue(value: string, values: readonly string[]): string | null {
  const written = fold(value);
  if (values.some((each) => fold(each) === written)) return null;
  const near = nearest(value, values, written.length <= 3 ? 1 : 2);
  if (near !== null) return near;
  const begins = (long: string, short: string) => short.length >= LEAST_BEGINNING && long.startsWith(short);
  return values.find((each) => begins(fold(each), written) || begins(written, fold(each))) ?? null;
}

/** The query with another value in a condition's place; all else stays as it was typed. */
export function withValue(ask: Ask, { filter, field, value }: TextCondition, other: string): string {
  if (filter.tree !== null) {
    return replaced(ask.text, filter.span, writeSelection({ field, isNot: false, choices: [other] }));
  }
  const rest = readAsk(toggle(ask, field, value));
  return rest === null ? ask.text : toggle(rest, field, other);
}
