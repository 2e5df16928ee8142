import { LoggiaError } from "../errors.ts";
import type { FieldLimits } from "../events/limits.ts";
import { encodeFields } from "../events/record.ts";
import { wellFormed } from "../events/text.ts";
import { createTurns } from "../http/turns.ts";
import { readCreated } from "./created.ts";
import type { Keeps } from "./created.ts";
import { checkLength, errorDraft, readGeo, readValue, splitTags } from "./draft.ts";
import type { Line } from "./gatherer.ts";

/** How the events of a batch are written: an object of JSON a line, or one array of objects. */
export type BatchForm = "lines" | "array";

/** One event of a batch, checked: what becomes of it, and what was wrong with it. */
export type BatchItem = {
  /** Of the event, or of the error event in its place. */
  readonly line: Line;
  /** Null where nothing was wrong. */
  readonly fault: string | null;
};

export const BATCH_MAX_EVENTS = 5_000;
export const BATCH_MAX_BYTES = 5_000_000;

/** So many events are read before others have their turn: about a millisecond's work. */
const STEP_EVENTS = 250;
/** How much of a bad event its error event holds: one that says more than any limit allows still has to fit a record of the bus. */
const POSTED_MAX_UNITS = 100_000;

/** Batches up to this size are read at once, whatever others are waiting. */
const SMALL_BYTES = 64 * 1024;
const inTurn = createTurns();

/**
 * Reads the body of a batch, one batch after the other: posts pass between their steps. An event with bad information becomes an error event, as does a line that is no JSON object.
 *
 * @throws LoggiaError `bad_body` where an array is no JSON, or there is no event; `body_too_large` where there are too many
 */
export async function readBatch(
  form: BatchForm,
  body: Buffer,
  limits: FieldLimits,
  keeps: Keeps,
): Promise<readonly BatchItem[]> {
  const reading = (): Promise<readonly BatchItem[]> => read(form, body, limits, keeps);
  return body.length <= SMALL_BYTES ? await reading() : await inTurn(reading);
}

async function read(form: BatchForm, body: Buffer, limits: FieldLimits, keeps: Keeps): Promise<readonly BatchItem[]> {
  const text = body.toString("utf8").replace(/^\uFEFF/, "");
  const posted = form === "array" ? parseArray(text) : splitLines(text);
  if (posted.length === 0) throw new LoggiaError("bad_body", "The batch must hold at least one event");
  if (posted.length > BATCH_MAX_EVENTS) {
    throw new LoggiaError(
      "body_too_large",
      `The batch may hold at most ${BATCH_MAX_EVENTS} events; it holds ${posted.length}`,
    );
  }
  const items: BatchItem[] = [];
  for (const one of posted) {
    if (items.length > 0 && items.length % STEP_EVENTS === 0) await new Promise(setImmediate);
    items.push(
      typeof one === "string" && form === "lines" ? readLine(one, limits, keeps) : readItem(one, limits, keeps),
    );
  }
  return items;
}

function parseArray(text: string): readonly unknown[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new LoggiaError("bad_body", `The body must be JSON: ${(error as Error).message}`, { cause: error });
  }
  if (Array.isArray(value)) return value;
  throw new LoggiaError("bad_body", "The body must be an array of events, or a line for each as application/x-ndjson");
}

/** Blank lines are none. */
function splitLines(text: string): readonly string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}

function readLine(line: string, limits: FieldLimits, keeps: Keeps): BatchItem {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return bad([`the line is no JSON: ${(error as Error).message}`], line);
  }
  return readItem(value, limits, keeps);
}

function readItem(item: unknown, limits: FieldLimits, keeps: Keeps): BatchItem {
  if (typeof item !== "object" || item === null || Array.isArray(item)) {
    return bad([`it is ${nameOf(item)}, a JSON object is expected`], JSON.stringify(item));
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
  const created = readCreated(fields["created"], keeps, faults);
  if (faults.length > 0) return bad(faults, describe(fields));
  const draft = { text, link, tags: splitTags(tags), source, user, value, geo, data: data === "" ? null : data };
  return { line: { fields: encodeFields(draft), created }, fault: null };
}

/** Reads a field as the form would have it; "" where it is absent, or is none. */
type Reader = (name: string, value: unknown, faults: string[]) => string;

function bad(faults: readonly string[], posted: string): BatchItem {
  const whole = wellFormed(posted);
  const data = whole.length > POSTED_MAX_UNITS ? wellFormed(`${whole.slice(0, POSTED_MAX_UNITS)}…`) : whole;
  const line = { fields: encodeFields(errorDraft("event", faults, data)), created: null };
  return { line, fault: `Bad event: ${faults.join("; ")}` };
}

/** An event as it was posted, without the key, should it hold one. */
function describe(fields: Record<string, unknown>): string {
  return JSON.stringify(Object.hasOwn(fields, "apikey") ? { ...fields, apikey: undefined } : fields);
}

function textOf(name: string, value: unknown, faults: string[]): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return wellFormed(value);
  faults.push(`${name} is ${nameOf(value)}, a string is expected`);
  return "";
}

/** As the form has them: separated by blanks. */
function tagsOf(name: string, value: unknown, faults: string[]): string {
  if (!Array.isArray(value)) return textOf(name, value, faults);
  if (value.every((tag) => typeof tag === "string")) return wellFormed(value.join(" "));
  faults.push("tags holds something else than strings, a string or an array of strings is expected");
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
  faults.push('geo is an object without numbers lat and lon, such as {"lat":40.1203,"lon":-76.2944}');
  return "";
}

/** Ten decimal places are less than a millimetre. `String` would write the smallest with an exponent. */
function decimal(degrees: number): string {
  return Math.abs(degrees) < 1e-6 ? "0" : String(Math.round(degrees * 1e10) / 1e10);
}

/** A value of JSON, in words or quoted. */
function nameOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : shortened(JSON.stringify(value));
}

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
