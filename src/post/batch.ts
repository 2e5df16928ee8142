import { LoggiaError } from "../errors.ts";
import type { FieldLimits } from "../events/limits.ts";
import { encodeFields } from "../events/record.ts";
import { wellFormed } from "../events/text.ts";
import { readCreated } from "./created.ts";
import type { Keeps } from "./created.ts";
import { checkLimits, errorDraft, readGeo, readValue, splitTags } from "./draft.ts";
import type { Draft } from "./draft.ts";
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

/** The names of an event's texts, as in a form. */
const TEXTS = ["text", "link", "source", "user", "data"] as const;
const LIMITED = ["text", "link", "source", "user", "tags", "value", "geo", "data"] as const;

/**
 * Reads the body of a batch. An event with bad information becomes an error event, as does a line that is no JSON object.
 *
 * @throws LoggiaError `bad_body` where an array is no JSON, or there is no event; `body_too_large` where there are too many
 */
export async function readBatch(
  form: BatchForm,
  body: Buffer,
  limits: FieldLimits,
  keeps: Keeps,
): Promise<readonly BatchItem[]> {
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

function readItem(value: unknown, limits: FieldLimits, keeps: Keeps): BatchItem {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return bad([`it is ${nameOf(value)}, a JSON object is expected`], JSON.stringify(value));
  }
  const fields = value as Record<string, unknown>;
  const faults: string[] = [];
  const given = new Map<string, string>();
  for (const name of TEXTS) given.set(name, textOf(name, fields[name], faults));
  given.set("tags", tagsOf(fields["tags"], faults));
  const number = numberOf(fields["value"], faults);
  given.set("value", typeof number === "string" ? number : "");
  given.set("geo", geoOf(fields["geo"], faults));
  faults.push(...checkLimits(given, LIMITED, limits));
  if (typeof (fields["text"] ?? "") === "string" && given.get("text")!.trim() === "") {
    faults.push("text is missing or blank, it must say what happened");
  }
  const amount = typeof number === "string" ? readValue(number.trim(), faults) : number;
  const geo = readGeo(given.get("geo")!.trim(), faults);
  const created = readCreated(fields["created"], keeps, faults);
  if (faults.length > 0) return bad(faults, describe(fields));
  const data = given.get("data")!;
  const draft: Draft = {
    text: given.get("text")!,
    link: given.get("link")!,
    tags: splitTags(given.get("tags")!),
    source: given.get("source")!,
    user: given.get("user")!,
    value: amount,
    geo,
    data: data === "" ? null : data,
  };
  return { line: { fields: encodeFields(draft), created }, fault: null };
}

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
function tagsOf(value: unknown, faults: string[]): string {
  if (!Array.isArray(value)) return textOf("tags", value, faults);
  if (value.every((tag) => typeof tag === "string")) return wellFormed(value.join(" "));
  faults.push("tags holds something else than strings, a string or an array of strings is expected");
  return "";
}

/** A number, or what the form would have in its place. */
function numberOf(value: unknown, faults: string[]): number | string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const what = typeof value === "number" ? "too large" : nameOf(value);
  faults.push(`value is ${what}, a number or a string such as "12.5" is expected`);
  return "";
}

function geoOf(value: unknown, faults: string[]): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return textOf("geo", value, faults);
  const { lat, lon, ip } = value as Record<string, unknown>;
  if (typeof ip === "string") return `ip:${ip}`;
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
