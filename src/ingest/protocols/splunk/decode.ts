import { LoggiaError } from "../../../errors.ts";
import { SharedParts } from "../../kit/amplification.ts";
import type { FieldChoice } from "../../kit/choice.ts";
import { eventOfAttributes, isStream } from "../../kit/document.ts";
import { compactJson, flattenInto, put } from "../../kit/flatten.ts";
import type { MutableAttributes } from "../../kit/flatten.ts";
import { isObject, objectIn, withoutMark } from "../../kit/json.ts";
import type { Steps } from "../../kit/steps.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import { lineBeginning, readFilledLines, indexIn, lineOfBytes } from "../../kit/text-lines.ts";
import type { TextLine } from "../../kit/text-lines.ts";
import { isPending } from "../../kit/steps.ts";
import type { ProducerEvent, ReadEvent, Received } from "../../kit/endpoint.ts";
import { readGivenTime } from "../../kit/times.ts";
import { isRunOfObjects, readSplunkObjects, objectSlices } from "./objects.ts";

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
  for (const read of readSplunkObjects(body)) {
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

/**
 * Decodes a raw body with one event per line. A line of objects without anything between them is an
 * event per object, because senders such as Vector and Firehose put no line feed between events.
 * @throws NoData
 */
export function* decodeRaw(received: Received): Generator<ReadEvent> {
  const { body, query, choice } = received;
  const metadata: MutableAttributes = new Map();
  for (const name of METADATA) {
    const value = query.get(name);
    if (value !== null && value !== "") put(metadata, name, value);
  }
  const given = readGivenTime(metadata, "time", query.get("time"));
  const parts = new SharedParts(received);
  const common = parts.part(metadata);
  const rawEvent = (read: TextLine): ProducerEvent => {
    const { text, isCut } = typeof read === "string" ? { text: read, isCut: false } : lineBeginning(read);
    const shared = parts.take(common);
    const event = eventOfAttributes(new Map(shared.attributes), choice, { text, ...given });
    return tagIfCut(isCut || shared.isCut, event);
  };
  let count = 0;
  for (const line of readFilledLines(withoutMark(body))) {
    if (isPending(line)) {
      yield line;
      continue;
    }
    count += 1;
    const run = yield* runIn(line);
    if (run === null || !(yield* isRunOfObjects(run))) yield rawEvent(line);
    else {
      for (const read of objectSlices(run)) {
        if ("fault" in read) yield read;
        else yield rawEvent(yield* lineOfBytes(run.subarray(read.start, read.end)));
      }
    }
  }
  if (count === 0) throw new NoData();
}

const BETWEEN = Buffer.from("}{");

/** Returns the bytes of a line that may be objects one behind another; null for other lines. */
function* runIn(line: TextLine): Steps<Buffer | null> {
  if (typeof line === "string") return line.includes("}{") ? Buffer.from(line) : null;
  return (yield* indexIn(line, BETWEEN)) === -1 ? null : line;
}

function eventOf(event: unknown, envelope: Readonly<Record<string, unknown>>, choice: FieldChoice): ProducerEvent {
  const attributes: MutableAttributes = new Map();
  // Fluentd sends each record as a text of JSON, of which Splunk finds the fields when it searches.
  const object = typeof event === "string" ? objectIn(event) : isObject(event) ? event : null;
  const isText = object === null;
  const tag = isText ? null : flattenEvent(object, attributes);
  if (isObject(envelope["fields"])) flattenInto(attributes, envelope["fields"]);
  for (const name of METADATA) {
    const value = envelope[name];
    if (typeof value === "string" && value !== "") put(attributes, name, value);
  }
  const text = typeof event === "string" ? event : compactJson(event);
  const time = readGivenTime(attributes, "time", envelope["time"]);
  const read = eventOfAttributes(attributes, choice, { ...time, ...(isText && { text }) });
  const isKnown = read.source !== "" && read.sourceKind === undefined;
  return { ...read, text: read.text === "" ? text : read.text, source: isKnown ? read.source : (tag ?? read.source) };
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
