import { fold } from "../../../events/text.ts";
import { nearest } from "../../../query/fault.ts";
import { readQuery, toggleChoice } from "../../parts/query/compose.ts";
import type { EditableQuery, Filter } from "../../parts/query/compose.ts";
import { writeSelection } from "../../parts/query/choices.ts";
import { textWithReplaced } from "../../parts/query/pieces.ts";
import { isPlainNumber } from "../../parts/query/print.ts";

/** A condition that a field equals one text. */
export type TextCondition = { readonly filter: Filter; readonly field: string; readonly value: string };

/** Fields whose values are rarely typed by hand or differ in each event. */
const NOT_ASKED = new Set(["text", "link", "hash", "id", "value", "pattern"]);

/** Returns the conditions of a query that require one exact text of a field. */
export function textConditions({ filters }: EditableQuery): readonly TextCondition[] {
  return filters.flatMap((filter) => {
    const { selection } = filter;
    const [value, ...others] = selection?.choices ?? [];
    if (selection === null || selection.isNot || others.length > 0 || typeof value !== "string") return [];
    // Similar numbers are not typing errors.
    if (value === "" || isPlainNumber(value) || NOT_ASKED.has(selection.field)) return [];
    return [{ filter, field: selection.field, value }];
  });
}

/** Least length of a prefix that matches a longer value. */
const LEAST_BEGINNING = 3;

/**
 * Returns the value probably meant: one with one or two typing errors, else the first that shares a
 * prefix; null if none is similar or the value itself is among them.
 *
 * @param values existing values, most frequent first
 */
export function nearValue(value: string, values: readonly string[]): string | null {
  const written = fold(value);
  if (values.some((each) => fold(each) === written)) return null;
  const near = nearest(value, values, written.length <= 3 ? 1 : 2);
  if (near !== null) return near;
  const begins = (long: string, short: string) => short.length >= LEAST_BEGINNING && long.startsWith(short);
  return values.find((each) => begins(fold(each), written) || begins(written, fold(each))) ?? null;
}

/** Replaces the value of a condition; the rest stays as typed. */
export function withValue(parsed: EditableQuery, { filter, field, value }: TextCondition, other: string): string {
  if (filter.tree !== null) {
    return textWithReplaced(parsed.text, filter.span, writeSelection({ field, isNot: false, choices: [other] }));
  }
  const rest = readQuery(toggleChoice(parsed, field, value));
  return rest === null ? parsed.text : toggleChoice(rest, field, other);
}
