import { numberOfValue, parseAttributes, valuesOfAttribute } from "../../../events/attributes.ts";
import { fold } from "../../../events/text.ts";
import type { AttributeField, ComparisonOp } from "../../../query/plan.ts";

/**
 * Attributes of an event in the index. All attributes are found by terms of one field, `terms`,
 * whatever their names. Attributes with columns are sorted, grouped and aggregated by these. The
 * writer decides whether a document has the columns of an attribute, and the document records it.
 */
export type AttributeIndex = {
  /** Key of each attribute. */
  readonly keys: readonly string[];
  /** Key and kind of each value. */
  readonly kinds: readonly string[];
  /** Key and folded text of each value; also key and number if the attribute has no columns. */
  readonly terms: readonly string[];
  /** Columns by key: original texts, folded texts that are not numbers, and numbers. */
  readonly texts?: Columns<string>;
  readonly folded?: Columns<string>;
  readonly numbers?: Columns<number>;
  /** Keys of attributes without columns. */
  readonly rest?: readonly string[];
  /** Keys of attributes whose columns hold numbers and other texts, and so cannot sort them. */
  readonly mixed?: readonly string[];
};

/** Field of a document that contains the index of its attributes. */
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

/** Separators between a key, which contains neither, and a text or a number. */
const TEXT = "\0";
const NUMBER = "\u0001";
const AFTER_NUMBERS = "\u0002";

/** Encodes a name for use as a field name. Dots are encoded, since they would create objects. */
export function attributeKey(name: string): string {
  let key = keyCache.get(name);
  if (key === undefined) {
    key = encodeURIComponent(name).replace(/[.!'()*~]/g, (character) => `%${hex(character.charCodeAt(0), 2)}`);
    if (keyCache.size >= MAX_CACHED_KEYS) keyCache.clear();
    keyCache.set(name, key);
  }
  return key;
}

/** Cache of keys: events of a log repeat the same names. */
const keyCache = new Map<string, string>();
const MAX_CACHED_KEYS = 10_000;

export function attributeName(key: string): string {
  return decodeURIComponent(key);
}

export function keyOfField(field: AttributeField): string {
  return attributeKey(field.slice(1));
}

/** Returns the path of a column of an attribute. */
export function attributeColumn(kind: ColumnKind, key: string): string {
  return `${ATTRIBUTES}.${kind}.${key}`;
}

const VALUE_KINDS = ["text", "number", "boolean"] as const;
export type ValueKind = (typeof VALUE_KINDS)[number];

function kindTerm(key: string, kind: ValueKind): string {
  return `${key}${TEXT}${kind}`;
}

/** Returns all terms of `kinds` that an attribute may have. */
export function attributeKindTerms(key: string): string[] {
  return VALUE_KINDS.map((kind) => kindTerm(key, kind));
}

/** Splits a term of `kinds`. */
export function readKindTerm(term: string): { readonly key: string; readonly kind: ValueKind } {
  const [key = "", kind] = term.split(TEXT);
  return { key, kind: kind as ValueKind };
}

/** Returns the term of a text, which is also the prefix of longer texts of the attribute. */
export function textTerm(key: string, folded: string): string {
  return `${key}${TEXT}${folded}`;
}

/** Returns the range of an attribute's terms whose folded texts compare to `folded` by `op`. */
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

/** Returns the range of an attribute's numeric terms that compare to `value`, without columns. */
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
      return { gt: bound, lt: `${key}${AFTER_NUMBERS}` };
    case ">=":
      return { gte: bound, lt: `${key}${AFTER_NUMBERS}` };
  }
  throw op satisfies never;
}

const bits = new DataView(new ArrayBuffer(8));

/** Returns the term of a number. Terms sort in the order of the numbers. */
function numberTerm(key: string, number: number): string {
  // Turns -0 into 0.
  bits.setFloat64(0, number + 0);
  const raw = bits.getBigUint64(0);
  const ordered = raw >> 63n === 0n ? raw | (1n << 63n) : ~raw & 0xffff_ffff_ffff_ffffn;
  return `${key}${NUMBER}${ordered.toString(16).padStart(16, "0")}`;
}

function hex(number: number, digits: number): string {
  return number.toString(16).toUpperCase().padStart(digits, "0");
}

/**
 * Returns what the index holds of an event's attributes.
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
    const key = attributeKey(name);
    const values = valuesOfAttribute(attributes, name);
    const numbers: number[] = [];
    const words: string[] = [];
    const texts: string[] = [];
    const hasOwn = hasColumns(key);
    const ownKinds = new Set<string>();
    const ownTerms = new Set<string>();
    keys.push(key);
    for (const value of values) {
      const text = String(value);
      const number = numberOfValue(value);
      const folded = fold(text);
      texts.push(text);
      if (number === null) words.push(folded);
      else numbers.push(number);
      // Each term holds the key, so that those of a long list would fill megabytes.
      ownKinds.add(kindTerm(key, kindOf(text, number)));
      ownTerms.add(textTerm(key, folded));
      if (number !== null && !hasOwn) ownTerms.add(numberTerm(key, number));
    }
    kinds.push(...ownKinds);
    for (const term of ownTerms) terms.push(term);
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

/** Creates an object without a prototype, so that `__proto__` is a name like any other. */
function newColumns<T>(): Record<string, T[]> {
  return Object.create(null) as Record<string, T[]>;
}

function kindOf(text: string, number: number | null): ValueKind {
  if (number !== null) return "number";
  return text === "true" || text === "false" ? "boolean" : "text";
}
