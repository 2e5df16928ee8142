import { encodeAttributes, flatten } from "../events/attributes.ts";
import type { Attributes, AttributeValue } from "../events/attributes.ts";
import { DEFAULT_LIMITS } from "../events/limits.ts";
import { firstCharacters } from "../events/text.ts";
import { CUT_TAG } from "../ingest/kit/cut-tag.ts";
import { FIELDS, jsonFields } from "./json-lines.ts";
import type { LineContent } from "./json-lines.ts";
import { CommandError } from "./request.ts";
import type { TimeReading } from "../ingest/kit/time-forms.ts";
import { timeOf } from "../ingest/kit/times.ts";
import type { TimeOptions } from "./ship-times.ts";

export type EventOptions = TimeOptions & {
  readonly tags?: string;
  readonly source?: string;
  readonly user?: string;
  /** Regular expression whose named groups become fields and attributes of the event. */
  readonly pattern?: string;
  /** As in `SourceOptions`: lines may then hold line breaks, which `.` of the pattern matches. */
  readonly multilineStart?: string;
  /** Whether lines are JSON objects, whose members become fields and attributes. */
  readonly json?: boolean;
  /** Longest text in characters. A longer line is cut, with the line as `data`; 0: no limit. */
  readonly cut: number;
  /** Most characters of such a line that become `data`. */
  readonly data: number;
};

/** Parses a line; null if it does not match the expected form. */
export type ReadLine = (line: string) => LineContent | null;

const NO_CONTENT: LineContent = { fields: {}, others: {} };

/** Returns the line parser of `--pattern` or `--json`; null if each line is plain text. */
export function lineReader(options: EventOptions, times?: TimeReading): { name: string; read: ReadLine } | null {
  const { pattern, json = false, multilineStart } = options;
  if (pattern !== undefined && json) throw new CommandError("--pattern and --json exclude each other");
  if (json) return { name: "--json found no JSON object in", read: (line) => jsonFields(line, times) };
  if (pattern === undefined) return null;
  const expression = compilePattern(pattern, multilineStart === undefined ? "u" : "su");
  return { name: "--pattern matched none of", read: (line) => groupsOf(expression, line) };
}

function compilePattern(text: string, flags: string): RegExp {
  if (!/\(\?<[A-Za-z_$][\w$]*>/.test(text))
    throw new CommandError("--pattern has no named group, such as (?<text>.*), that could become a field");
  try {
    return new RegExp(text, flags);
  } catch (error) {
    throw new CommandError(`--pattern is not a valid regular expression: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function groupsOf(expression: RegExp, line: string): LineContent | null {
  const groups = expression.exec(line)?.groups;
  if (groups === undefined) return null;
  const values = Object.entries(groups).filter(([, value]) => value !== undefined && value !== "");
  return {
    fields: Object.fromEntries(values.filter(([name]) => FIELDS.has(name))),
    others: Object.fromEntries(values.filter(([name]) => !FIELDS.has(name))),
  };
}

/** Converts a line to the JSON of its event. `metadata`: what is known besides the line's text. */
export type WriteEvent = (line: string, metadata?: LineContent) => string;

/** How the times of lines are read, and what is called for a line that should have one and has none. */
export type LineTimes = {
  readonly reading: TimeReading;
  /** @param text what could not be read, if there is anything */
  readonly onUntimed: (text: string | null) => void;
};

export function eventWriter(read: ReadLine | null, options: EventOptions, times: LineTimes): WriteEvent {
  const fixed: Record<string, unknown> = {};
  for (const name of ["tags", "source", "user"] as const) {
    const value = options[name];
    if (value !== undefined && value !== "") fixed[name] = value;
  }
  const begin = `${JSON.stringify(fixed).slice(0, -1)}${Object.keys(fixed).length === 0 ? "" : ","}"text":`;
  return (line, metadata) => {
    const isShort = options.cut === 0 || line.length <= options.cut;
    // The common case: plain text.
    if (read === null && metadata === undefined && isShort) return `${begin}${JSON.stringify(line)}}`;
    return eventOf(
      line,
      fixed,
      { content: read?.(line) ?? NO_CONTENT, metadata: metadata ?? NO_CONTENT },
      options,
      times,
    );
  };
}

function eventOf(
  line: string,
  fixed: Readonly<Record<string, unknown>>,
  { content, metadata }: { readonly content: LineContent; readonly metadata: LineContent },
  options: EventOptions,
  times: LineTimes,
): string {
  const event: Record<string, unknown> = { ...metadata.fields, ...fixed };
  delete event["created"];
  const { created, text = line, ...rest } = content.fields;
  Object.assign(event, rest);
  const moment_ms = [created, metadata.fields.created]
    .map((given) => timeOf(given, times.reading)?.ms)
    // A time before 1970 is no time of a log.
    .find((ms) => ms !== undefined && ms >= 0);
  const unread = created === undefined || moment_ms !== undefined ? {} : { created };
  if (moment_ms !== undefined) event["created"] = moment_ms;
  else if (created !== undefined || isTimeExpected(options)) times.onUntimed(created ?? null);
  event["text"] = options.cut > 0 ? firstCharacters(text, options.cut) : text;
  const { attributes: all, faults } = flatten({ ...unread, ...metadata.others, ...content.others });
  const { attributes, isWhole } = fitting(all);
  const isCut = event["text"] !== text || faults.length > 0 || !isWhole;
  if (isCut && !("data" in event)) event["data"] = firstCharacters(line, options.data);
  if (isCut) event["tags"] = withCutTag(event["tags"] ?? "");
  const json = JSON.stringify(event);
  return attributes.size === 0 ? json : `${json.slice(0, -1)},"attributes":${encodeAttributes(attributes)}}`;
}

/** Returns whether each line should have a time. */
function isTimeExpected({ json = false, pattern = "" }: EventOptions): boolean {
  return json || pattern.includes("(?<created>");
}

/** Returns the tags of an event with the one that marks it as cut, if there is room for it. */
function withCutTag(given: unknown): unknown {
  const tags = [[given].flat().join(" "), CUT_TAG].join(" ").trim();
  return firstCharacters(tags, DEFAULT_LIMITS.tags) === tags ? tags : given;
}

/** Returns the attributes that fit the limits, in order, with long values cut. */
function fitting(given: Attributes): { attributes: Attributes; isWhole: boolean } {
  const { attributes: most, attributeName, attributeValue, attributesBytes } = DEFAULT_LIMITS;
  const attributes = new Map<string, AttributeValue | readonly AttributeValue[]>();
  let isWhole = true;
  let left_bytes = attributesBytes;
  for (const [name, value] of given) {
    const cut = Array.isArray(value)
      ? value.map((one: AttributeValue) => cutValue(one, attributeValue))
      : cutValue(value as AttributeValue, attributeValue);
    const size_bytes = [name, cut].flat().reduce<number>((sum, one) => sum + 1 + Buffer.byteLength(String(one)), 0);
    const isNamed = name !== "" && firstCharacters(name, attributeName) === name;
    const fits = isNamed && attributes.size < most && size_bytes <= left_bytes;
    if (fits) attributes.set(name, cut);
    if (fits) left_bytes -= size_bytes;
    isWhole &&= fits && String(cut) === String(value);
  }
  return { attributes, isWhole };
}

function cutValue(value: AttributeValue, length: number): AttributeValue {
  return typeof value === "string" ? firstCharacters(value, length) : value;
}
