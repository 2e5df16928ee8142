import { FIELD_NAMES } from "../../../events/field-order.ts";
import { LEVELS } from "../../../events/level.ts";
import { EVENTS, GROUP_FIELDS, SORT_FIELDS, USERS } from "../../../query/fields.ts";
import type { TextSpan } from "../../../query/syntax.ts";
import { writeField, writeString, writeValue } from "../../parts/query/print.ts";
import { countWithNoun } from "../../parts/text/numbers.ts";
import type { CompletionContext } from "./completion-context.ts";

/** One completion. */
export type Completion = {
  /** Text that replaces what was typed. */
  readonly insert: string;
  readonly label: string;
  readonly hint: string;
};

/** What is known of a log's events, from `GET /fields` and groups. */
export type CompletionData = {
  readonly fields: readonly { readonly name: string; readonly kind: string; readonly count: string }[];
  readonly values: readonly { readonly value: string; readonly count: string }[];
  readonly classes: readonly { readonly key: string; readonly display: string }[];
};

export const NO_COMPLETION_DATA: CompletionData = { fields: [], values: [], classes: [] };

const MOST_COMPLETIONS = 50;
const KINDS: Readonly<Record<string, string>> = {
  date: "time",
  presence: "",
  searched: "more text",
  attribute: "",
  boolean: "true or false",
};

/** Returns the completions that match the typed text, those that begin with it first. */
export function completionsFor(context: CompletionContext, data: CompletionData): Completion[] {
  const completions = [
    ...valueCompletions(context, data),
    ...classCompletions(context, data),
    ...fieldCompletions(context, data),
    ...wordCompletions(context),
  ];
  const typed = plain(context.typed);
  const begins = completions.filter(({ label }) => plain(label).startsWith(typed));
  const contains = completions.filter(({ label }) => plain(label).indexOf(typed) > 0);
  const fitting = typed === "" ? completions : [...begins, ...contains];
  // Text that is already complete needs no completion.
  return fitting.filter(({ insert }) => insert.trim() !== context.typed).slice(0, MOST_COMPLETIONS);
}

/** Normalizes a text for comparison: quotes and case are ignored. */
function plain(text: string): string {
  return text.toLowerCase().replaceAll(/['"]/g, "");
}

function wordCompletions({ words }: CompletionContext): Completion[] {
  return words.map((word) => ({
    insert: word.endsWith("(") ? word : `${word} `,
    label: word.replace(/\($/, "(…)"),
    hint: "",
  }));
}

function fieldCompletions({ fields, table }: CompletionContext, data: CompletionData): Completion[] {
  if (fields === null) return [];
  if (table === "users") {
    return [...USERS.fields].map(([name, { type }]) => ({
      insert: `${name} `,
      label: name,
      hint: KINDS[type] ?? type,
    }));
  }
  const known = new Map(data.fields.map((field) => [field.name, field]));
  const names = [...namesFor(fields), ...data.fields.map(({ name }) => name).filter((name) => name.startsWith("@"))];
  const end = fields === "compared" || fields === "sorted" ? " " : "";
  const completions = [...new Set(names)].map((name) => {
    const fact = known.get(name);
    const kind = fact?.kind ?? EVENTS.fields.get(name)?.type ?? "";
    const written = writeField(name);
    const count = Number(fact?.count ?? 0);
    const hint = [KINDS[kind] ?? kind, count === 0 ? "" : countWithNoun(count, "event")]
      .filter((each) => each !== "")
      .join(", ");
    return { completion: { insert: written + end, label: written, hint }, count };
  });
  return completions.sort((a, b) => b.count - a.count).map(({ completion }) => completion);
}

function namesFor(fields: NonNullable<CompletionContext["fields"]>): readonly string[] {
  switch (fields) {
    case "compared":
      return [...EVENTS.fields]
        .filter(([, { type }]) => type !== "annotation")
        .map(([name]) => name)
        .filter((name) => name !== "filter");
    case "grouped":
      return [...GROUP_FIELDS, "geo", "level"];
    case "sorted":
      return SORT_FIELDS;
    case "shown":
      return [...FIELD_NAMES, "attributes"];
    case "numbers":
      return ["value"];
  }
  throw fields satisfies never;
}

function valueCompletions({ valuesOf, table }: CompletionContext, { values, classes }: CompletionData): Completion[] {
  if (valuesOf === null || table === "users") return [];
  if (valuesOf === "level")
    return LEVELS.slice(1).map((level) => ({ insert: writeString(level), label: level, hint: "" }));
  const names = new Map(valuesOf === "class" ? classes.map(({ key, display }) => [key, display]) : []);
  return values
    .filter(({ value }) => value !== "")
    .map(({ value, count }) => ({
      insert: valuesOf === "class" ? writeString(value) : writeValue(valuesOf, value),
      label: value,
      hint: [names.get(value) ?? "", countWithNoun(Number(count), "event")].filter((each) => each !== "").join(", "),
    }));
}

function classCompletions({ classes: isWanted }: CompletionContext, { classes }: CompletionData): Completion[] {
  return isWanted ? classes.map(({ key, display }) => ({ insert: `${key} `, label: key, hint: display })) : [];
}

/** Returns where and what a completion inserts; an existing blank is not repeated. */
export function insertion(
  text: string,
  { span }: CompletionContext,
  { insert }: Completion,
): { readonly span: TextSpan; readonly insert: string } {
  const follows = text.slice(span.end);
  const isApart = /^[\s),]/.test(follows);
  return { span, insert: isApart ? insert.replace(/ $/, "") : insert };
}
