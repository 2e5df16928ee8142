import { numberOfValue, parseAttributes, valuesOfAttribute } from "../../events/attributes.ts";
import { fold } from "../../events/text.ts";
import type { AttributeField, ComparisonOp } from "../../query/plan.ts";

/**
 * How attributes lie in an index. All of them are found by terms of one field, `terms`, whatever
 * their names; those that have columns are sorted, grouped and aggregated by these. Whether a
 * document has the columns of an attribute is up to who wrote it, and the document says so.
 */
export type AttributeIndex = {
  /** The key of each attribute. */
  readonly keys: readonly string[];
  /** Key and kind of each value. */
  readonly kinds: readonly string[];
  /** Key and folded text of each value; key and number too where the attribute has no columns. */
  readonly terms: readonly string[];
  /** Columns by key: texts as they are, texts folded that spell no number, numbers. */
  readonly texts?: Columns<string>;
  readonly folded?: Columns<string>;
  readonly numbers?: Columns<number>;
  /** The keys of attributes without columns. */
  readonly rest?: readonly string[];
  /** The keys of attributes with columns that hold numbers and other texts too: these do not sort by columns. */
  readonly mixed?: readonly string[];
};

/** Where all of it lies in a document. */
export const ATTRIBUTES = "indexed";
/** Fields by which attributes are found, see {@link AttributeIndex}. */
export const ATTRIBUTE_PATHS = {
  keys: `${ATTRIBUTES}.keys`,
  kinds: `${ATTRIBUTES}.kinds`,
  terms: `${ATTRIBUTES}.terms`,
  rest: `${ATTRIBUTES}.rest`,
  mixed: `${ATTRIBUTES}.mixed`,
} as const;

type Columns<T> = { readonly [key: string]: readonly T[] };

export const COLUMN_KINDS = ["texts", "folded", "numbers"] as const;
export type ColumnKind = (typeof COLUMN_KINDS)[number];

/** Separates a key, which holds neither, from a text and from a number. */
const TEXT = "\0";
const NUMBER = "\u0001";
const BEHIND_NUMBERS = "\u0002";

/** A name in the characters that names of fields may have; no dot, which would make objects of it. */
export function keyOf(name: string): string {
  let key = keysKnown.get(name);
  if (key === undefined) {
    key = encodeURIComponent(name).replace(/[.!'()*~]/g, (character) => `%${hex(character.charCodeAt(0), 2)}`);
    if (keysKnown.size >= MAX_KNOWN) keysKnown.clear();
    keysKnown.set(name, key);
  }
  return key;
}

/** Events of a log have the same names, again and again. */
const keysKnown = new Map<string, string>();
const MAX_KNOWN = 10_000;

export function nameOf(key: string): string {
  return decodeURIComponent(key);
}

export function keyOfField(field: AttributeField): string {
  return keyOf(field.slice(1));
}

/** Where a column of an attribute lies. */
export function columnOf(kind: ColumnKind, key: string): string {
  return `${ATTRIBUTES}.${kind}.${key}`;
}

export type ValueKind = "text" | "number" | "boolean";

function kindTerm(key: string, kind: ValueKind): string {
  return `${key}${TEXT}${kind}`;
}

/** Takes a term of `kinds` apart. */
export function readKindTerm(term: string): { readonly key: string; readonly kind: ValueKind } {
  const [key = "", kind] = term.split(TEXT);
  return { key, kind: kind as ValueKind };
}

/** The terms of a text, and how all texts of an attribute begin. */
export function textTerm(key: string, folded: string): string {
  return `${key}${TEXT}${folded}`;
}

/** Terms of an attribute's values whose folded texts compare so with another. */
export function textRange(key: string, op: Exclude<ComparisonOp, "=">, folded: string): Record<string, string> {
  const bound = textTerm(key, folded);
  switch (op) {
    case "<":
      return { gte: textTerm(key, ""), lt: bound };
    case "<=":
      return { gte: textTerm(key, ""), lte: bound };
    case ">":
      return { gt: bound, lt: `${key}${NUMBER}` };
    case ">=":
      return { gte: bound, lt: `${key}${NUMBER}` };
  }
  throw op satisfies never;
}

/** Terms of an attribute's numbers that compare so with another, where it has no columns. */
export function numberRange(key: string, op: ComparisonOp, value: number): Record<string, string> {
  const bound = numberTerm(key, value);
  switch (op) {
    case "=":
      return { gte: bound, lte: bound };
    case "<":
      return { gte: `${key}${NUMBER}`, lt: bound };
    case "<=":
      return { gte: `${key}${NUMBER}`, lte: bound };
    case ">":
      return { gt: bound, lt: `${key}${BEHIND_NUMBERS}` };
    case ">=":
      return { gte: bound, lt: `${key}${BEHIND_NUMBERS}` };
  }
  throw op satisfies never;
}

const bits = new DataView(new ArrayBuffer(8));

/** The term of a number: terms are in the order of the numbers. */
function numberTerm(key: string, number: number): string {
  // Zero has one form.
  bits.setFloat64(0, number + 0);
  const raw = bits.getBigUint64(0);
  const ordered = raw >> 63n === 0n ? raw | (1n << 63n) : ~raw & 0xffff_ffff_ffff_ffffn;
  return `${key}${NUMBER}${ordered.toString(16).padStart(16, "0")}`;
}

function hex(number: number, digits: number): string {
  return number.toString(16).toUpperCase().padStart(digits, "0");
}

/**
 * What an index holds of an event's attributes.
 *
 * @param hasColumns whether an attribute, by its key, has columns in the log
 */
export function indexAttributes(text: string, hasColumns: (key: string) => boolean): AttributeIndex {
  const attributes = parseAttributes(text);
  const keys: string[] = [];
  const kinds: string[] = [];
  const terms: string[] = [];
  const columns = { texts: newColumns<string>(), folded: newColumns<string>(), numbers: newColumns<number>() };
  const rest: string[] = [];
  const mixed: string[] = [];
  for (const name of attributes.keys()) {
    const key = keyOf(name);
    const values = valuesOfAttribute(attributes, name);
    const numbers: number[] = [];
    const words: string[] = [];
    const texts: string[] = [];
    const hasOwn = hasColumns(key);
    keys.push(key);
    for (const value of values) {
      const text = String(value);
      const number = numberOfValue(value);
      const folded = fold(text);
      texts.push(text);
      if (number === null) words.push(folded);
      else numbers.push(number);
      // What stands there twice is found once.
      kinds.push(kindTerm(key, kindOf(text, number)));
      terms.push(textTerm(key, folded));
      if (number !== null && !hasOwn) terms.push(numberTerm(key, number));
    }
    if (!hasOwn) {
      rest.push(key);
      continue;
    }
    columns.texts[key] = texts;
    if (words.length > 0) columns.folded[key] = words;
    if (numbers.length > 0) columns.numbers[key] = numbers;
    if (words.length > 0 && numbers.length > 0) mixed.push(key);
  }
  return {
    keys,
    kinds,
    terms,
    ...columns,
    ...(rest.length > 0 && { rest }),
    ...(mixed.length > 0 && { mixed }),
  };
}

/** `__proto__` is a name like any other. */
function newColumns<T>(): Record<string, T[]> {
  return Object.create(null) as Record<string, T[]>;
}

function kindOf(text: string, number: number | null): ValueKind {
  if (number !== null) return "number";
  return text === "true" || text === "false" ? "boolean" : "text";
}
