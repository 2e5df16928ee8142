import type { AttributeValue } from "../../events/attributes.ts";

/** Attributes collected by decoders. */
export type MutableAttributes = Map<string, AttributeValue | readonly AttributeValue[]>;

/** Deeper levels are kept as JSON. */
const MAX_DEPTH = 16;
/** Maximum number of attributes collected: more than any event keeps. */
const MAX_NAMES = 1_024;
/** Longer arrays are kept as JSON. */
const MAX_VALUES = 256;
/** Objects below longer names are kept as JSON, as each of their members would repeat the name. */
const MAX_NAME_UNITS = 2_048;

/**
 * Adds the members of an object to `into`, nested ones under their dotted path. Unlike for
 * attributes that are posted as such, nothing is refused: values that are neither scalars nor lists
 * of scalars become compact JSON. Members with the same name become one attribute with both values.
 */
export function flattenInto(into: MutableAttributes, object: object, prefix = "", depth = 0): void {
  for (const key of Object.keys(object)) {
    if (into.size > MAX_NAMES) return;
    const value = (object as Readonly<Record<string, unknown>>)[key];
    const name = prefix + key;
    if (typeof value === "string" || typeof value === "boolean") add(into, name, value);
    else if (typeof value === "number") add(into, name, Number.isFinite(value) ? value : String(value));
    else if (value === null || value === undefined) continue;
    else if (Array.isArray(value)) addList(into, name, value);
    else if (depth < MAX_DEPTH && name.length <= MAX_NAME_UNITS) flattenInto(into, value, `${name}.`, depth + 1);
    else add(into, name, compactJson(value));
  }
}

/** Adds a value to the values of an attribute, unless there are more than any event keeps. */
export function add(into: MutableAttributes, name: string, value: AttributeValue | readonly AttributeValue[]): void {
  const before = into.get(name);
  if (before === undefined) {
    if (into.size <= MAX_NAMES) into.set(name, value);
  } else if (before !== value && !(Array.isArray(before) && before.length >= MAX_VALUES)) {
    into.set(name, [before, value].flat().slice(0, MAX_VALUES));
  }
}

/** Sets an attribute, unless it exists. */
export function put(into: MutableAttributes, name: string, value: AttributeValue | readonly AttributeValue[]): void {
  if (!into.has(name)) into.set(name, value);
}

function addList(into: MutableAttributes, name: string, list: readonly unknown[]): void {
  if (list.length > MAX_VALUES) return add(into, name, compactJson(list));
  const values: AttributeValue[] = [];
  for (const value of list) {
    if (value === null || value === undefined) continue;
    if (typeof value === "object") values.push(compactJson(value));
    else if (typeof value === "number" && !Number.isFinite(value)) values.push(String(value));
    else values.push(value as AttributeValue);
  }
  if (values.length > 0) add(into, name, values);
}

/** Returns a value as JSON. */
export function compactJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    // JSON may be nested too deep to be serialized again.
    return '"nested too deep"';
  }
}
