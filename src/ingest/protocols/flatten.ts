import type { AttributeValue } from "../../events/attributes.ts";

/** Attributes as decoders gather them. */
export type Gathered = Map<string, AttributeValue | readonly AttributeValue[]>;

/** Deeper levels stay JSON. */
const MAX_DEPTH = 16;
/** More than any event keeps: then the rest need not be looked at. */
const MAX_NAMES = 1_024;
/** An array of more values is kept as JSON. */
const MAX_VALUES = 256;

/**
 * Adds the members of an object to `into`, those of objects within it by their path with dots.
 * Unlike attributes that are posted as such, all of it has a place: what is neither a scalar nor a
 * list of scalars becomes compact JSON. Two members of one name make an attribute of both.
 */
export function flattenInto(into: Gathered, object: object, prefix = "", depth = 0): void {
  for (const key of Object.keys(object)) {
    if (into.size > MAX_NAMES) return;
    const value = (object as Readonly<Record<string, unknown>>)[key];
    const name = prefix + key;
    if (typeof value === "string" || typeof value === "boolean") add(into, name, value);
    else if (typeof value === "number") add(into, name, Number.isFinite(value) ? value : String(value));
    else if (value === null || value === undefined) continue;
    else if (Array.isArray(value)) addList(into, name, value);
    else if (depth < MAX_DEPTH) flattenInto(into, value, `${name}.`, depth + 1);
    else add(into, name, compactJson(value));
  }
}

/** Adds a value to those of an attribute. */
export function add(into: Gathered, name: string, value: AttributeValue | readonly AttributeValue[]): void {
  const before = into.get(name);
  if (before === undefined) into.set(name, value);
  else if (before !== value) into.set(name, [before, value].flat().slice(0, MAX_VALUES));
}

/** Sets an attribute, unless one of that name is there. */
export function put(into: Gathered, name: string, value: AttributeValue | readonly AttributeValue[]): void {
  if (!into.has(name)) into.set(name, value);
}

function addList(into: Gathered, name: string, list: readonly unknown[]): void {
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

/** A value as JSON. */
export function compactJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    // JSON may be nested deeper than it can be written again.
    return '"nested too deep"';
  }
}
