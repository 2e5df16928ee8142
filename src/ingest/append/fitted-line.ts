import { encodeAttributes } from "../../events/attributes.ts";
import type { AttributeValue } from "../../events/attributes.ts";
import { mapKeywords } from "../../events/map-keywords.ts";
import type { FieldLimits } from "../../events/limits.ts";
import { encodeFields } from "../../events/record.ts";
import { distinctTags } from "../../events/tags.ts";
import { characters, firstCharacters, wellFormed } from "../../events/text.ts";
import type { RecordLine } from "./record-lines.ts";
import { CLAIMED_CREATED } from "./created.ts";
import { CREATED_AHEAD_MS } from "../../store/expiry.ts";
import { CUT_TAG } from "../kit/cut-tag.ts";
import type { ProducerEvent } from "../kit/endpoint.ts";
import type { ProducerTime } from "../kit/time-forms.ts";
import { timeDigits } from "../kit/times.ts";

/** Attribute with the time in nanoseconds, if it is more precise than `created`. */
const NANOSECONDS = "time_ns";
/** Attributes that are not of the producer's document, and no part of a text made of it. */
const ADDED: ReadonlySet<string> = new Set([NANOSECONDS, CLAIMED_CREATED, "_index", "_id"]);

/** A character has at most two units, so a text longer than twice its limit is always cut. */
const LONG_TIMES = 3;

export type LineOptions = {
  readonly limits: FieldLimits;
  /** Latest time that the post may have been made at. */
  readonly read_ms: number;
  /** Tags of the request. */
  readonly tags: readonly string[];
};

type Values = AttributeValue | readonly AttributeValue[];

/** Line of an event, size of its fields, and whether something was cut to fit the limits. */
export type CutLine = { readonly line: RecordLine; readonly size_bytes: number; readonly cut: boolean };

/** Fits an event into the limits of its fields. Longer values are cut, never refused. */
export function fittedLine(event: ProducerEvent, { limits, read_ms, tags }: LineOptions): CutLine {
  let cut = false;
  const fit = (given: string, limit: number): string => {
    // Of a text of many megabytes, only the part that may be kept is examined.
    const text = given.length > LONG_TIMES * limit ? given.slice(0, LONG_TIMES * limit) : given;
    const clean = wellFormed(text);
    // A text has at most as many characters as UTF-16 units.
    if (clean.length <= limit || characters(clean) <= limit) return clean;
    cut = true;
    return firstCharacters(clean, limit);
  };
  const { created, extra } = createdOf(event.time, read_ms);
  const attributes = fitAttributes(event.attributes, extra, limits, fit);
  const encoded = attributes.size === 0 ? null : encodeAttributes(attributes);
  const whole = event.text.trim() === "" ? textOfAttributes(attributes) : event.text;
  const text = fit(whole, limits.text);
  // The full text is kept in the data, because lists show the cut one.
  const more = event.data === undefined || event.data === "" ? (text.length < whole.length ? whole : "") : event.data;
  const data = more === "" ? null : fit(more, limits.data);
  const keywords = mapKeywords((name) =>
    fit(name === "source" ? event.source.trim() : (event[name] ?? ""), limits[name]),
  );
  if (attributes.size < event.attributes.size + extra.length) cut = true;
  const all = tagsOf(event, tags, limits.tags, () => (cut = true));
  const fields = encodeFields({
    ...keywords,
    text,
    data,
    tags: cut ? distinctTags([...all, CUT_TAG]) : all,
    value: event.value ?? null,
    geo: event.geo,
    attributes: encoded,
  });
  // Counting bytes flattens the pieces into one string. Thousands of lines wait for an append, and
  // the garbage collector would otherwise copy each piece of each line.
  const size_bytes = Buffer.byteLength(fields);
  return { line: { fields, created: created === null ? null : String(created) }, size_bytes, cut };
}

function textOfAttributes(attributes: ReadonlyMap<string, Values>): string {
  return encodeAttributes(new Map([...attributes].filter(([name]) => !ADDED.has(name))));
}

/** Replaces an invalid time by that of the post, and keeps it as an attribute. */
function createdOf(
  time: ProducerTime | null,
  read_ms: number,
): { created: number | null; extra: readonly (readonly [string, string])[] } {
  if (time === null) return { created: null, extra: [] };
  const { ms, ns } = time;
  if (ms < 0 || ms > read_ms + CREATED_AHEAD_MS) {
    return { created: null, extra: [[CLAIMED_CREATED, new Date(ms).toISOString()]] };
  }
  return { created: ms, extra: ns === 0 ? [] : [[NANOSECONDS, timeDigits(time)]] };
}

type Fit = (text: string, limit: number) => string;

/** Returns as many attributes as there is room for, each cut to its limit. */
function fitAttributes(
  given: ProducerEvent["attributes"],
  extra: readonly (readonly [string, string])[],
  limits: FieldLimits,
  fit: Fit,
): ReadonlyMap<string, Values> {
  if (extra.length === 0 && surelyFit(given, limits)) return given;
  const fitted = new Map<string, Values>();
  let left_bytes = limits.attributesBytes;
  const add = (name: string, value: Values): void => {
    const fitName = fit(name === "" ? "_" : name, limits.attributeName);
    const one = (part: AttributeValue) => (typeof part === "string" ? fit(part, limits.attributeValue) : part);
    const fitValue = Array.isArray(value) ? value.map(one) : one(value as AttributeValue);
    const size_bytes = sizeOf(fitName, fitValue);
    if (size_bytes > left_bytes || fitted.size === limits.attributes || fitted.has(fitName)) return;
    left_bytes -= size_bytes;
    fitted.set(fitName, fitValue);
  };
  for (const [name, value] of extra) add(name, value);
  for (const [name, value] of given) add(name, value);
  return fitted;
}

/** Returns whether nothing has to be cut, by bounds that are cheap to check. */
function surelyFit(given: ProducerEvent["attributes"], limits: FieldLimits): boolean {
  if (given.size > limits.attributes) return false;
  let most_bytes = 0;
  for (const [name, value] of given) {
    if (name === "" || name.length > limits.attributeName || !name.isWellFormed()) return false;
    if (typeof value === "string") {
      if (value.length > limits.attributeValue || !value.isWellFormed()) return false;
      most_bytes += MAX_BYTES_OF_UNIT * value.length;
    } else if (typeof value === "object") return false;
    else most_bytes += MAX_BYTES_OF_NUMBER;
    most_bytes += MAX_BYTES_OF_UNIT * name.length;
  }
  return most_bytes <= limits.attributesBytes;
}

/** A character of two UTF-16 units has four bytes, all others have at most three. */
const MAX_BYTES_OF_UNIT = 3;
const MAX_BYTES_OF_NUMBER = 25;

/** Returns the size as the validation of attributes counts it, or slightly more. */
function sizeOf(name: string, value: Values): number {
  let size_bytes = Buffer.byteLength(name);
  if (!Array.isArray(value)) return size_bytes + sizeOfOne(value as AttributeValue);
  for (const one of value) size_bytes += Math.max(1, sizeOfOne(one as AttributeValue));
  return size_bytes;
}

function sizeOfOne(value: AttributeValue): number {
  return typeof value === "string" ? Buffer.byteLength(value) : String(value).length;
}

/** Returns tags without white space, as many as fit beside the one that marks cut events. */
function tagsOf(
  { severity, tags: own }: ProducerEvent,
  common: readonly string[],
  limit: number,
  onCut: () => void,
): readonly string[] {
  if (own.length === 0 && common.length === 0) return severity === null ? [] : [severity];
  const fitted: string[] = [];
  let left = limit - CUT_TAG.length - 1;
  const wanted = severity === null ? [...common, ...own] : [severity, ...common, ...own];
  for (const given of distinctTags(wanted)) {
    const tag = wellFormed(given.trim().replaceAll(/\s+/gu, "_"));
    const length = characters(tag) + 1;
    if (tag === "") continue;
    if (length > left) onCut();
    else {
      left -= length;
      fitted.push(tag);
    }
  }
  return distinctTags(fitted);
}
