import { EVENTS } from "../../query/fields.ts";
import { isAttribute } from "../../query/plan.ts";
import type { Expression } from "../../query/syntax.ts";
import { bandText, isBand, writeSelection } from "./choices.ts";
import type { Choice, Selection } from "./choices.ts";
import { readAsk, withCondition, withText, withoutFilter } from "./compose.ts";
import type { Ask, Filter } from "./compose.ts";
import { replaced } from "./pieces.ts";
import { fieldName, writeField, writeString } from "./print.ts";

/** Simple mode: a query as conditions on one field each, and words that the text contains. */

/** A condition in words: `source`, `is one of`, the values. */
export type Chip = {
  readonly filter: Filter;
  readonly field: string;
  readonly verb: string;
  /** Values as shown; for `class`, keys, which have display names. */
  readonly values: readonly string[];
};

export type Simple = { readonly chips: readonly Chip[]; readonly text: string };

const SHOWN = new Set(["where"]);

/** Converts a query to simple mode; null if simple mode can't express all of it. */
export function simpleOf(ask: Ask): Simple | null {
  if (ask.query.table.name !== "events" || [...ask.clauses.keys()].some((name) => !SHOWN.has(name))) return null;
  const box = boxOf(ask);
  const chips: Chip[] = [];
  for (const filter of ask.filters) {
    if (filter === box) continue;
    const chip = chipOf(ask, filter);
    if (chip === null) return null;
    chips.push(chip);
  }
  return { chips, text: box === null ? "" : textOf(box.tree)! };
}

/** Returns the condition shown in the text box: the last CONTAINS on `text`. */
function boxOf(ask: Ask): Filter | null {
  return ask.filters.findLast(({ tree }) => textOf(tree) !== null) ?? null;
}

function textOf(tree: Expression | null): string | null {
  return tree?.kind === "contains" && fieldName(tree.field.text) === "text" ? tree.value.value : null;
}

function chipOf(ask: Ask, filter: Filter): Chip | null {
  if (filter.selection !== null) return chipOfSelection(filter, filter.selection);
  const isNot = filter.tree?.kind === "not";
  const tree = filter.tree?.kind === "not" ? filter.tree.part : filter.tree;
  if (tree === null || tree.kind === "and" || tree.kind === "or" || tree.kind === "not") return null;
  const chip = (verb: string, value: string): Chip => ({
    filter,
    field: fieldName(tree.field.text),
    verb,
    values: [value],
  });
  switch (tree.kind) {
    case "contains":
      return chip(isNot ? "does not contain" : "contains", tree.value.value);
    case "matches":
      return chip(isNot ? "does not match" : "matches", tree.value.value);
    case "compare": {
      const { start, end } = tree.value.span;
      const value = tree.value.kind === "string" ? tree.value.value : ask.text.slice(start, end);
      return isNot ? null : chip(VERBS[tree.op], value);
    }
    // Choices are handled above; a chip can't express the others.
    case "in":
    case "null":
    case "within":
    case "near":
      return null;
  }
  throw tree satisfies never;
}

const VERBS = { "=": "is", "!=": "is not", "<": "is below", "<=": "is at most", ">": "is above", ">=": "is at least" };

function chipOfSelection(filter: Filter, { field, isNot, choices }: Selection): Chip {
  const chip = (verb: string, values: readonly string[]): Chip => ({ filter, field, verb, values });
  if (choices.length === 1 && choices[0] === null) return chip(isNot ? "is there" : "is missing", []);
  const words = choices.map(choiceText);
  return chip(isNot ? (words.length === 1 ? "is not" : "is none of") : words.length === 1 ? "is" : "is one of", words);
}

function choiceText(choice: Choice): string {
  if (choice === null) return "none";
  return isBand(choice) ? bandText(choice) : choice;
}

/** Returns a chip as typed in the box: `source:payments`; "" if it can't be typed. */
export function typedChip({ field, filter: { selection, tree } }: Chip): string {
  const typed = (sign: string, value: string) =>
    `${writeField(field)}${sign}${/[\s"']|^$/.test(value) ? `"${value}"` : value}`;
  if (tree?.kind === "contains" && !tree.value.value.includes('"')) return typed(":~", tree.value.value);
  const [choice, ...others] = selection?.choices ?? [];
  if (selection === null || others.length > 0 || typeof choice !== "string" || choice.includes('"')) return "";
  if (field === "value" && !TYPED_NUMBER.test(choice)) return "";
  return (selection.isNot ? "-" : "") + typed(":", choice);
}

/** `source:payments`, `-tag:robot`, `value>=5`, `@path:~cart`; values with blanks are quoted. */
const TYPED =
  /(?<=^|\s)(?<not>-?)(?<field>@'(?:[^']|'')+'|@?[\p{L}_][\p{L}\p{N}_.$-]*)(?<sign>:~|:|!=|>=|<=|=|<|>)(?<value>"[^"]*"|[^\s"]\S*)(?=\s|$)/gu;

const TYPED_NUMBER = /^-?\d{1,15}(?:\.\d{1,6})?$/;

/** Adds text typed in the box: conditions on fields become chips, the rest is searched as text. */
export function withTyped(ask: Ask, typed: string): string {
  const conditions: string[] = [];
  const rest = typed.replace(TYPED, (whole, ...found) => {
    const { not, field, sign, value } = found.at(-1) as Record<"not" | "field" | "sign" | "value", string>;
    const condition = typedCondition(not === "-", field, sign, value.replace(/^"([^]*)"$/, "$1"));
    if (condition === null) return whole;
    conditions.push(condition);
    return " ";
  });
  const words = conditions.length === 0 ? typed : rest.replace(/\s+/g, " ");
  const withWords = setText(ask, words.trim());
  return conditions.reduce((text, condition) => withCondition(readAsk(text) ?? ask, condition), withWords);
}

function typedCondition(isNot: boolean, written: string, sign: string, value: string): string | null {
  const name = written.startsWith("@'") ? `@${written.slice(2, -1).replaceAll("''", "'")}` : written;
  const field = fieldName(name);
  const info = EVENTS.fields.get(field);
  const type = isAttribute(field) ? "attribute" : (info?.type ?? "shown");
  if (type !== "text" && type !== "number" && type !== "attribute") return null;
  if (sign === ":~" || (sign === ":" && field === "text")) {
    if (type === "number" || value === "") return null;
    return `${writeField(field)} ${isNot ? "NOT " : ""}CONTAINS ${writeString(value)}`;
  }
  const isNumber = TYPED_NUMBER.test(value);
  if (type === "number" && !isNumber) return null;
  if (sign === ":" || sign === "=" || sign === "!=") {
    const choice = value === "" && type !== "attribute" ? null : value;
    return writeSelection({ field, isNot: isNot !== (sign === "!="), choices: [choice] });
  }
  return isNumber && type !== "text" && !isNot ? `${writeField(field)} ${sign} ${value}` : null;
}

/** Sets the words that the text must contain; "" removes the condition. */
export function setText(ask: Ask, words: string): string {
  const box = boxOf(ask);
  if (words === "") return box === null ? ask.text : withoutFilter(ask, box);
  return box === null ? withText(ask, words) : replaced(ask.text, box.span, `text CONTAINS ${writeString(words)}`);
}
