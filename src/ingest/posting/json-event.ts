import { type AttributeValue, encodeAttributes } from "../../events/attributes.ts";
import { mapKeywords } from "../../events/map-keywords.ts";
import type { FieldLimits } from "../../events/limits.ts";
import { encodeFields } from "../../events/record.ts";
import { splitTags } from "../../events/tags.ts";
import { wellFormed } from "../../events/text.ts";
import { readAttributes } from "./attributes.ts";
import type { ReadItem } from "./batch-faults.ts";
import { CLAIMED_CREATED, claimedTime, readCreated } from "../append/created.ts";
import type { CreatedRange } from "../append/created.ts";
import { isKeyField } from "./key-mask.ts";
import { checkLength, readGeo, readValue } from "./validated-event.ts";

/** Names of fields that are too long to be read as a whole. */
export type CutFields = ReadonlySet<string>;
const NOTHING_CUT: CutFields = new Set();

/**
 * Validates an event that was posted as JSON.
 * @param cut fields of which `item` holds only the beginning
 */
export function readItem(
  item: unknown,
  limits: FieldLimits,
  range: CreatedRange,
  cut: CutFields = NOTHING_CUT,
): ReadItem {
  if (typeof item !== "object" || item === null || Array.isArray(item)) {
    const hint = isArrayOfObjects(item) ? "; an array of events needs the Content-Type application/json" : "";
    const posted = isWritable(item) ? JSON.stringify(item, withoutKeyFields) : "nested too deep";
    return bad([`the event is ${nameOf(item)}, a JSON object is expected${hint}`], posted);
  }
  const fields = item as Record<string, unknown>;
  const faults: string[] = [];
  const checked = (name: keyof FieldLimits, read: Reader): string => {
    const text = read(name, fields[name], faults);
    if (cut.has(name)) faults.push(`${name} is too long to be read, at most ${limits[name]} characters are allowed`);
    else checkLength(name, text, limits, faults);
    return text;
  };
  const text = checked("text", textOf);
  const keywords = mapKeywords((name) => checked(name, textOf));
  const tags = checked("tags", tagsOf);
  const amount = typeof fields["value"] === "number" ? numberOf(fields["value"], faults) : checked("value", numeralOf);
  const place = checked("geo", geoOf);
  const data = checked("data", textOf);
  if (typeof (fields["text"] ?? "") === "string" && text.trim() === "") {
    faults.push("text is missing or blank, it must say what happened");
  }
  const value = typeof amount === "string" ? readValue(amount.trim(), faults) : amount;
  const geo = readGeo(place.trim(), faults);
  const claimed = claimedTime(fields["created"], range);
  const created = claimed === null ? readCreated(fields["created"], range, faults) : null;
  const attributes = readAttributes(fields["attributes"], limits, faults);
  if (cut.has("attributes")) faults.push("attributes are too many or too long to be read");
  if (faults.length > 0) return bad(faults, describe(fields));
  const valid = { ...keywords, text, tags: splitTags(tags), value, geo, data: data === "" ? null : data };
  return {
    line: {
      fields: encodeFields({ ...valid, attributes: withClaim(attributes, claimed) }),
      created: created === null ? null : String(created),
    },
    fault: null,
  };
}

/** Adds the claimed time to encoded attributes, beyond their limits: nothing of the event is lost. */
function withClaim(attributes: string | null, claimed: string | null): string | null {
  if (claimed === null) return attributes;
  const given = JSON.parse(attributes ?? "{}") as Record<string, AttributeValue | readonly AttributeValue[]>;
  return encodeAttributes(new Map(Object.entries(given)).set(CLAIMED_CREATED, claimed));
}

function isArrayOfObjects(value: unknown): boolean {
  return Array.isArray(value) && typeof value[0] === "object" && value[0] !== null;
}

/** Reads a field as the text that a form would hold; "" if it is absent or invalid. */
type Reader = (name: string, value: unknown, faults: string[]) => string;

export function bad(faults: readonly string[], posted: string): ReadItem {
  return { line: null, fault: faults.join("; "), posted };
}

/** Returns an event as posted, as JSON, without key fields. */
function describe(fields: Record<string, unknown>): string {
  try {
    return JSON.stringify(fields, withoutKeyFields);
  } catch {
    // `JSON.parse` accepts values that are nested too deep for `JSON.stringify`.
    const shown = Object.entries(fields).map(([name, value]) => [name, isWritable(value) ? value : "nested too deep"]);
    return JSON.stringify(Object.fromEntries(shown), withoutKeyFields);
  }
}

function withoutKeyFields(name: string, value: unknown): unknown {
  return isKeyField(name) ? undefined : value;
}

/** Returns whether a value can be written as JSON, also as a field. */
export function isWritable(value: unknown): boolean {
  try {
    JSON.stringify({ value }, withoutKeyFields);
    return true;
  } catch {
    return false;
  }
}

function textOf(name: string, value: unknown, faults: string[]): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return wellFormed(value);
  faults.push(`${name} is ${nameOf(value)}, a string is expected`);
  return "";
}

/** Returns tags as a form holds them: separated by blanks. */
function tagsOf(name: string, value: unknown, faults: string[]): string {
  if (!Array.isArray(value)) return textOf(name, value, faults);
  if (value.every((tag) => typeof tag === "string")) return wellFormed(value.join(" "));
  faults.push("tags holds values other than strings, a string or an array of strings is expected");
  return "";
}

function numberOf(value: number, faults: string[]): number {
  if (!Number.isFinite(value)) faults.push(`value is too large, ${NUMBER_EXPECTED}`);
  return value;
}

function numeralOf(name: string, value: unknown, faults: string[]): string {
  if (value === undefined || value === null || typeof value === "string") return textOf(name, value, faults);
  faults.push(`value is ${nameOf(value)}, ${NUMBER_EXPECTED}`);
  return "";
}

const NUMBER_EXPECTED = 'a number or a string such as "12.5" is expected';

function geoOf(name: string, value: unknown, faults: string[]): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return textOf(name, value, faults);
  const { lat, lon, ip } = value as Record<string, unknown>;
  if (typeof ip === "string") return wellFormed(`ip:${ip}`);
  if (typeof lat === "number" && typeof lon === "number") return `${decimal(lat)},${decimal(lon)}`;
  faults.push(
    'geo is an object without the numbers lat and lon, one such as {"lat":40.1203,"lon":-76.2944} is expected',
  );
  return "";
}

/** Formats degrees with at most ten decimals, so that two coordinates fit the limit of `geo`. */
function decimal(degrees: number): string {
  const rounded = Math.round(degrees * 1e10) / 1e10;
  // `String` writes values below 1e-6 with an exponent, which the text form does not allow.
  return Math.abs(rounded) < 1e-6
    ? rounded
        .toFixed(10)
        .replace(/(?<!0)0+$/, "")
        .replace(/\.$/, "")
    : String(rounded);
}

/** Describes a JSON value in words, or quotes it. */
function nameOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : shortened(JSON.stringify(value));
}

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
