import { EVENTS, GROUP_FIELDS, SORT_FIELDS, USERS } from "../../query/fields.ts";
import { EVENT_FIELDS } from "../../query/plan.ts";
import type { Span } from "../../query/syntax.ts";
import { writeField, writeString, writeValue } from "../ask/print.ts";
import { countOf } from "../parts/numbers.ts";
import type { Want } from "./complete.ts";

/** One completion. */
export type Offer = {
  /** Text that replaces what was typed. */
  readonly insert: string;
  readonly label: string;
  readonly hint: string;
};

/** What is known of a log's events, from `GET /fields` and groups. */
export type Facts = {
  readonly fields: readonly { readonly name: string; readonly kind: string; readonly count: string }[];
  readonly values: readonly { readonly value: string; readonly count: string }[];
  readonly classes: readonly { readonly key: string; readonly display: string }[];
};

export const NO_FACTS: Facts = { fields: [], values: [], classes: [] };

const MOST_OFFERS = 50;
const KINDS: Readonly<Record<string, string>> = { date: "time", presence: "", attribute: "", boolean: "true or false" };

/** Returns the completions that match the typed text, those that begin with it first. */
export function offersOf(want: Want, facts: Facts): Offer[] {
  const offers = [
    ...valueOffers(want, facts),
    ...classOffers(want, facts),
    ...fieldOffers(want, facts),
    ...wordOffers(want),
  ];
  const typed = plain(want.typed);
  const begins = offers.filter(({ label }) => plain(label).startsWith(typed));
  const contains = offers.filter(({ label }) => plain(label).indexOf(typed) > 0);
  const fitting = typed === "" ? offers : [...begins, ...contains];
  // Text that is already complete needs no completion.
  return fitting.filter(({ insert }) => insert.trim() !== want.typed).slice(0, MOST_OFFERS);
}

/** Normalizes a text for comparison: quotes and case are ignored. */
function plain(text: string): string {
  return text.toLowerCase().replaceAll(/['"]/g, "");
}

function wordOffers({ words }: Want): Offer[] {
  return words.map((word) => ({
    insert: word.endsWith("(") ? word : `${word} `,
    label: word.replace(/\($/, "(…)"),
    hint: "",
  }));
}

function fieldOffers({ fields, table }: Want, facts: Facts): Offer[] {
  if (fields === null) return [];
  if (table === "users") {
    return [...USERS.fields].map(([name, { type }]) => ({
      insert: `${name} `,
      label: name,
      hint: KINDS[type] ?? type,
    }));
  }
  const known = new Map(facts.fields.map((field) => [field.name, field]));
  const names = [...namesFor(fields), ...facts.fields.map(({ name }) => name).filter((name) => name.startsWith("@"))];
  const end = fields === "compared" || fields === "sorted" ? " " : "";
  const offers = [...new Set(names)].map((name) => {
    const fact = known.get(name);
    const kind = fact?.kind ?? EVENTS.fields.get(name)?.type ?? "";
    const written = writeField(name);
    const count = Number(fact?.count ?? 0);
    const hint = [KINDS[kind] ?? kind, count === 0 ? "" : countOf(count, "event")]
      .filter((each) => each !== "")
      .join(", ");
    return { offer: { insert: written + end, label: written, hint }, count };
  });
  return offers.sort((a, b) => b.count - a.count).map(({ offer }) => offer);
}

function namesFor(fields: NonNullable<Want["fields"]>): readonly string[] {
  switch (fields) {
    case "compared":
      return [...EVENTS.fields]
        .filter(([, { type }]) => type !== "shown")
        .map(([name]) => name)
        .filter((name) => name !== "filter");
    case "grouped":
      return [...GROUP_FIELDS, "geo"];
    case "sorted":
      return SORT_FIELDS;
    case "shown":
      return [...EVENT_FIELDS, "pattern", "attributes"];
    case "numbers":
      return ["value"];
  }
  throw fields satisfies never;
}

function valueOffers({ valuesOf, table }: Want, { values, classes }: Facts): Offer[] {
  if (valuesOf === null || table === "users") return [];
  const names = new Map(valuesOf === "class" ? classes.map(({ key, display }) => [key, display]) : []);
  return values
    .filter(({ value }) => value !== "")
    .map(({ value, count }) => ({
      insert: valuesOf === "class" ? writeString(value) : writeValue(valuesOf, value),
      label: value,
      hint: [names.get(value) ?? "", countOf(Number(count), "event")].filter((each) => each !== "").join(", "),
    }));
}

function classOffers({ classes: isWanted }: Want, { classes }: Facts): Offer[] {
  return isWanted ? classes.map(({ key, display }) => ({ insert: `${key} `, label: key, hint: display })) : [];
}

/** Returns where and what an offer inserts; an existing blank is not repeated. */
export function insertion(
  text: string,
  { span }: Want,
  { insert }: Offer,
): { readonly span: Span; readonly insert: string } {
  const follows = text.slice(span.end);
  const isApart = /^[\s),]/.test(follows);
  return { span, insert: isApart ? insert.replace(/ $/, "") : insert };
}
