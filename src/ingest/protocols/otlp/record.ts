import { SharedParts } from "../../kit/amplification.ts";
import type { SharedPart } from "../../kit/amplification.ts";
import type { FieldChoice } from "../../kit/choice.ts";
import { eventOfAttributes } from "../../kit/document.ts";
import { compactJson, flattenInto, put } from "../../kit/flatten.ts";
import type { MutableAttributes } from "../../kit/flatten.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import type { ProducerEvent, ReadEvent, Received } from "../../kit/endpoint.ts";
import { parseSeverity, severityOfOtel } from "../../kit/severity.ts";
import { timeDigits, readGivenTime } from "../../kit/times.ts";
import type { GivenTime } from "../../kit/times.ts";

/** An export request. */
export type Exported = Pick<Received, "body" | "choice" | "sent_bytes" | "limits">;

/** A log record, independent of its encoding. */
export type LogRecord = {
  /** The body if it is a scalar; "" if it is not. */
  readonly body: string;
  /** All attributes, and the members of a body that is an object. */
  readonly attributes: MutableAttributes;
  readonly severityNumber: number;
  readonly severityText: string;
  readonly time: GivenTime;
  readonly observed: GivenTime;
  /** Lower-case hex; "" if there is none. */
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
  readonly eventName: string;
  readonly dropped: number;
  /** Whether parts of the record were left out. */
  readonly isCut: boolean;
};

/** Prefix of the members of a body that is an object. */
const BODY_PREFIX = "body.";
const BODY_TEXT = ["body.message", "body.msg", "body.text", "body.log"];

/** Creates the events of the log records of a request. */
export class Records {
  readonly parts: SharedParts;
  readonly #choice: FieldChoice;

  constructor(received: Exported) {
    this.parts = new SharedParts(received);
    this.#choice = received.choice;
  }

  /**
   * Creates the event of a log record. Of attributes with the same name, the record's takes
   * precedence, then the scope's.
   */
  event(record: LogRecord, ofScope: SharedPart, ofResource: SharedPart): ReadEvent {
    const shared = [this.parts.take(ofScope), this.parts.take(ofResource)];
    // Of the record alone: one of the resource would make all of its records the same.
    const ids = { uid: idIn(record.attributes, "log.record.uid"), eventId: idIn(record.attributes, "event.id") };
    for (const { attributes } of shared) {
      for (const [name, value] of attributes) put(record.attributes, name, value);
    }
    const isCut = record.isCut || shared.some((part) => part.isCut);
    return tagIfCut(isCut, withId(eventOfRecord(record, this.#choice), ids));
  }
}

type RecordIds = { readonly uid: string | null; readonly eventId: string | null };

/**
 * Adds the id by which a repeated record is recognised. `log.record.uid` is unique by its
 * definition. Several records may concern the event of one `event.id`, so time and text are part of
 * that id.
 */
function withId(event: ProducerEvent, { uid, eventId }: RecordIds): ProducerEvent {
  if (uid !== null) return { ...event, id: `\0otlp\n${uid}` };
  const { time, text } = event;
  if (eventId === null || time === null || text === "") return event;
  return { ...event, id: `\0otlp\n${eventId}\n${timeDigits(time)}\n${text}` };
}

function idIn(attributes: MutableAttributes, name: string): string | null {
  const id = attributes.get(name);
  return typeof id === "string" && id !== "" ? id : null;
}

function eventOfRecord(record: LogRecord, choice: FieldChoice): ProducerEvent {
  const { attributes, severityText, severityNumber } = record;
  const { time } = record.time;
  const observed = record.observed.time;
  const isTimeUnread = record.time.isTimeUnread || record.observed.isTimeUnread;
  if (severityText !== "") put(attributes, "severity_text", severityText);
  if (severityNumber !== 0) put(attributes, "severity_number", severityNumber);
  if (isId(record.traceId)) put(attributes, "trace_id", record.traceId);
  if (isId(record.spanId)) put(attributes, "span_id", record.spanId);
  if (record.flags !== 0) put(attributes, "trace_flags", record.flags);
  if (record.eventName !== "") put(attributes, "event_name", record.eventName);
  if (record.dropped !== 0) put(attributes, "dropped_attributes_count", record.dropped);
  if (time !== null && observed !== null) put(attributes, "observed_time_ns", timeDigits(observed));
  const own = record.body === "" ? bodyText(attributes) || record.eventName : record.body;
  const chosen = choice.text.find((name) => isText(attributes.get(name)));
  // Attributes that happen to be named like a text stay attributes.
  const text = chosen === undefined ? own : String(attributes.get(chosen));
  if (chosen !== undefined) {
    attributes.delete(chosen);
    if (own !== "") put(attributes, "body", own);
  }
  const severity = severityOfOtel(severityNumber) ?? parseSeverity(severityText);
  return eventOfAttributes(attributes, choice, { text, severity, time: time ?? observed, isTimeUnread });
}

export const NO_TIME: GivenTime = Object.freeze({ time: null, isTimeUnread: false });

/** Reads a time in decimal digits. 0 means that there is none. */
export function readRecordTime(attributes: MutableAttributes, name: string, digits: string): GivenTime {
  return digits === "0" ? NO_TIME : readGivenTime(attributes, name, digits);
}

/** Returns the text of a body. The members of an object, and a list, go into `attributes`. */
export function readBodyValue(value: unknown, attributes: MutableAttributes): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "object") return typeof value === "string" ? value : compactJson(value);
  if (Array.isArray(value)) flattenInto(attributes, { body: value });
  else flattenInto(attributes, value, BODY_PREFIX);
  return "";
}

/** Returns whether there is an id. Zeros mean none: older SDKs send them outside of spans. */
function isId(hex: string): boolean {
  return /[^0]/.test(hex);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}

function bodyText(attributes: MutableAttributes): string {
  for (const name of BODY_TEXT) {
    const value = attributes.get(name);
    if (typeof value !== "string" || value.trim() === "") continue;
    attributes.delete(name);
    return value;
  }
  return "";
}
