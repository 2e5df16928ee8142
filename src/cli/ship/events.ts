import { DEFAULT_LIMITS } from "../../events/limits.ts";
import { mapKeywords } from "../../events/map-keywords.ts";
import { splitTags } from "../../events/tags.ts";
import { fittedLine } from "../../ingest/append/fitted-line.ts";
import type { LineOptions } from "../../ingest/append/fitted-line.ts";
import { USUAL } from "../../ingest/kit/choice.ts";
import type { FieldChoice } from "../../ingest/kit/choice.ts";
import { eventOfText, unreadTimeAmong } from "../../ingest/kit/document.ts";
import type { ProducerEvent } from "../../ingest/kit/endpoint.ts";
import { flattenInto, put } from "../../ingest/kit/flatten.ts";
import type { MutableAttributes } from "../../ingest/kit/flatten.ts";
import { AT_ONCE_BYTES } from "../../ingest/kit/json.ts";
import { eventsOfJson } from "../../ingest/kit/line-events.ts";
import type { Severity } from "../../ingest/kit/severity.ts";
import type { ProducerTime, TimeReading } from "../../ingest/kit/time-forms.ts";
import { CommandError } from "../request.ts";
import { CRI_FORMAT, eventInFormat } from "./formats.ts";
import { eventOfGroups } from "./groups.ts";
import type { LineEvent } from "./groups.ts";
import type { TimeOptions } from "./times.ts";

export type EventOptions = TimeOptions & {
  readonly tags?: string;
  readonly source?: string;
  readonly user?: string;
  /** Regular expression whose named groups become fields and attributes of the event. */
  readonly pattern?: string;
  /** Name of a format of lines: see `formats.ts`. */
  readonly format?: string;
  /** As in `SourceOptions`: lines may then hold line breaks, which `.` of the pattern matches. */
  readonly multilineStart?: string;
  /** Whether lines are JSON objects, which are mapped as those that are posted to `/lines`. */
  readonly json?: boolean;
  /** As in `SourceOptions`: lines that are JSON objects are then mapped, too, and others are as usual. */
  readonly kubernetes?: string | true;
  /** Longest text in characters. A longer text is cut, and whole in `data`; 0: no limit. */
  readonly cut: number;
  /** Most characters of such a text that become `data`. */
  readonly data: number;
};

/** What is known of a line besides its text. What the line itself says takes precedence. */
export type LineMetadata = {
  readonly source: string;
  /** In milliseconds since the Unix epoch. */
  readonly created: number | null;
  readonly severity: Severity | null;
  readonly attributes: Readonly<Record<string, unknown>>;
};

/** Parses a line; null if it does not match the expected form. */
export type ReadLine = (line: string) => readonly LineEvent[] | null;

/** A line parser, and how a run begins to say that no line had its form; null if none need have it. */
export type LineReader = { readonly fault: string | null; readonly read: ReadLine };

/** Returns the line parser of `--pattern`, `--format` and `--json`; null if each line is plain text. */
export function lineReader(options: EventOptions, times?: TimeReading): LineReader | null {
  const { pattern, format = CRI_FORMAT, json = false, kubernetes } = options;
  const choice = times === undefined ? USUAL : { ...USUAL, times };
  const hasFormat = format !== CRI_FORMAT;
  if (pattern === undefined && !hasFormat) {
    if (!json && kubernetes === undefined) return null;
    return { fault: json ? "--json found no JSON object in" : null, read: (line) => eventsOfLine(line, choice) };
  }
  if (pattern !== undefined && hasFormat) throw new CommandError("--pattern and --format exclude each other");
  const readOne =
    pattern === undefined
      ? (line: string) => eventInFormat(format, line, choice)
      : patternReader(pattern, options, choice);
  const read: ReadLine = (line) => {
    const event = readOne(line);
    return event === null ? null : json ? eventsWithin(event, choice) : [event];
  };
  return { fault: pattern === undefined ? `--format ${format} matched none of` : "--pattern matched none of", read };
}

function patternReader(pattern: string, { multilineStart }: EventOptions, choice: FieldChoice) {
  const expression = compilePattern(pattern, multilineStart === undefined ? "u" : "su");
  return (line: string): LineEvent | null => {
    const groups = expression.exec(line)?.groups;
    return groups === undefined ? null : eventOfGroups(groups, line, choice);
  };
}

/** Returns the events of JSON that is the text of an event; the event itself if its text is no JSON. */
function eventsWithin(event: LineEvent, choice: FieldChoice): readonly LineEvent[] {
  return eventsOfLine(event.text, choice)?.map((inner) => within(inner, event)) ?? [event];
}

/** Decodes a line as `/lines` does; null if it holds no JSON object. */
function eventsOfLine(line: string, choice: FieldChoice): readonly ProducerEvent[] | null {
  const bytes = line.length > AT_ONCE_BYTES / MAX_BYTES_OF_UNIT ? Buffer.from(line) : null;
  const isLong = bytes !== null && bytes.length > AT_ONCE_BYTES;
  const steps = eventsOfJson(isLong ? bytes : line, choice);
  const events: ProducerEvent[] = [];
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) if (!("fault" in step.value)) events.push(step.value);
  return step.value ? events : null;
}

/** A UTF-16 unit has at most three bytes in UTF-8. */
const MAX_BYTES_OF_UNIT = 3;

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

/** Converts a line to the JSON of its events, nearly always one. */
export type WriteEvents = (line: string, metadata?: LineMetadata) => readonly string[];

/** What is called for a line that should have a time and has none. */
export type LineTimes = {
  /** @param text what could not be read, if there is anything */
  readonly onUntimed: (text: string | null) => void;
};

export function eventWriter(read: ReadLine | null, options: EventOptions, { onUntimed }: LineTimes): WriteEvents {
  const fixed: Record<string, unknown> = {};
  for (const name of ["tags", "source", "user"] as const) {
    const value = options[name];
    if (value !== undefined && value !== "") fixed[name] = value;
  }
  const begin = `${JSON.stringify(fixed).slice(0, -1)}${Object.keys(fixed).length === 0 ? "" : ","}"text":`;
  const limits = { ...DEFAULT_LIMITS, text: options.cut === 0 ? Infinity : options.cut, data: options.data };
  // The service decides by its own clock whether a time is ahead.
  const fitting = { limits, read_ms: Infinity, tags: splitTags(options.tags ?? "") };
  return (line, metadata) => {
    const isShort = options.cut === 0 || line.length <= options.cut;
    // The common case: plain text.
    if (read === null && metadata === undefined && isShort) return [`${begin}${JSON.stringify(line)}}`];
    const events: readonly LineEvent[] = read?.(line) ?? [eventOfText(line)];
    return events.map((read) => {
      const event = withMetadata(read, options, metadata);
      if (event.time === null && (event.isTimeUnread === true || isTimeExpected(options)))
        onUntimed(unreadTimeAmong(event.attributes) || null);
      // The fields that a pattern finds do not hold all of a line.
      const data = (options.pattern ?? options.format) === undefined || event.data !== undefined ? undefined : line;
      return encode(event, fitting, data);
    });
  };
}

/** Returns whether each line should have a time. */
function isTimeExpected({ json = false, pattern = "", format = CRI_FORMAT }: EventOptions): boolean {
  return json || format !== CRI_FORMAT || pattern.includes("(?<created>");
}

function withMetadata(event: LineEvent, options: EventOptions, metadata?: LineMetadata): LineEvent {
  const { source = "", user = "" } = options;
  const attributes: MutableAttributes = new Map();
  flattenInto(attributes, metadata?.attributes ?? {});
  const outer = eventOfText(event.text, { source: source || metadata?.source || "", attributes });
  return within(event, { ...outer, user, severity: metadata?.severity ?? null, time: timeOfMetadata(metadata) });
}

/** Adds to an event what is known around it. What the event itself says takes precedence. */
function within(event: LineEvent, outer: LineEvent): LineEvent {
  const attributes: MutableAttributes = new Map(event.attributes);
  for (const [name, value] of outer.attributes) put(attributes, name, value);
  const isKnown = event.source !== "" && (event.sourceKind === undefined || outer.source === "");
  const time = event.time ?? outer.time;
  return {
    ...outer,
    ...event,
    text: event.text || outer.text,
    severity: event.severity ?? outer.severity,
    ...mapKeywords((name) => event[name] || outer[name] || ""),
    source: isKnown ? event.source : outer.source,
    sourceKind: isKnown ? event.sourceKind : outer.sourceKind,
    geo: event.geo ?? outer.geo,
    tags: outer.tags.length === 0 ? event.tags : [...outer.tags, ...event.tags],
    time,
    isTimeUnread: time === null && (event.isTimeUnread === true || outer.isTimeUnread === true),
    attributes,
  };
}

function timeOfMetadata({ created = null }: Partial<LineMetadata> = {}): ProducerTime | null {
  return created === null ? null : { ms: created, ns: 0 };
}

/**
 * Returns an event as JSON, cut to the limits like an event that was posted to `/lines`.
 * @param data replaces the data of an event of which something is cut
 */
function encode(event: LineEvent, fitting: LineOptions, data: string | undefined): string {
  const fitted = fittedLine(event, fitting);
  if (fitted.cut && data !== undefined) return encode({ ...event, data }, fitting, undefined);
  const { created, fields } = fitted.line;
  const unchecked = JSON.stringify(event.unchecked ?? {}).slice(1, -1);
  return `{${created === null ? "" : `"created":${created},`}${unchecked === "" ? "" : `${unchecked},`}${fields}`;
}
