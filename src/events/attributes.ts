import { quote } from "./quote.ts";
import { compareCodePoints, wellFormed } from "./text.ts";

/** One value of an attribute. */
export type AttributeValue = string | number | boolean;

/** Attributes by name. An array holds one value or more, none of which is an array. */
export type Attributes = ReadonlyMap<string, AttributeValue | readonly AttributeValue[]>;

/** The result of flattening an object. */
export type Flattened = {
  readonly attributes: Attributes;
  /** Why parts of the object cannot be attributes, in words. */
  readonly faults: readonly string[];
};

/**
 * Number of names, and length of a name in UTF-16 units, at which flattening stops, so that it
 * takes linear time.
 */
export type FlattenBounds = { readonly names: number; readonly nameUnits: number };

type Collected = Map<string, AttributeValue | AttributeValue[]>;

/** Default bounds, above any limits that a service may have. */
const WIDEST: FlattenBounds = { names: 10_000, nameUnits: 2_000 };
/** Maximum number of faults reported for one object. */
const MAX_FAULTS = 3;
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/;

/**
 * Flattens a JSON object: nested names are joined by dots, an array of scalars becomes several
 * values, and null is absent. Values of equal names are combined into one attribute.
 */
export function flatten(object: object, bounds: FlattenBounds = WIDEST): Flattened {
  const collected: Collected = new Map();
  const faults: string[] = [];
  // An explicit stack, because input may be nested deeper than the call stack allows.
  const levels: Level[] = [];
  let level: Level | undefined = levelOf("", object);
  while (level !== undefined && collected.size <= bounds.names && faults.length < MAX_FAULTS) {
    const key: string | undefined = level.keys[level.next++];
    if (key === undefined) {
      level = levels.pop();
      continue;
    }
    const value = level.object[key];
    if (value === null || value === undefined) continue;
    const name: string = level.prefix + wellFormed(key);
    if (typeof value !== "object") collect(collected, name, value, faults);
    else if (Array.isArray(value)) collectAll(collected, name, value, faults);
    else if (name.length <= bounds.nameUnits) {
      levels.push(level);
      level = levelOf(`${name}.`, value);
    } else faults.push(`the name of attribute ${quote(name)} is too long`);
  }
  if (collected.size > bounds.names) faults.push(tooManyAttributes(bounds.names));
  return { attributes: collected, faults };
}

export function tooManyAttributes(most: number): string {
  return `there are more attributes than the ${most} allowed`;
}

/** An object being traversed, and the prefix of its names. */
type Level = {
  readonly prefix: string;
  readonly object: Readonly<Record<string, unknown>>;
  readonly keys: readonly string[];
  next: number;
};

function levelOf(prefix: string, object: object): Level {
  return { prefix, object: object as Level["object"], keys: Object.keys(object), next: 0 };
}

function collect(collected: Collected, name: string, value: unknown, faults: string[]): void {
  if (!isScalar(value)) {
    const isTooLarge = [value].flat().some((one) => typeof one === "number" && !Number.isFinite(one));
    const why = isTooLarge ? `a number beyond ${Number.MAX_VALUE}` : "values other than strings, numbers and booleans";
    faults.push(`attribute ${quote(name)} holds ${why}`);
    return;
  }
  const clean = cleanValue(value);
  const present = collected.get(name);
  if (present === undefined) collected.set(name, clean);
  else if (Array.isArray(present)) present.push(clean);
  else collected.set(name, [present, clean]);
}

function collectAll(collected: Collected, name: string, given: readonly unknown[], faults: string[]): void {
  const values = given.filter((value) => value !== null);
  if (values.length === 0) return;
  if (!values.every(isScalar)) return collect(collected, name, given, faults);
  if (collected.has(name)) for (const value of values) collect(collected, name, value, faults);
  else collected.set(name, values.map(cleanValue));
}

function cleanValue(value: AttributeValue): AttributeValue {
  return typeof value === "string" ? wellFormed(value) : value;
}

/** Excludes numbers that JSON can express but JavaScript cannot. */
function isScalar(value: unknown): value is AttributeValue {
  return typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}

/**
 * Encodes attributes as JSON, with names in code point order, so that equal ones have equal texts.
 */
export function encodeAttributes(attributes: Attributes): string {
  const names = [...attributes.keys()];
  if (!areInOrder(names)) names.sort(compareCodePoints);
  let text = "";
  for (const name of names) text += `${text === "" ? "{" : ","}${jsonOf(name)}:${jsonOf(attributes.get(name)!)}`;
  return text === "" ? "{}" : `${text}}`;
}

function areInOrder(names: readonly string[]): boolean {
  for (let i = 1; i < names.length; i++) if (compareCodePoints(names[i - 1]!, names[i]!) > 0) return false;
  return true;
}

/** Equals `JSON.stringify`, but is faster for strings without escapes. */
function jsonOf(value: AttributeValue | readonly AttributeValue[]): string {
  if (typeof value === "string") return NOTHING_TO_ESCAPE.test(value) ? `"${value}"` : JSON.stringify(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const NOTHING_TO_ESCAPE = /^[ !#-[\]-~]*$/;

/** Parses a text of {@link encodeAttributes}, in its order. null gives no attributes. */
export function parseAttributes(text: string | null): Attributes {
  // An object lists integer-like names first.
  return new Map([...unsortedAttributes(text)].sort(([a], [b]) => compareCodePoints(a, b)));
}

/** Parses a text of {@link encodeAttributes}, for look-ups by name. */
export function unsortedAttributes(text: string | null): Attributes {
  if (text === null) return NO_ATTRIBUTES;
  return new Map(Object.entries(JSON.parse(text) as Record<string, AttributeValue | AttributeValue[]>));
}

/** Whether a text of {@link encodeAttributes} certainly lacks an attribute. It need not be parsed then. */
export function lacksAttribute(text: string, name: string): boolean {
  // Another encoder may escape characters of a name that need no escape.
  return !text.includes(JSON.stringify(name)) && !text.includes("\\");
}

/** Whether a text is valid as output of {@link encodeAttributes}, with names in any order. */
export function areAttributes(text: string): boolean {
  let object: unknown;
  try {
    object = JSON.parse(text);
  } catch {
    return false;
  }
  if (typeof object !== "object" || object === null || Array.isArray(object)) return false;
  const names = Object.keys(object);
  return (
    names.length > 0 && names.every((name) => name.isWellFormed() && isValue((object as Record<string, unknown>)[name]))
  );
}

function isValue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every(isStorable);
  return isStorable(value);
}

function isStorable(value: unknown): boolean {
  return isScalar(value) && (typeof value !== "string" || value.isWellFormed());
}

const NO_ATTRIBUTES: Attributes = new Map();
const NO_VALUES: readonly AttributeValue[] = Object.freeze([]);

/** Returns the values of an attribute, none if it is absent. */
export function valuesOfAttribute(attributes: Attributes, name: string): readonly AttributeValue[] {
  const value = attributes.get(name);
  if (value === undefined) return NO_VALUES;
  return Array.isArray(value) ? value : [value as AttributeValue];
}

/** Returns the values of an attribute as texts, as they are compared, grouped and searched. */
export function textsOfAttribute(attributes: Attributes, name: string): string[] {
  return valuesOfAttribute(attributes, name).map(String);
}

/** Returns a value as a number, for comparisons and aggregates, or null if it is none. */
export function numberOfValue(value: AttributeValue): number | null {
  if (typeof value === "number") return value;
  return typeof value === "string" ? parseNumber(value) : null;
}

/** Parses a number in the format of `value`: decimal, without exponent. Returns null otherwise. */
export function parseNumber(text: string): number | null {
  const trimmed = text.trim();
  const number = DECIMAL.test(trimmed) ? Number(trimmed) : Number.NaN;
  return Number.isFinite(number) ? number : null;
}
