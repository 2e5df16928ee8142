import { LoggiaError } from "../../../errors.ts";
import type { FieldChoice } from "../choice.ts";
import { eventOfAttributes } from "../document.ts";
import { flattenInto, put } from "../flatten.ts";
import type { MutableAttributes } from "../flatten.ts";
import { isObject, objectIn, parseBody, withoutMark } from "../json.ts";
import { JsonScanner, malformedJson } from "../json-scanner.ts";
import { tagIfCut } from "../line.ts";
import { readValue, WHOLE_BYTES } from "../long-json.ts";
import { LENGTH, ProtobufReader, VARINT } from "../protobuf.ts";
import type { ProducerEvent, ProducerTime, ReadEvent } from "../protocol.ts";
import { timeOf, timeOfNanoseconds } from "../times.ts";
import { parseLabels } from "./labels.ts";

/** Properties common to the events of a request. */
export type Common = { readonly choice: FieldChoice; readonly tenant: string };

type Labels = ReadonlyMap<string, string>;

type Entry = {
  readonly time: ProducerTime | null;
  readonly line: string;
  /** Structured metadata. */
  readonly metadata: Labels;
};

const NO_LABELS: Labels = new Map();
/** Prefix of a label that has the name of a field of the line. */
const LABEL_PREFIX = "label.";
const NANOSECONDS = /^-?\d{1,20}$/;

/** Decodes a `PushRequest` in protobuf. @throws LoggiaError `bad_body` */
export function* decodeProtobuf(body: Buffer, common: Common): Generator<ProducerEvent> {
  for (const reader = new ProtobufReader(body); reader.next();) {
    if (reader.is(1, LENGTH)) yield* streamOf(reader.bytes(), common);
  }
}

function* streamOf(bytes: Buffer, common: Common): Generator<ProducerEvent> {
  let labels = NO_LABELS;
  for (const reader = new ProtobufReader(bytes); reader.next();) {
    if (reader.is(1, LENGTH)) labels = parseLabels(reader.text());
  }
  for (const reader = new ProtobufReader(bytes); reader.next();) {
    if (reader.is(2, LENGTH)) yield eventOfEntry(readEntry(reader.message()), labels, common);
  }
}

function readEntry(reader: ProtobufReader): Entry {
  let time: ProducerTime | null = null;
  let line = "";
  const metadata = new Map<string, string>();
  while (reader.next()) {
    if (reader.is(1, LENGTH)) time = readTimestamp(reader.message());
    else if (reader.is(2, LENGTH)) line = reader.text();
    else if (reader.is(3, LENGTH)) readPair(reader.message(), metadata);
  }
  return { time, line, metadata };
}

function readTimestamp(reader: ProtobufReader): ProducerTime | null {
  let seconds = 0n;
  let ns = 0n;
  while (reader.next()) {
    if (reader.is(1, VARINT)) seconds = reader.int64();
    else if (reader.is(2, VARINT)) ns = reader.int64();
  }
  return seconds === 0n && ns === 0n ? null : timeOfNanoseconds(seconds * 1_000_000_000n + ns);
}

function readPair(reader: ProtobufReader, into: Map<string, string>): void {
  let name = "";
  let value = "";
  while (reader.next()) {
    if (reader.is(1, LENGTH)) name = reader.text();
    else if (reader.is(2, LENGTH)) value = reader.text();
  }
  into.set(name, value);
}

/**
 * Decodes a push in JSON. Streams may have the form of old clients.
 * @throws LoggiaError `bad_body`
 */
export function* decodeJson(body: Buffer, common: Common): Generator<ReadEvent> {
  if (body.length > WHOLE_BYTES) return yield* decodeLong(withoutMark(body), common);
  const request = parseBody(body);
  const streams = isObject(request) ? (request["streams"] ?? []) : null;
  if (!Array.isArray(streams)) throw noStreams();
  for (const stream of streams) {
    if (!isObject(stream)) throw new LoggiaError("bad_body", "A stream must be an object");
    const labels = labelsOf(stream);
    const values = stream["values"] ?? stream["entries"] ?? [];
    if (!Array.isArray(values)) throw new LoggiaError("bad_body", "The values of a stream must be an array");
    for (const value of values) yield eventOf(value, labels, common);
  }
}

/** Decodes a long body, one value at a time. */
function* decodeLong(body: Buffer, common: Common): Generator<ReadEvent> {
  const scanner = new JsonScanner(body);
  const start = scanner.skipBlank(0);
  if (body[start] !== OPEN) throw noStreams();
  const { starts, end } = yield* scanner.membersOf(start, ["streams"]);
  if (scanner.skipBlank(end) < body.length) throw malformedJson("there is more data after its end");
  if (starts["streams"] === undefined) return;
  for (let at = scanner.firstOf(starts["streams"]); at !== -1;) {
    const stream = yield* scanner.membersOf(at, ["stream", "labels", "values", "entries"]);
    at = scanner.nextOf(stream.end);
    const given: Record<string, unknown> = {};
    for (const name of ["stream", "labels"]) {
      const place = stream.starts[name];
      if (place !== undefined) given[name] = (yield* readValue(scanner, place)).value;
    }
    const labels = labelsOf(given);
    const list = stream.starts["values"] ?? stream.starts["entries"];
    if (list === undefined) continue;
    for (let value_at = scanner.firstOf(list); value_at !== -1;) {
      const read = yield* readValue(scanner, value_at);
      value_at = scanner.nextOf(read.end);
      yield tagIfCut(read.isCut, eventOf(read.value, labels, common));
    }
  }
}

const OPEN = 0x7b;

function noStreams(): LoggiaError {
  return new LoggiaError("bad_body", "The body must be an object with an array of streams");
}

function eventOf(value: unknown, labels: Labels, common: Common): ReadEvent {
  const entry = entryOf(value);
  return entry === null
    ? { fault: "a value is not an array of a time and a line" }
    : eventOfEntry(entry, labels, common);
}

function labelsOf({ stream, labels }: Readonly<Record<string, unknown>>): Labels {
  if (typeof labels === "string") return parseLabels(labels);
  return isObject(stream) ? textsOf(stream) : NO_LABELS;
}

function entryOf(value: unknown): Entry | null {
  const [time, line, metadata] = Array.isArray(value) ? (value as unknown[]) : [];
  if (typeof line === "string") {
    return { time: momentOf(time), line, metadata: isObject(metadata) ? textsOf(metadata) : NO_LABELS };
  }
  if (!isObject(value) || typeof value["line"] !== "string") return null;
  return { time: timeOf(value["ts"] ?? value["timestamp"]), line: value["line"], metadata: NO_LABELS };
}

/** Parses a time. A text is always in nanoseconds, whatever its magnitude. */
function momentOf(value: unknown): ProducerTime | null {
  return typeof value === "string" && NANOSECONDS.test(value) ? timeOfNanoseconds(BigInt(value)) : timeOf(value);
}

function textsOf(object: Readonly<Record<string, unknown>>): Labels {
  const texts = new Map<string, string>();
  for (const [name, value] of Object.entries(object)) {
    if (value === null) continue;
    texts.set(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return texts;
}

/** Creates the event of an entry. Fields of a JSON line are recognized by name, as labels are. */
function eventOfEntry({ time, line, metadata }: Entry, labels: Labels, { choice, tenant }: Common): ProducerEvent {
  const attributes: MutableAttributes = new Map();
  const document = objectIn(line);
  if (document !== null) flattenInto(attributes, document);
  for (const [name, value] of [...metadata, ...labels]) {
    put(attributes, attributes.has(name) ? LABEL_PREFIX + name : name, value);
  }
  if (tenant !== "") put(attributes, "tenant", tenant);
  const event = eventOfAttributes(attributes, choice, { time, ...(document === null && { text: line }) });
  return event.text === "" ? { ...event, text: line } : event;
}
