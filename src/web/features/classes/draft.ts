import type { ClassRecord, EventRecord } from "../../parts/api/types.ts";
import { writeString } from "../../parts/query/print.ts";

/** A class being edited. Its key is derived from its name once and never changes. */
export type ClassDraft = Omit<ClassRecord, "key" | "weight"> & {
  /** "" for a new class. */
  readonly key: string;
  /** As typed. */
  readonly weight: string;
};

/** Distinguishable colours on offer; others are typed. */
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

export function draftOfClass(record: ClassRecord): ClassDraft {
  return { ...record, weight: String(record.weight) };
}

/** Returns a new class, lightest so that no other loses events, in an unused colour. */
export function newClassDraft(classes: readonly ClassRecord[]): ClassDraft {
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

/** Returns a class for similar events: same source, with the longest constant part of the text. */
export function draftFrom(event: EventRecord, pattern: string, classes: readonly ClassRecord[]): ClassDraft {
  const text = constantPart(pattern === "" ? event.text : pattern);
  return { ...newClassDraft(classes), display: nameFor(text), source: event.source, text };
}

const LONGEST_CONDITION = 200;

/** Returns the longest part of a pattern without placeholders. */
export function constantPart(pattern: string): string {
  const parts = pattern.split(/<(?:n|hex|uuid|ip|time|str)>/).map((part) => part.trim());
  const longest = parts.reduce((best, part) => (part.length > best.length ? part : best), "");
  return longest.slice(0, LONGEST_CONDITION);
}

/** Returns the first words of a text as a name. */
function nameFor(text: string): string {
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  const name = words.slice(0, 3).join(" ");
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** Returns a key for a name: `payment-failed` for "Payment failed", numbered if taken. */
export function keyFor(name: string, taken: ReadonlySet<string>): string {
  const plain = name
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|(?<!-)-+$/g, "")
    .slice(0, 58);
  const key = plain === "" ? "class" : plain;
  if (!taken.has(key)) return key;
  let number = 2;
  while (taken.has(`${key}-${number}`)) number += 1;
  return `${key}-${number}`;
}

/** Returns the conditions of a class as LQL; null if it has none yet. */
export function classCondition({ tag, source, text, link }: ClassDraft): string | null {
  const conditions = [
    ...(tag === "" ? [] : [`tag = ${writeString(tag)}`]),
    ...(source === "" ? [] : [`source = ${writeString(source)}`]),
    ...(text === "" ? [] : [`text CONTAINS ${writeString(text)}`]),
    ...(link === "" ? [] : [`link CONTAINS ${writeString(link)}`]),
  ];
  return conditions.length === 0 ? null : conditions.join(" AND ");
}

/** Returns the classes heavier than a draft: an event that fits several gets the heaviest. */
export function heavierThan(draft: ClassDraft, classes: readonly ClassRecord[]): readonly ClassRecord[] {
  const weight = Number(draft.weight);
  return classes.filter((other) => other.key !== draft.key && other.weight > weight);
}
