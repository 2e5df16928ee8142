import { fold } from "../../../events/text.ts";
import { equalsAttribute } from "../../../query/attributes.ts";
import { isAttribute } from "../../../query/plan.ts";
import type { Expression, Literal } from "../../../query/syntax.ts";
import { fieldName, isPlainNumber, writeField, writeValue } from "./print.ts";
import { formatBound } from "../text/numbers.ts";

/** A band of numbers: from inclusive, to exclusive; null for an open end. */
export type Band = { readonly from: number | null; readonly to: number | null };

/** A choice of a field: a value as text, its absence (null), or a band of numbers. */
export type Choice = string | null | Band;

/** The choices of one field that a condition selects or excludes. */
export type Selection = { readonly field: string; readonly isNot: boolean; readonly choices: readonly Choice[] };

/** Dates compare by moments, which the range selects. */
const NO_CHOICES = new Set(["created", "seen"]);

/** Returns the choices of a condition; null if it has several fields or another form. */
export function selectionOfCondition(tree: Expression): Selection | null {
  switch (tree.kind) {
    case "compare":
      return ofComparison(fieldName(tree.field.text), tree.op, tree.value);
    case "in": {
      const field = fieldName(tree.field.text);
      const choices = tree.values.map((value) => choiceOf(field, value));
      return choices.includes(undefined) ? null : chosen(field, choices as Choice[]);
    }
    case "null":
      return chosen(fieldName(tree.field.text), [null]);
    case "not": {
      const inner = selectionOfCondition(tree.part);
      return inner === null ? null : { ...inner, isNot: !inner.isNot };
    }
    case "or":
      return unionOf(tree.parts.map(selectionOfCondition));
    case "and":
      return tree.parts.length === 2
        ? bandOfBounds(...(tree.parts.map(selectionOfCondition) as [Selection | null, Selection | null]))
        : null;
    case "contains":
    case "matches":
    case "within":
    case "near":
      return null;
  }
  throw tree satisfies never;
}

function chosen(field: string, choices: readonly Choice[]): Selection | null {
  return NO_CHOICES.has(field) ? null : { field, isNot: false, choices };
}

function ofComparison(field: string, op: string, value: Literal): Selection | null {
  if (op === "=" || op === "!=") {
    const choice = choiceOf(field, value);
    const selection = choice === undefined ? null : chosen(field, [choice]);
    return selection === null ? null : { ...selection, isNot: op === "!=" };
  }
  if (value.kind !== "number") return null;
  if (op === ">=") return chosen(field, [{ from: value.value, to: null }]);
  return op === "<" ? chosen(field, [{ from: null, to: value.value }]) : null;
}

/**
 * Converts a literal to a choice; undefined if it is none. An empty string means absence, except
 * for attributes, which can be empty. An attribute compares with some numbers differently than with
 * their text.
 */
function choiceOf(field: string, value: Literal): Choice | undefined {
  if (value.kind === "number") {
    const text = String(value.value);
    return isAttribute(field) && !isPlainNumber(text) ? undefined : text;
  }
  if (value.kind !== "string") return undefined;
  return value.value === "" && !isAttribute(field) ? null : value.value;
}

function unionOf(parts: readonly (Selection | null)[]): Selection | null {
  const [first] = parts;
  if (
    first === undefined ||
    first === null ||
    parts.some((part) => part === null || part.isNot || part.field !== first.field)
  )
    return null;
  return { ...first, choices: parts.flatMap((part) => part!.choices) };
}

/** Merges a lower and an upper bound of one field into a band; null otherwise. */
export function bandOfBounds(a: Selection | null, b: Selection | null): Selection | null {
  if (a === null || b === null || a.field !== b.field || a.isNot || b.isNot) return null;
  const [low, high] = [a, b].map(({ choices }) => (choices.length === 1 ? choices[0]! : null));
  if (!isBand(low) || !isBand(high)) return null;
  const from = low.from ?? high.from;
  const to = low.to ?? high.to;
  const isOne = from !== null && to !== null && (low.from === null) === (high.to === null);
  return isOne ? { ...a, choices: [{ from, to }] } : null;
}

export function isBand(choice: Choice | undefined): choice is Band {
  return typeof choice === "object" && choice !== null;
}

/** Writes a selection as LQL that is valid between ANDs. */
export function writeSelection({ field, isNot, choices }: Selection): string {
  const name = writeField(field);
  const values = choices.filter((choice) => typeof choice === "string").map((value) => writeValue(field, value));
  const isAbsent = choices.includes(null);
  const bands = choices.filter(isBand).map((band) => writeBand(name, band));
  const isPlain = bands.length === 0 && Number(values.length > 0) + Number(isAbsent) === 1;
  if (isPlain && isAbsent) return `${name} IS ${isNot ? "NOT " : ""}NULL`;
  const some =
    values.length === 1
      ? `${name} ${isNot && isPlain ? "!=" : "="} ${values[0]}`
      : writeIn(name, values, isNot && isPlain);
  if (isPlain) return some;
  const parts = [...(values.length > 0 ? [some] : []), ...bands, ...(isAbsent ? [`${name} IS NULL`] : [])];
  const joined = parts.join(" OR ");
  if (isNot) return `NOT (${joined})`;
  return parts.length > 1 || / AND /.test(bands[0] ?? "") ? `(${joined})` : joined;
}

function writeIn(name: string, values: readonly string[], isNot: boolean): string {
  return `${name} ${isNot ? "NOT " : ""}IN (${values.join(", ")})`;
}

function writeBand(name: string, { from, to }: Band): string {
  const bounds = [...(from === null ? [] : [`${name} >= ${from}`]), ...(to === null ? [] : [`${name} < ${to}`])];
  return bounds.length === 0 ? `${name} IS NOT NULL` : bounds.join(" AND ");
}

/** Reports whether two choices match the same events, regardless of case and number format. */
export function isSameChoice(field: string, a: Choice, b: Choice): boolean {
  if (isBand(a) || isBand(b)) return isBand(a) && isBand(b) && a.from === b.from && a.to === b.to;
  if (a === null || b === null) return a === b;
  if (field === "value") return Number(a) === Number(b);
  if (!isAttribute(field)) return fold(a) === fold(b);
  const [x, y] = [equalsAttribute(field, a), equalsAttribute(field, b)];
  return x.kind === y.kind && x.value === y.value;
}

/** `10 to 50`, `up to 10` */
export function bandText({ from, to }: Band): string {
  if (from === null) return to === null ? "any number" : `up to ${formatBound(to)}`;
  return to === null ? `from ${formatBound(from)}` : `${formatBound(from)} to ${formatBound(to)}`;
}
