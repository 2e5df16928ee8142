import { encodeAttributes, flatten, tooManyAttributes } from "../../events/attributes.ts";
import type { Attributes, AttributeValue } from "../../events/attributes.ts";
import type { FieldLimits } from "../../events/limits.ts";
import { quote } from "../../events/quote.ts";
import { characters, wellFormed } from "../../events/text.ts";

/** Prefix of the name of an attribute that is posted as a form field. */
export const PAIR_PREFIX = "attr.";
const EXPECTED = 'a JSON object such as {"status":500} is expected';

/** Fields of a form, by name with their first value. */
export type FormFields = Iterable<readonly [name: string, value: string]> & {
  get(name: string): string | null | undefined;
};

/** Returns the attributes of a posted object, encoded as in an event; null if there are none. */
export function readAttributes(given: unknown, limits: FieldLimits, faults: string[]): string | null {
  if (given === undefined || given === null) return null;
  if (typeof given !== "object" || Array.isArray(given)) {
    faults.push(`attributes is ${Array.isArray(given) ? "an array" : quote(JSON.stringify(given))}, ${EXPECTED}`);
    return null;
  }
  return checked(flattened(given, limits, faults), limits, faults);
}

/** Returns the attributes of a form: `attributes` holds JSON, each `attr.<name>` a text. */
export function readFormAttributes(fields: FormFields, limits: FieldLimits, faults: string[]): string | null {
  const json = fields.get("attributes")?.trim() ?? "";
  const pairs = pairsOf(fields);
  if (json === "" && pairs.size === 0) return null;
  const attributes = new Map(json === "" ? [] : attributesOfJson(json, limits, faults));
  for (const [name, value] of pairs) {
    const before = attributes.get(name);
    attributes.set(name, before === undefined ? value : [before, value].flat());
  }
  if (pairs.size > 0 && attributes.size > limits.attributes) faults.push(tooManyAttributes(limits.attributes));
  return checked(attributes, limits, faults);
}

/** Returns the fields `attr.<name>`. Of repeated ones the first counts, as for all fields. */
function pairsOf(fields: FormFields): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  for (const [field, value] of fields) {
    if (!field.startsWith(PAIR_PREFIX)) continue;
    const name = wellFormed(field.slice(PAIR_PREFIX.length));
    if (!pairs.has(name)) pairs.set(name, wellFormed(value));
  }
  return pairs;
}

function attributesOfJson(json: string, limits: FieldLimits, faults: string[]): Attributes {
  let given: unknown;
  try {
    given = JSON.parse(json);
  } catch (error) {
    faults.push(`attributes is ${quote(json)}, ${EXPECTED}: ${(error as Error).message}`);
    return new Map();
  }
  // null means absent, as in a batch.
  if (given === null) return new Map();
  if (typeof given === "object" && !Array.isArray(given)) return flattened(given, limits, faults);
  faults.push(`attributes is ${quote(json)}, ${EXPECTED}`);
  return new Map();
}

function flattened(given: object, limits: FieldLimits, faults: string[]): Attributes {
  const bounds = { names: limits.attributes, nameUnits: 2 * limits.attributeName };
  const { attributes, faults: found } = flatten(given, bounds);
  faults.push(...found);
  return attributes;
}

/** Adds a fault for each limit that is exceeded, not for each attribute: there may be hundreds. */
function checked(attributes: Attributes, limits: FieldLimits, faults: string[]): string | null {
  if (attributes.size === 0) return null;
  if (attributes.has("")) faults.push("an attribute has no name");
  let maxBytes = 0;
  let longName: string | null = null;
  let longValue: readonly [name: string, value: string] | null = null;
  for (const [name, value] of attributes) {
    maxBytes += MAX_BYTES_OF_UNIT * name.length;
    if (isLonger(name, limits.attributeName)) longName ??= name;
    for (const one of valuesOf(value)) {
      maxBytes += typeof one === "string" ? MAX_BYTES_OF_UNIT * one.length + 1 : MAX_BYTES_OF_NUMBER;
      if (typeof one === "string" && isLonger(one, limits.attributeValue)) longValue ??= [name, one];
    }
  }
  if (longName !== null) {
    faults.push(tooLong(`the name of attribute ${quote(longName)}`, longName, limits.attributeName));
  }
  if (longValue !== null) {
    const [name, value] = longValue;
    faults.push(tooLong(`attribute ${quote(name)}`, value, limits.attributeValue));
  }
  const size_bytes = maxBytes <= limits.attributesBytes ? 0 : sizeOf(attributes);
  if (size_bytes > limits.attributesBytes) {
    faults.push(`attributes have ${size_bytes} bytes in all, at most ${limits.attributesBytes} are allowed`);
  }
  return encodeAttributes(attributes);
}

function tooLong(what: string, text: string, limit: number): string {
  return `${what} has ${characters(text)} characters, at most ${limit} are allowed`;
}

function isLonger(text: string, limit: number): boolean {
  // A text has at most as many characters as UTF-16 units.
  return text.length > limit && characters(text) > limit;
}

/** Returns the size of names and values in UTF-8, in bytes. */
function sizeOf(attributes: Attributes): number {
  let size_bytes = 0;
  for (const [name, value] of attributes) {
    size_bytes += Buffer.byteLength(name);
    // An empty value in a list counts as one byte.
    const least = Array.isArray(value) ? 1 : 0;
    for (const one of valuesOf(value)) size_bytes += Math.max(least, Buffer.byteLength(String(one)));
  }
  return size_bytes;
}

function valuesOf(value: AttributeValue | readonly AttributeValue[]): readonly AttributeValue[] {
  return Array.isArray(value) ? value : [value as AttributeValue];
}

/** A character of two UTF-16 units has four bytes, all others have at most three. */
const MAX_BYTES_OF_UNIT = 3;
const MAX_BYTES_OF_NUMBER = 25;
