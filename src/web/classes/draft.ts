import type { ClassRecord, EventRecord } from "../api/types.ts";
import { writeString } from "../ask/print.ts";

/** A class as it is being edited. Its key is made of its name, and never changes after that. */
export type Draft = Omit<ClassRecord, "key" | "weight"> & {
  /** "" for a new one. */
  readonly key: string;
  /** As it was typed. */
  readonly weight: string;
};

/** Colours that can be told apart; others are typed. */
export const SWATCHES = [
  "tomato",
  "mediumvioletred",
  "orange",
  "green",
  "teal",
  "dodgerblue",
  "royalblue",
  "slateblue",
  "sienna",
  "gray",
] as const;

const WEIGHT_STEP = 10;

export function draftOf(record: ClassRecord): Draft {
  return { ...record, weight: String(record.weight) };
}

/** A new class, lighter than all others, so that none of them loses events, in a colour that none of them has. */
export function newDraft(classes: readonly ClassRecord[]): Draft {
  const lightest = Math.min(...classes.map(({ weight }) => weight));
  const used = new Set(classes.map(({ color }) => color.toLowerCase()));
  return {
    key: "",
    display: "",
    color: SWATCHES.find((color) => !used.has(color)) ?? SWATCHES[0],
    tag: "",
    text: "",
    link: "",
    source: "",
    weight: String(classes.length === 0 ? WEIGHT_STEP : lightest - WEIGHT_STEP),
  };
}

/** A new class for events like one: of its source, with the longest stretch of its text that does not vary. */
export function draftFrom(event: EventRecord, pattern: string, classes: readonly ClassRecord[]): Draft {
  const text = constantPart(pattern === "" ? event.text : pattern);
  return { ...newDraft(classes), display: nameFor(text), source: event.source, text };
}

const LONGEST_CONDITION = 200;

/** The longest part of a pattern between what varies. */
export function constantPart(pattern: string): string {
  const parts = pattern.split(/<(?:n|hex|uuid|ip|time|str)>/).map((part) => part.trim());
  const longest = parts.reduce((best, part) => (part.length > best.length ? part : best), "");
  return longest.slice(0, LONGEST_CONDITION);
}

/** Some words of a text, as a name. */
function nameFor(text: string): string {
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  const name = words.slice(0, 3).join(" ");
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** A key for a name: `payment-failed` for "Payment failed", with a number where that is taken. */
export function keyFor(name: string, taken: ReadonlySet<string>): string {
  const plain = name
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 58);
  const key = plain === "" ? "class" : plain;
  if (!taken.has(key)) return key;
  let number = 2;
  while (taken.has(`${key}-${number}`)) number += 1;
  return `${key}-${number}`;
}

/** The conditions of a class as LQL; null where it has none yet. */
export function conditionOf({ tag, source, text, link }: Draft): string | null {
  const conditions = [
    ...(tag === "" ? [] : [`tag = ${writeString(tag)}`]),
    ...(source === "" ? [] : [`source = ${writeString(source)}`]),
    ...(text === "" ? [] : [`text CONTAINS ${writeString(text)}`]),
    ...(link === "" ? [] : [`link CONTAINS ${writeString(link)}`]),
  ];
  return conditions.length === 0 ? null : conditions.join(" AND ");
}

/** Which of the classes outweigh a draft: an event that fits several takes the heaviest. */
export function heavierThan(draft: Draft, classes: readonly ClassRecord[]): readonly ClassRecord[] {
  const weight = Number(draft.weight);
  return classes.filter((other) => other.key !== draft.key && other.weight > weight);
}
