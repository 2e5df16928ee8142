import { numberOf } from "../events/attributes.ts";
import { FORM_FIELD_NAMES } from "../events/field-order.ts";
import { mapKeywords } from "../events/map-keywords.ts";
import { DEFAULT_LIMITS } from "../events/limits.ts";
import { firstCharacters } from "../events/text.ts";
import { producerNames, severityNamed } from "../ingest/kit/document.ts";
import { parseExactly } from "../ingest/kit/json.ts";
import type { ProducerTime, TimeReading } from "../ingest/kit/time-forms.ts";
import { digitsOf, timeOf } from "../ingest/kit/times.ts";

/** Content of a line: event fields, and everything else. */
export type LineContent = { readonly fields: LineFields; readonly others: object };
type LineFields = {
  readonly text?: string;
  /** As written in the line. */
  readonly created?: string;
  readonly [field: string]: unknown;
};

/** Event fields that a line may set. */
export const FIELDS: ReadonlySet<string> = new Set([...FORM_FIELD_NAMES, "created"]);
/** Names that producers use. The first with a valid value is used, as for events of protocols. */
const TEXT_NAMES = producerNames("text");
const TIME_NAMES = [...producerNames("time"), "t.$date"];
const SEVERITY_NAMES = producerNames("severity");
const SOURCE_NAMES = ["name", "logger", "logger_name"];
/** Values nested deeper become text. */
const MAX_DEPTH = 20;

/**
 * Parses a JSON line; null if it is not an object. A member becomes an event field if it has the
 * name of one and a valid value. All others become attributes.
 */
export function jsonFields(line: string, times?: TimeReading): LineContent | null {
  const object = parseObject(line);
  if (object === null) return null;
  const fields: { text?: string; created?: string; [field: string]: unknown } = {};
  const others = new Map(Object.entries(object));
  const take = (field: string, name: string | undefined): void => {
    if (name === undefined) return;
    fields[field] = others.get(name);
    others.delete(name);
  };
  const severity = severityIn(others);
  const text = TEXT_NAMES.find((name) => isText(memberOf(others, name)));
  if (text !== undefined) fields.text = takeMember(others, text) as string;
  const time = TIME_NAMES.find((name) => timeOf(memberOf(others, name), times) !== null);
  if (time !== undefined) takeTime(fields, others, timeOf(takeMember(others, time), times)!);
  for (const name of FIELDS) if (IS_FIELD[name]?.(others.get(name)) === true) take(name, name);
  if (!others.has("source") && !("source" in fields)) copySource(fields, others);
  // pino and bunyan log a number, zap and logback a word.
  if (severity !== null && !("tags" in fields)) fields["tags"] = severity;
  unpackAttributes(others);
  return { fields, others: Object.fromEntries([...others].map(([name, value]) => [name, flattened(value, 1)])) };
}

/**
 * Copies the logger name of pino, bunyan and zap, or logback's class, into `source`. The member
 * also stays an attribute, under the name that users know.
 */
function copySource(fields: Record<string, unknown>, others: ReadonlyMap<string, unknown>): void {
  const name = SOURCE_NAMES.find((name) => isText(others.get(name)) && isWithin(others.get(name), "source"));
  if (name !== undefined && others.has("level")) fields["source"] = others.get(name);
}

function severityIn(others: ReadonlyMap<string, unknown>): string | null {
  for (const name of SEVERITY_NAMES) {
    const severity = severityNamed(name, memberOf(others, name));
    if (severity !== null) return severity;
  }
  return null;
}

/** Sets the time of an event. What is finer than a millisecond becomes an attribute. */
function takeTime(fields: { created?: string }, others: Map<string, unknown>, time: ProducerTime): void {
  fields.created = new Date(time.ms).toISOString();
  if (time.ns !== 0 && !others.has("time_ns")) others.set("time_ns", digitsOf(time));
}

/** Returns the value of a name, whose dots may stand for nested objects. */
function memberOf(others: ReadonlyMap<string, unknown>, name: string): unknown {
  if (others.has(name) || !name.includes(".")) return others.get(name);
  const [first = "", ...path] = name.split(".");
  let value = others.get(first);
  for (const member of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[member];
  }
  return value;
}

/** Like {@link memberOf}, and removes the member. */
function takeMember(others: Map<string, unknown>, name: string): unknown {
  const value = memberOf(others, name);
  if (others.delete(name)) return value;
  const path = name.split(".");
  const holder = memberOf(others, path.slice(0, -1).join("."));
  delete (holder as Record<string, unknown>)[path.at(-1)!];
  return value;
}

/**
 * Moves the members of `attributes`, the form of exports, to the top level, unless the name is
 * already in use.
 */
function unpackAttributes(others: Map<string, unknown>): void {
  const given = others.get("attributes");
  if (typeof given !== "object" || given === null || Array.isArray(given)) return;
  others.delete("attributes");
  const rest: [string, unknown][] = [];
  for (const [name, value] of Object.entries(given)) {
    if (others.has(name)) rest.push([name, value]);
    else others.set(name, value);
  }
  if (rest.length > 0) others.set("attributes", Object.fromEntries(rest));
}

function parseObject(line: string): object | null {
  try {
    const value = parseExactly(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** Whether a value is valid for a field, except `text` and `created`. */
const IS_FIELD: Readonly<Record<string, (value: unknown) => boolean>> = {
  tags: (value) => isWithin(Array.isArray(value) && value.every(isString) ? value.join(" ") : value, "tags"),
  ...mapKeywords((name) => (value: unknown) => isWithin(value, name)),
  value: (value) => Number.isFinite(value) || (isWithin(value, "value") && numberOf(value as string) !== null),
  geo: isGeo,
  data: (value) => isWithin(value, "data"),
};

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isText(value: unknown): boolean {
  return isString(value) && value.trim() !== "";
}

function isWithin(value: unknown, field: keyof typeof DEFAULT_LIMITS): boolean {
  return isString(value) && firstCharacters(value, DEFAULT_LIMITS[field]) === value;
}

function isGeo(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { lat, lon } = value as Record<string, unknown>;
  return typeof lat === "number" && typeof lon === "number" && Math.abs(lat) <= 90 && Math.abs(lon) <= 180;
}

/** Converts lists of non-scalars and too deeply nested values to JSON text. */
function flattened(value: unknown, depth: number): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    return value.some((one) => typeof one === "object" && one !== null) ? jsonOf(value) : value;
  }
  if (depth > MAX_DEPTH) return jsonOf(value);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, flattened(member, depth + 1)]));
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    // Nested deeper than the call stack allows.
    return "…";
  }
}
