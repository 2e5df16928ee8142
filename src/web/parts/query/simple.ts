import { rankOfWord } from "../../../events/level.ts";
import { EVENTS } from "../../../query/fields.ts";
import { isAttribute } from "../../../query/plan.ts";
import type { Expression } from "../../../query/syntax.ts";
import { bandText, isBand, writeSelection } from "./choices.ts";
import type { Band, Choice, Selection } from "./choices.ts";
import { readQuery, withCondition, withoutFilter } from "./compose.ts";
import type { EditableQuery, Filter } from "./compose.ts";
import { textWithReplaced } from "./pieces.ts";
import { fieldName, writeField, writeString } from "./print.ts";

/** Simple mode: a query as conditions on one field each, and words that the text has, all of them. */

/** A condition in words: `source`, `is one of`, the values. */
export type Chip = {
  readonly filter: Filter;
  readonly field: string;
  readonly verb: string;
  /** Values as shown; for `class`, keys, which have display names. */
  readonly values: readonly string[];
};

/** `text` is the content of the box: words, those with blanks in quotes. */
export type SimpleQuery = { readonly chips: readonly Chip[]; readonly text: string };

const SHOWN = new Set(["where"]);

/** Converts a query to simple mode; null if simple mode can't express all of it. */
export function simpleOfQuery(parsed: EditableQuery): SimpleQuery | null {
  if (parsed.query.table.name !== "events" || [...parsed.clauses.keys()].some((name) => !SHOWN.has(name))) return null;
  const words: string[] = [];
  const chips: Chip[] = [];
  for (const filter of parsed.filters) {
    const word = wordOf(filter);
    if (word !== null) {
      words.push(typedWord(word));
      continue;
    }
    const chip = chipOf(parsed, filter);
    if (chip === null) return null;
    chips.push(chip);
  }
  return { chips, text: words.join(" ") };
}

/** Returns the text of a CONTAINS on `text` that the box can hold; null for other conditions. */
function wordOf({ tree }: Filter): string | null {
  if (tree?.kind !== "contains" || fieldName(tree.field.text) !== "text") return null;
  // Quotes can't be written within quotes, and a field of one line has no line breaks.
  return /["\r\n]/.test(tree.value.value) ? null : tree.value.value;
}

/** Writes a word for the box; in quotes if it would otherwise be several words or a condition. */
function typedWord(word: string): string {
  return /\s/.test(word) || conditionsIn(word).length > 0 ? `"${word}"` : word;
}

function conditionsIn(typed: string): readonly string[] {
  return partsOf(typed).flatMap(({ condition }) => condition ?? []);
}

function chipOf(parsed: EditableQuery, filter: Filter): Chip | null {
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
      const value = tree.value.kind === "string" ? tree.value.value : parsed.text.slice(start, end);
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
  if (selection === null) return tree?.kind === "compare" ? typedComparison(tree) : "";
  const [choice, ...others] = selection.choices;
  if (others.length > 0) return "";
  if (isBand(choice) && !selection.isNot) return typedBand(field, choice);
  if (typeof choice !== "string" || choice.includes('"')) return "";
  if (field === "value" && !TYPED_NUMBER.test(choice)) return "";
  return (selection.isNot ? "-" : "") + typed(":", choice);
}

function typedComparison({ field: { text }, op, value }: Extract<Expression, { kind: "compare" }>): string {
  const written = value.kind === "number" ? String(value.value) : value.kind === "string" ? value.value : "";
  const field = fieldName(text);
  const isTyped = value.kind === "number" ? TYPED_NUMBER.test(written) : field === "level" && written !== "";
  return isTyped ? `${writeField(field)}${op}${written}` : "";
}

function typedBand(field: string, { from, to }: Band): string {
  const ends = [...(from === null ? [] : [[">=", from]]), ...(to === null ? [] : [["<", to]])];
  if (!ends.every(([, number]) => TYPED_NUMBER.test(String(number)))) return "";
  return ends.map(([sign, number]) => `${writeField(field)}${sign}${number}`).join(" ");
}

/** `source:payments`, `-tag:robot`, `value>=5`, `@path:~cart`; values with blanks are quoted. */
const TYPED_CONDITION =
  /(?<=^|\s)(?<not>-?)(?<field>@'(?:[^']|'')+'|@?[\p{L}_][\p{L}\p{N}_.$-]*)(?<sign>:~|:|!=|>=|<=|=|<|>)(?<value>"[^"]*"|[^\s"]\S*)(?=\s|$)/u;
/** A condition, words in quotes, which may still be open at the end, or a word. */
const TYPED = new RegExp(`${TYPED_CONDITION.source}|"(?<quoted>[^"]*)(?:"|$)|(?<word>\\S+)`, "gu");

const TYPED_NUMBER = /^-?\d{1,15}(?:\.\d{1,6})?$/;

type Part = { readonly condition: string } | { readonly word: string; readonly condition?: undefined };

function partsOf(typed: string): readonly Part[] {
  return [...typed.matchAll(TYPED)].flatMap(({ 0: whole, groups = {} }): Part | readonly Part[] => {
    const { not, field, sign, value, quoted } = groups as Readonly<Record<string, string | undefined>>;
    if (quoted !== undefined) return quoted.trim() === "" ? [] : { word: quoted };
    if (field === undefined || sign === undefined || value === undefined) return { word: whole };
    const condition = typedCondition(not === "-", field, sign, value.replace(/^"([^]*)"$/, "$1"));
    return condition === null ? { word: whole } : { condition };
  });
}

/**
 * Replaces the words of a query by text typed in the box: conditions on fields become chips, the
 * text has to contain each of the words.
 */
export function withTyped(parsed: EditableQuery, typed: string): string {
  const words = partsOf(typed).flatMap((part) => (part.condition === undefined ? writeWord(part.word) : []));
  const kept = withoutWordsAfter(parsed, words.length);
  const present = wordsOf(kept);
  const added = [...words.slice(present.length), ...conditionsIn(typed)];
  const text = added.length === 0 ? kept.text : withCondition(kept, added.join(" AND "));
  // From the last on, so that the spans of those before stay.
  return present.reduceRight((query, { span }, place) => textWithReplaced(query, span, words[place]!), text);
}

function writeWord(word: string): string {
  return `text CONTAINS ${writeString(word)}`;
}

function wordsOf(parsed: EditableQuery): readonly Filter[] {
  return parsed.filters.filter((filter) => wordOf(filter) !== null);
}

function withoutWordsAfter(parsed: EditableQuery, count: number): EditableQuery {
  const last = wordsOf(parsed)[count];
  const rest = last === undefined ? null : readQuery(withoutFilter(parsed, last));
  return rest === null ? parsed : withoutWordsAfter(rest, count);
}

function typedCondition(isNot: boolean, written: string, sign: string, value: string): string | null {
  const name = written.startsWith("@'") ? `@${written.slice(2, -1).replaceAll("''", "'")}` : written;
  const field = fieldName(name);
  const info = EVENTS.fields.get(field);
  const type = isAttribute(field) ? "attribute" : (info?.type ?? "annotation");
  if (type === "level") return typedLevel(isNot, sign === ":" ? "=" : sign, value);
  if (type !== "text" && type !== "number" && type !== "attribute" && type !== "searched") return null;
  if (sign === ":~" || (sign === ":" && (field === "text" || type === "searched"))) {
    if (type === "number" || value === "") return null;
    return `${writeField(field)} ${isNot ? "NOT " : ""}CONTAINS ${writeString(value)}`;
  }
  if (type === "searched") return null;
  const isNumber = TYPED_NUMBER.test(value);
  if (type === "number" && !isNumber) return null;
  if (sign === ":" || sign === "=" || sign === "!=") {
    const choice = value === "" && type !== "attribute" ? null : value;
    return writeSelection({ field, isNot: isNot !== (sign === "!="), choices: [choice] });
  }
  return isNumber && type !== "text" && !isNot ? `${writeField(field)} ${sign} ${value}` : null;
}

function typedLevel(isNot: boolean, sign: string, value: string): string | null {
  if (rankOfWord(value) === null || sign === ":~" || (isNot && sign !== "=")) return null;
  return `level ${isNot ? "!=" : sign} ${writeString(value)}`;
}

/** A condition, SQL, or the beginning of such while it is typed. */
const QUERY_LIKE =
  /^(?:select|where|from|events)(?:\s+\S+)?$|^select\s(?:[^]*\s)?from\s|\s(?:=|!=|<>|<=?|>=?|contains|matches)\s/i;
const TABLES = ["events", "users"];

/** Reports whether a text is not the beginning of a query, so that it can be searched for. */
export function mayBeWords(text: string): boolean {
  const [get = "", table = "", ...more] = text.trim().toLowerCase().split(/\s+/, 3);
  if (table === "") return !"get".startsWith(get);
  const name = /^[a-z]*/.exec(table)![0];
  return (
    get !== "get" || name === "" || !TABLES.some((each) => (more.length > 0 ? each === name : each.startsWith(name)))
  );
}

/** Reports whether a text is words to search for, rather than an unfinished or faulty query. */
export function isWords(text: string): boolean {
  return mayBeWords(text) && !QUERY_LIKE.test(text.trim());
}

/** Returns the query for typed words, as simple mode reads them. */
export function searchFor(words: string): string {
  return withTyped(readQuery("GET events")!, words.replaceAll(/\s/g, " "));
}
