import { isIPv4 } from "node:net";

import { parseNumber } from "../../events/attributes.ts";
import { ABSENT_FIELDS } from "../../events/absent-fields.ts";
import type { Geo, PostedEvent } from "../../events/event.ts";
import { mapKeywords } from "../../events/map-keywords.ts";
import type { FieldLimits } from "../../events/limits.ts";
import { BOUNDED_FIELDS } from "../../events/schema.ts";
import type { BoundedField } from "../../events/schema.ts";
import { splitTags } from "../../events/tags.ts";
import { characters, isWithinPair, wellFormed } from "../../events/text.ts";
import { PAIR_PREFIX, readFormAttributes } from "./attributes.ts";
import type { FormFields } from "./attributes.ts";
import { readFormCreated } from "../append/created.ts";
import type { CreatedRange } from "../append/created.ts";
import { quote } from "../../events/quote.ts";
import { isKeyField } from "./key-mask.ts";
import type { KeyMask } from "./key-mask.ts";

export type EventValidation =
  /** `created` is in milliseconds since the Unix epoch; null: the moment of acceptance. */
  | { readonly kind: "valid"; readonly valid: PostedEvent; readonly created: number | null }
  | { readonly kind: "bad"; readonly faults: readonly string[] };

/** Fields of a post by name, each with its first value. */
export type PostedFields = { get(name: string): string | null | undefined };

/** Names of form fields; other text, such as JSON, has other characters where a name would be. */
const FIELD_NAME = /^[\w.@ -]*$/;
/** Fields of an event that producers post, in a form or as JSON. */
export const POSTED_FIELDS = [...BOUNDED_FIELDS, "created", "attributes"] as const;

/**
 * Validates a posted form. Every fault is reported, not only the first.
 * @param createdRangeOf called only if the form has a creation time
 */
export function validateEvent(
  fields: FormFields,
  limits: FieldLimits,
  createdRangeOf: () => CreatedRange,
): EventValidation {
  const faults: string[] = [];
  const given = (name: BoundedField): string => readField(fields, name, limits, faults);
  const text = given("text");
  const keywords = mapKeywords(given);
  const tags = given("tags");
  const written = given("value");
  const place = given("geo");
  const data = given("data");
  if (text.trim() === "") faults.push("text is missing or blank, it must say what happened");
  const value = readValue(written.trim(), faults);
  const geo = readGeo(place.trim(), faults);
  const moment = fields.get("created") ?? "";
  const created = moment === "" ? null : readFormCreated(moment, createdRangeOf(), faults);
  const attributes = readFormAttributes(fields, limits, faults);
  if (faults.length > 0) return { kind: "bad", faults };
  const valid = { ...keywords, text, tags: splitTags(tags), value, geo, data: data === "" ? null : data };
  return { kind: "valid", valid: { ...valid, attributes }, created };
}

/** Returns whether a form has an event field. A body without any is probably not a form. */
export function hasEventField(form: URLSearchParams): boolean {
  return POSTED_FIELDS.some((name) => form.has(name)) || [...form.keys()].some((name) => name.startsWith(PAIR_PREFIX));
}

/** Returns the text of a field, "" if it is absent. Adds a fault if it is too long. */
export function readField(
  fields: PostedFields,
  name: keyof FieldLimits,
  limits: FieldLimits,
  faults: string[],
): string {
  const value = wellFormed(fields.get(name) ?? "");
  checkLength(name, value, limits, faults);
  return value;
}

export function checkLength(name: keyof FieldLimits, value: string, limits: FieldLimits, faults: string[]): void {
  // A text has at most as many characters as UTF-16 units.
  if (value.length <= limits[name]) return;
  const length = characters(value);
  if (length > limits[name]) faults.push(`${name} has ${length} characters, at most ${limits[name]} are allowed`);
}

/**
 * Returns the event that a log gets in place of an invalid event or user.
 * @param posted everything that was posted, so that none of it is lost: see {@link describeForm}
 */
export function errorEvent(what: "event" | "user", faults: readonly string[], posted: string): PostedEvent {
  return {
    ...ABSENT_FIELDS,
    text: `Bad ${what}: ${faults.join("; ")}`,
    tags: ["error", `bad-${what}`],
    source: "event-log",
    data: storable(posted),
  };
}

/** Size of what was posted, as JSON, with which an error event fits one record of the bus. */
const POSTED_MAX_BYTES = 900_000;
/** Most bytes of a UTF-16 unit in JSON. */
const UNIT_MAX_BYTES = 6;

/** Returns what was posted, or of a text beyond all limits its beginning. */
function storable(posted: string): string {
  if (posted.length * UNIT_MAX_BYTES <= POSTED_MAX_BYTES) return posted;
  const end = endWithin(posted, POSTED_MAX_BYTES);
  return end === posted.length ? posted : wellFormed(`${posted.slice(0, end)}…`);
}

/** Units of a text that are counted at once. */
const COUNTED_UNITS = 16_384;

/** Returns the length of the longest beginning of a text that takes at most so many bytes in JSON. */
function endWithin(text: string, most_bytes: number): number {
  let left_bytes = most_bytes;
  // Pieces are halved where one is too large, which counts the units of the last one alone.
  let units = COUNTED_UNITS;
  for (let start = 0; start < text.length;) {
    const end = Math.min(start + units, text.length);
    const piece = text.slice(start, isWithinPair(text, end) ? end + 1 : end);
    const size_bytes = sizeInJson_bytes(piece);
    if (size_bytes <= left_bytes) {
      left_bytes -= size_bytes;
      start += piece.length;
    } else if (units === 1) return start;
    else units /= 2;
  }
  return text.length;
}

function sizeInJson_bytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

/** Returns a posted form as JSON of any length. Take its keys away first: {@link withoutKeys}. */
export function describeForm(posted: Iterable<readonly [string, string]>): string {
  const values = Map.groupBy(posted, ([name]) => wellFormed(name));
  const fields = [...values].map(([name, pairs]) => {
    const [first, ...repeated] = pairs.map(([, value]) => wellFormed(value));
    return [name, repeated.length === 0 ? first : [first, ...repeated]];
  });
  return JSON.stringify(Object.fromEntries(fields));
}

/** Returns a posted form without its key fields, and with the key of the request masked elsewhere. */
export function withoutKeys(posted: Iterable<readonly [string, string]>, mask: KeyMask): URLSearchParams {
  const fields = [...posted].filter(([name]) => !isKeyField(name));
  const isForm = fields.every(([name]) => FIELD_NAME.test(name));
  const hide = (text: string): string => (isForm ? mask.hide(text) : mask.hideUnparsed(text));
  return new URLSearchParams(fields.map(([name, value]) => [hide(name), hide(value)]));
}

export function readValue(text: string, faults: string[]): number | null {
  if (text === "") return null;
  const value = parseNumber(text);
  if (value !== null) return value;
  faults.push(`value is ${quote(text)}, a decimal number such as 12.5 is expected`);
  return null;
}

export function readGeo(text: string, faults: string[]): Geo | null {
  if (text === "") return null;
  const expected = "<latitude>,<longitude> such as 40.1203,-76.2944, or ip:<address>, is expected";
  if (/^ip:/i.test(text)) {
    const ip = text.slice(3).trim();
    if (isAddress(ip)) return { ip };
    faults.push(`geo is ${quote(text)}, ${expected}`);
    return null;
  }
  const [lat = "", lon = "", ...more] = text.split(",").map((part) => part.trim());
  const geo = { lat: parseNumber(lat), lon: parseNumber(lon) };
  if (more.length > 0 || geo.lat === null || geo.lon === null) {
    faults.push(`geo is ${quote(text)}, ${expected}`);
    return null;
  }
  if (Math.abs(geo.lat) <= 90 && Math.abs(geo.lon) <= 180) return { lat: geo.lat, lon: geo.lon };
  faults.push(`geo is ${quote(text)}, the latitude must lie in -90 to 90 and the longitude in -180 to 180`);
  return null;
}

function isAddress(text: string): boolean {
  if (isIPv4(text)) return true;
  // The WHATWG URL parser is the platform's own check of an IPv6 address.
  return /^[0-9a-f:.]+$/i.test(text) && text.includes(":") && URL.canParse(`http://[${text}]/`);
}
