import { LoggiaError } from "../../../errors.ts";
import type { FieldChoice } from "../choice.ts";
import { eventOfAttributes, isStream } from "../document.ts";
import { compactJson, flattenInto, put } from "../flatten.ts";
import type { MutableAttributes } from "../flatten.ts";
import { isObject, withoutMark } from "../json.ts";
import { tagIfCut } from "../line.ts";
import { beginOf, linesOf } from "../lines.ts";
import { PENDING } from "../protocol.ts";
import type { ProducerEvent, ReadEvent } from "../protocol.ts";
import { timeOf } from "../times.ts";
import { objectsOf } from "./objects.ts";

/** Error for an object whose event is missing or blank. */
export class BadEvent extends LoggiaError {
  readonly number: number;
  readonly isBlank: boolean;

  constructor(number: number, isBlank: boolean) {
    super("bad_body", `Event ${number}: ${isBlank ? "Event field cannot be blank" : "Event field is required"}`);
    this.number = number;
    this.isBlank = isBlank;
  }
}

/** Error for a body without events. */
export class NoData extends LoggiaError {
  constructor() {
    super("bad_body", "No data");
  }
}

/** Metadata beside an event, or in the query string of raw events. */
const METADATA = ["host", "source", "sourcetype", "index"] as const;

/** Decodes objects that hold an event and its metadata. @throws BadObject, BadEvent, NoData */
export function* decodeEvents(body: Buffer, choice: FieldChoice): Generator<ReadEvent> {
  let number = 0;
  for (const read of objectsOf(body)) {
    if ("fault" in read) {
      yield read;
      continue;
    }
    const { value: envelope, isCut } = read;
    const { event } = envelope;
    if (event === undefined || event === null) throw new BadEvent(number, false);
    if (event === "") throw new BadEvent(number, true);
    yield tagIfCut(isCut, eventOf(event, envelope, choice));
    number += 1;
  }
  if (number === 0) throw new NoData();
}

/** Decodes a raw body with one event per line. @throws NoData */
export function* decodeRaw(body: Buffer, query: URLSearchParams, choice: FieldChoice): Generator<ReadEvent> {
  let count = 0;
  for (const read of linesOf(withoutMark(body))) {
    const isCut = typeof read !== "string";
    const line = isCut ? beginOf(read) : read;
    if (line.trim() === "") {
      yield PENDING;
      continue;
    }
    count += 1;
    const attributes: MutableAttributes = new Map();
    for (const name of METADATA) {
      const value = query.get(name);
      if (value !== null && value !== "") put(attributes, name, value);
    }
    yield tagIfCut(isCut, eventOfAttributes(attributes, choice, { text: line, time: timeOf(query.get("time")) }));
  }
  if (count === 0) throw new NoData();
}

function eventOf(event: unknown, envelope: Readonly<Record<string, unknown>>, choice: FieldChoice): ProducerEvent {
  const attributes: MutableAttributes = new Map();
  const isText = !isObject(event);
  const tag = isText ? null : flattenEvent(event, attributes);
  if (isObject(envelope["fields"])) flattenInto(attributes, envelope["fields"]);
  for (const name of METADATA) {
    const value = envelope[name];
    if (typeof value === "string" && value !== "") put(attributes, name, value);
  }
  const text = typeof event === "string" ? event : compactJson(event);
  const read = eventOfAttributes(attributes, choice, { time: timeOf(envelope["time"]), ...(isText && { text }) });
  const isOfHost = read.source === "" || read.source === envelope["host"];
  return { ...read, text: read.text === "" ? text : read.text, source: isOfHost && tag !== null ? tag : read.source };
}

/**
 * Flattens an event. Docker's driver wraps a logged text or object in `line`, beside its stream.
 * Returns the tag, which names the container; null for other events.
 */
function flattenEvent(event: Readonly<Record<string, unknown>>, into: MutableAttributes): string | null {
  const { line, ...around } = event;
  if (line === undefined || !isStream(event["source"])) {
    flattenInto(into, event);
    return null;
  }
  flattenInto(into, around);
  flattenInto(into, isObject(line) ? line : { message: line });
  return typeof around["tag"] === "string" ? around["tag"] : null;
}
