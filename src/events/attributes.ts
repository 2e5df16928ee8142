import { quote } from "./quote.ts";
import { compareCodePoints, wellFormed } from "./text.ts";

/** One value of an attribute. */
export type AttributeValue = string | number | boolean;

/** Attributes by name. An array holds one value or more, none of which is an array. */
export type Attributes = ReadonlyMap<string, AttributeValue | readonly AttributeValue[]>;

/** An object made flat. */
export type Flattened = {
  readonly attributes: Attributes;
  /** Why parts of the object are no attributes, in words. */
  readonly faults: readonly string[];
};

/** Where flattening stops, so that it takes linear time: past so many names, and inside a name of so many units. */
export type FlattenBounds = { readonly names: number; readonly nameUnits: number };

type Collected = Map<string, AttributeValue | AttributeValue[]>;

/** Beyond whatever limits a service may have. */
const WIDEST: FlattenBounds = { names: 10_000, nameUnits: 2_000 };
/** A fault is reported once or twice, not for each of thousands of names. */
const MAX_FAULTS = 3;
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/;

/**
 * Makes an object of JSON flat: what lies in an object within it is named by both names with a dot between them, an
 * array of scalars is several values, null is absent. Two values of one name make an attribute of both.
 */
export function flatten(object: object, bounds: FlattenBounds = WIDEST): Flattened {
  const collected: Collected = new Map();
  const faults: string[] = [];
  // On a stack of its own: what is posted may be nested deeper than calls can be.
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
  return `there are more attributes than the ${most} that are allowed`;
}

/** An object that is looked through, and what comes before the names in it. */
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
    const why = isTooLarge
      ? `a number beyond ${Number.MAX_VALUE}`
      : "something else than strings, numbers and booleans";
    faults.push(`attribute ${quote(name)} holds ${why}`);
    return;
  }
  const clean = typeof value === "string" ? wellFormed(value) : value;
  const before = collected.get(name);
  collected.set(name, before === undefined ? clean : [before, clean].flat());
}

function collectAll(collected: Collected, name: string, given: readonly unknown[], faults: string[]): void {
  const values = given.filter((value) => value !== null);
  if (values.length === 0) return;
  if (!values.every(isScalar)) return collect(collected, name, given, faults);
  const clean = values.map((value) => (typeof value === "string" ? wellFormed(value) : value));
  collected.set(name, [collected.get(name) ?? [], clean].flat());
}

/** A number of JSON may be beyond all that JavaScript can hold. */
function isScalar(value: unknown): value is AttributeValue {
  return typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}

/** Attributes as one text of JSON, the same for the same attributes: names are in the order of their code points. */
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

/** As `JSON.stringify` has it, which takes longer for what has nothing to escape. */
function jsonOf(value: AttributeValue | readonly AttributeValue[]): string {
  if (typeof value === "string") return NOTHING_TO_ESCAPE.test(value) ? `"${value}"` : JSON.stringify(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const NOTHING_TO_ESCAPE = /^[ !#-[\]-~]*$/;

/** The attributes of such a text, in its order; none of null. */
export function parseAttributes(text: string | null): Attributes {
  if (text === null) return NO_ATTRIBUTES;
  const object = JSON.parse(text) as Record<string, AttributeValue | AttributeValue[]>;
  // An object has names that look like whole numbers first.
  return new Map(Object.entries(object).sort(([a], [b]) => compareCodePoints(a, b)));
}

/** Whether a text is attributes as {@link encodeAttributes} writes them, in whatever order. */
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

/** The values of an attribute, none where it is absent. */
export function valuesOfAttribute(attributes: Attributes, name: string): readonly AttributeValue[] {
  const value = attributes.get(name);
  if (value === undefined) return NO_VALUES;
  return Array.isArray(value) ? value : [value as AttributeValue];
}

/** The same as texts, which is how they are compared, grouped and searched. */
export function textsOfAttribute(attributes: Attributes, name: string): string[] {
  return valuesOfAttribute(attributes, name).map(String);
}

/** The number that a value is or spells, which is how it is compared with numbers and aggregated; else null. */
export function numberOfValue(value: AttributeValue): number | null {
  if (typeof value === "number") return value;
  return typeof value === "string" ? numberOf(value) : null;
}

/** The number that a text spells, as it may be posted as `value`: a decimal one, without an exponent. Else null. */
export function numberOf(text: string): number | null {
  const trimmed = text.trim();
  const number = DECIMAL.test(trimmed) ? Number(trimmed) : Number.NaN;
  return Number.isFinite(number) ? number : null;
}
