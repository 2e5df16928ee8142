import { LoggiaError } from "../../errors.ts";
import type { FieldLimits } from "../../events/limits.ts";
import { LineScanner } from "../../events/line-scanner.ts";
import type { LineFields } from "../../events/line-fields.ts";
import { encodeFields } from "../../events/record.ts";
import { distinctTags, NO_TAGS } from "../../events/tags.ts";
import { wellFormed } from "../../events/text.ts";
import { createSerialQueue } from "../../scheduling/serial-queue.ts";
import { readCreated } from "./created.ts";
import type { CreatedRange } from "./created.ts";
import { readAttributes } from "./attributes.ts";
import { withErrorEvents } from "./batch-faults.ts";
import type { Batch, ReadItem } from "./batch-faults.ts";
import { checkLength, readGeo, readValue, splitTags } from "./validated-event.ts";

/** Form of events in JSON: one object per line, one array of objects, or one object. */
export type BatchForm = "lines" | "array" | "object";

export const BATCH_MAX_EVENTS = 5_000;
export const BATCH_MAX_BYTES = 5_000_000;

/** Events read before the event loop gets a turn: about a millisecond's work. */
const STEP_EVENTS = 250;
const BYTE_ORDER_MARK = Buffer.from("\uFEFF");
/** Limit of events in a compressed batch: this many, and one more for each byte sent. */
const FREE_EVENTS = 100;

/** Batches up to this size are read at once, without waiting for larger ones. */
const SMALL_BYTES = 64 * 1024;
const inTurn = createSerialQueue();

/** Body of a batch. `sent_bytes` is its size as sent, before decompression. */
export type BatchBody = { readonly body: Buffer; readonly sent_bytes: number };

/**
 * Reads the body of a batch. Larger batches are read one after the other, in steps that let posts
 * pass. An invalid event, or a line that is not a JSON object, becomes an error event.
 *
 * @throws LoggiaError `bad_body` if an array is not JSON, or there is no event; `body_too_large` if
 * there are too many events
 */
export async function readBatch(
  form: BatchForm,
  given: BatchBody,
  limits: FieldLimits,
  range: CreatedRange,
): Promise<Batch> {
  const reading = (): Promise<Batch> => read(form, given, limits, range);
  return given.body.length <= SMALL_BYTES ? await reading() : await inTurn(reading);
}

async function read(form: BatchForm, given: BatchBody, limits: FieldLimits, range: CreatedRange): Promise<Batch> {
  const { body } = given;
  const start = body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  const text = body.subarray(start);
  if (form === "object") return withErrorEvents([parseOne(text.toString("utf8"), limits, range)]);
  const most = mostEvents(given);
  const items = await (form === "array" ? readArray : readLines)(text, most, limits, range);
  if (items.length === 0) throw new LoggiaError("bad_body", "The batch must hold at least one event");
  return withErrorEvents(items);
}

/** Returns the event limit. Many events from few bytes cost the log far more than the sender. */
function mostEvents({ body, sent_bytes }: BatchBody): number {
  return sent_bytes < body.length ? Math.min(BATCH_MAX_EVENTS, FREE_EVENTS + sent_bytes) : BATCH_MAX_EVENTS;
}

async function readArray(
  body: Buffer,
  most: number,
  limits: FieldLimits,
  range: CreatedRange,
): Promise<readonly ReadItem[]> {
  const posted = parseArray(body.toString("utf8"));
  if (posted.length > most) throw tooMany(posted.length, most);
  const items: ReadItem[] = [];
  for (const one of posted) {
    if (items.length > 0 && items.length % STEP_EVENTS === 0) await new Promise(setImmediate);
    items.push(readItem(one, limits, range));
  }
  return items;
}

/** Reads one event per line. Blank lines are skipped. */
async function readLines(
  body: Buffer,
  most: number,
  limits: FieldLimits,
  range: CreatedRange,
): Promise<readonly ReadItem[]> {
  const items: ReadItem[] = [];
  const scanner = new LineScanner(body);
  for (let line = 1; scanner.hasNext; line++) {
    if (line % STEP_EVENTS === 0) await new Promise(setImmediate);
    const item = readLine(scanner, limits, range);
    if (item === null) continue;
    if (items.length === most) throw tooMany(nonBlankLines(body.toString("utf8")), most);
    items.push(item);
  }
  return items;
}

function nonBlankLines(text: string): number {
  return text.split("\n").filter((line) => line.trim() !== "").length;
}

function tooMany(count: number, most: number): LoggiaError {
  const why = most === BATCH_MAX_EVENTS ? "" : ` (${FREE_EVENTS}, and one for each compressed byte sent)`;
  return new LoggiaError("body_too_large", `The batch may hold at most ${most} events${why}; it holds ${count}`);
}

function parseArray(text: string): readonly unknown[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new LoggiaError("bad_body", `The body must be JSON: ${(error as Error).message}`, { cause: error });
  }
  if (Array.isArray(value)) return value;
  throw new LoggiaError(
    "bad_body",
    "The body must be a JSON array of events; one event per line needs the Content-Type application/x-ndjson",
  );
}

/** Reads a body that is one event. */
function parseOne(text: string, limits: FieldLimits, range: CreatedRange): ReadItem {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const hint = text.trim().includes("\n") ? "; one event per line needs the Content-Type application/x-ndjson" : "";
    return bad([`the body is not valid JSON: ${(error as Error).message}${hint}`], text);
  }
  return readItem(value, limits, range);
}

/** Reads the next line; null if it is blank. */
function readLine(scanner: LineScanner, limits: FieldLimits, range: CreatedRange): ReadItem | null {
  if (scanner.next()) {
    const item = readPlain(scanner, limits, range) ?? readItem(itemOf(scanner.fields), limits, range);
    if (item.fault === null) return item;
  }
  // Faults come from parsing the whole line: all of them, in the order of the fields.
  const { text } = scanner;
  return text.trim() === "" ? null : parseLine(text, limits, range);
}

/** Returns the fields as `JSON.parse` would. */
function itemOf(fields: LineFields): Record<string, unknown> {
  const { attributes } = fields;
  return typeof attributes === "string" ? { ...fields, attributes: parsed(attributes) } : fields;
}

/** Parses JSON. Invalid JSON stays text: its fault is found when the whole line is parsed. */
function parsed(json: string | null): unknown {
  if (json === null) return null;
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

/**
 * Reads an event whose bytes go to the bus as posted, except for its attributes. Returns null if a
 * field needs another encoding or may be invalid.
 */
function readPlain(line: LineScanner, limits: FieldLimits, range: CreatedRange): ReadItem | null {
  const { id, created, text, link, tags, source, user, data } = line.fields;
  if (!line.isPlain || id !== undefined || data === "" || typeof text !== "string" || text.trim() === "") return null;
  if (!fits(text, limits.text) || !fits(link, limits.link) || !fits(source, limits.source)) return null;
  if (!fits(user, limits.user) || !fits(data, limits.data) || !areTags(tags, limits.tags)) return null;
  const faults: string[] = [];
  const moment = readCreated(created, range, faults);
  const fields = line.fields.attributes === undefined ? line.withoutCreated : plainFields(line, limits, faults);
  return faults.length > 0 ? null : { line: { fields, created: moment === null ? null : String(moment) }, fault: null };
}

/** Returns the fields of a plain line: its bytes as posted, unless attributes need re-encoding. */
function plainFields(line: LineScanner, limits: FieldLimits, faults: string[]): string {
  const { text, link, tags, source, user, value, data, attributes = null } = line.fields;
  const encoded = readAttributes(parsed(attributes), limits, faults);
  if (encoded === attributes) return line.withoutCreated;
  return encodeFields({
    text: text as string,
    link: link ?? "",
    tags: (tags as readonly string[] | undefined) ?? NO_TAGS,
    source: source ?? "",
    user: user ?? "",
    value: (value as number | undefined) ?? null,
    geo: null,
    data: data ?? null,
    attributes: encoded,
  });
}

/** Compares UTF-16 units, of which a text has at least as many as characters. */
function fits(text: string | null | undefined, limit: number): boolean {
  return text === undefined || (text !== null && text.length <= limit);
}

/**
 * Returns whether the tags equal the result of {@link splitTags}. They are ASCII without escapes,
 * so a blank is the only white space they can contain.
 */
function areTags(tags: LineFields["tags"], limit: number): boolean {
  if (tags === undefined) return true;
  if (tags === null || typeof tags === "string" || distinctTags(tags) !== tags) return false;
  let length = tags.length - 1;
  for (const tag of tags) {
    if (tag === "" || tag.includes(" ")) return false;
    length += tag.length;
  }
  return length <= limit;
}

function parseLine(line: string, limits: FieldLimits, range: CreatedRange): ReadItem {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return bad([`the line is not valid JSON: ${(error as Error).message}`], line);
  }
  return readItem(value, limits, range);
}

function readItem(item: unknown, limits: FieldLimits, range: CreatedRange): ReadItem {
  if (typeof item !== "object" || item === null || Array.isArray(item)) {
    const hint = isArrayOfObjects(item) ? "; an array of events needs the Content-Type application/json" : "";
    const posted = isWritable(item) ? JSON.stringify(item) : "nested too deep";
    return bad([`the event is ${nameOf(item)}, a JSON object is expected${hint}`], posted);
  }
  const fields = item as Record<string, unknown>;
  const faults: string[] = [];
  const checked = (name: keyof FieldLimits, read: Reader): string => {
    const text = read(name, fields[name], faults);
    checkLength(name, text, limits, faults);
    return text;
  };
  const text = checked("text", textOf);
  const link = checked("link", textOf);
  const source = checked("source", textOf);
  const user = checked("user", textOf);
  const tags = checked("tags", tagsOf);
  const amount = typeof fields["value"] === "number" ? numberOf(fields["value"], faults) : checked("value", numeralOf);
  const place = checked("geo", geoOf);
  const data = checked("data", textOf);
  if (typeof (fields["text"] ?? "") === "string" && text.trim() === "") {
    faults.push("text is missing or blank, it must say what happened");
  }
  const value = typeof amount === "string" ? readValue(amount.trim(), faults) : amount;
  const geo = readGeo(place.trim(), faults);
  const created = readCreated(fields["created"], range, faults);
  const attributes = readAttributes(fields["attributes"], limits, faults);
  if (faults.length > 0) return bad(faults, describe(fields));
  const valid = { text, link, tags: splitTags(tags), source, user, value, geo, data: data === "" ? null : data };
  return {
    line: { fields: encodeFields({ ...valid, attributes }), created: created === null ? null : String(created) },
    fault: null,
  };
}

function isArrayOfObjects(value: unknown): boolean {
  return Array.isArray(value) && typeof value[0] === "object" && value[0] !== null;
}

/** Reads a field as the text that a form would hold; "" if it is absent or invalid. */
type Reader = (name: string, value: unknown, faults: string[]) => string;

function bad(faults: readonly string[], posted: string): ReadItem {
  return { line: null, fault: faults.join("; "), posted };
}

/** Returns an event as posted, as JSON, without its API key. */
function describe(fields: Record<string, unknown>): string {
  const posted = Object.hasOwn(fields, "apikey") ? { ...fields, apikey: undefined } : fields;
  try {
    return JSON.stringify(posted);
  } catch {
    // `JSON.parse` accepts values that are nested too deep for `JSON.stringify`.
    const shown = Object.entries(posted).map(([name, value]) => [name, isWritable(value) ? value : "nested too deep"]);
    return JSON.stringify(Object.fromEntries(shown));
  }
}

function isWritable(value: unknown): boolean {
  try {
    JSON.stringify(value);
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
