import { encodeAttributes, flatten } from "../events/attributes.ts";
import type { Attributes, AttributeValue } from "../events/attributes.ts";
import { DEFAULT_LIMITS } from "../events/limits.ts";
import { firstCharacters } from "../events/text.ts";
import { CUT_TAG } from "../ingest/kit/cut-tag.ts";
import { FIELDS, jsonFields } from "./json-lines.ts";
import type { LineContent } from "./json-lines.ts";
import { CommandError } from "./request.ts";
import { type DateOrder, readTime } from "./times.ts";

export type EventOptions = {
  readonly tags?: string;
  readonly source?: string;
  readonly user?: string;
  /** Regular expression whose named groups become fields and attributes of the event. */
  readonly pattern?: string;
  /** As in `SourceOptions`: lines may then hold line breaks, which `.` of the pattern matches. */
  readonly multilineStart?: string;
  /** Whether lines are JSON objects, whose members become fields and attributes. */
  readonly json?: boolean;
  /** Order of day and month in dates such as 05/06/2011. Default: such dates are not read */
  readonly dates?: DateOrder;
  /** Longest text in characters. A longer line is cut, with the line as `data`; 0: no limit. */
  readonly cut: number;
  /** Most characters of such a line that become `data`. */
  readonly data: number;
};

/** Parses a line; null if it does not match the expected form. */
export type ReadLine = (line: string) => LineContent | null;

const NO_CONTENT: LineContent = { fields: {}, others: {} };

/** Returns the line parser of `--pattern` or `--json`; null if each line is plain text. */
export function lineReader(options: EventOptions): { name: string; read: ReadLine } | null {
  const { pattern, json = false, dates, multilineStart } = options;
  if (pattern !== undefined && json) throw new CommandError("--pattern and --json exclude each other");
  if (json) return { name: "--json found no JSON object in", read: (line) => jsonFields(line, dates ?? null) };
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

export function eventWriter(
  read: ReadLine | null,
  options: EventOptions,
  onUnparsedTime: (time: string) => void,
): WriteEvent {
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
      onUnparsedTime,
    );
  };
}

function eventOf(
  line: string,
  fixed: Readonly<Record<string, unknown>>,
  { content, metadata }: { readonly content: LineContent; readonly metadata: LineContent },
  options: EventOptions,
  onUnparsedTime: (time: string) => void,
): string {
  const event: Record<string, unknown> = { ...metadata.fields, ...fixed };
  delete event["created"];
  const { created = metadata.fields.created, text = line, ...rest } = content.fields;
  Object.assign(event, rest);
  let unread: object = {};
  if (created !== undefined) {
    const moment_ms = readTime(created, Date.now(), options.dates ?? null);
    // A time before 1970 is no time of a log.
    if (moment_ms !== null && moment_ms >= 0) event["created"] = moment_ms;
    else {
      unread = { created };
      onUnparsedTime(created);
    }
  }
  event["text"] = options.cut > 0 ? firstCharacters(text, options.cut) : text;
  const { attributes: all, faults } = flatten({ ...unread, ...metadata.others, ...content.others });
  const { attributes, isWhole } = fitting(all);
  const isCut = event["text"] !== text || faults.length > 0 || !isWhole;
  if (isCut && !("data" in event)) event["data"] = firstCharacters(line, options.data);
  if (isCut) event["tags"] = withCutTag(event["tags"] ?? "");
  const json = JSON.stringify(event);
  return attributes.size === 0 ? json : `${json.slice(0, -1)},"attributes":${encodeAttributes(attributes)}}`;
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
