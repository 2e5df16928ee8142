import { LoggiaError } from "../../../errors.ts";
import { OBJECT } from "../../../json/json-bytes.ts";
import { SharedParts } from "../../kit/amplification.ts";
import type { SharedPart } from "../../kit/amplification.ts";
import type { FieldChoice } from "../../kit/choice.ts";
import { eventOfAttributes } from "../../kit/document.ts";
import { flattenInto, put } from "../../kit/flatten.ts";
import type { MutableAttributes } from "../../kit/flatten.ts";
import { AT_ONCE_BYTES, isObject, objectIn, parseBody, withoutMark } from "../../kit/json.ts";
import { JsonScanner } from "../../kit/json-scanner.ts";
import type { Steps } from "../../kit/steps.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import { readValue } from "../../kit/long-json.ts";
import { LENGTH, ProtobufReader, VARINT } from "../../kit/protobuf.ts";
import { PENDING } from "../../kit/steps.ts";
import type { ReadEvent, Received } from "../../kit/endpoint.ts";
import { readGivenTime } from "../../kit/times.ts";
import { parseLabels } from "./labels.ts";

type Labels = ReadonlyMap<string, string>;

type Entry = {
  /** As sent. */
  readonly time: unknown;
  readonly line: string;
  /** Structured metadata. */
  readonly metadata: Labels;
};

const NO_LABELS: Labels = new Map();
/** Limit of structured metadata: more than an event keeps. */
const MAX_METADATA = 1_024;
/** Prefix of a label that has the name of a field of the line. */
const LABEL_PREFIX = "label.";

/** Decodes a `PushRequest` in protobuf. @throws LoggiaError `bad_body` */
export function* decodeProtobuf(received: Received): Generator<ReadEvent> {
  const common = new Common(received);
  for (const reader = new ProtobufReader(received.body); reader.next();) {
    if (reader.is(1, LENGTH)) yield* streamOf(reader.bytes(), common);
    if (reader.isPauseDue) yield PENDING;
  }
}

/** Yields the events of a stream, whose labels are read first because they may follow its entries. */
function* streamOf(bytes: Buffer, common: Common): Generator<ReadEvent> {
  let labels: SharedPart | null = null;
  for (const reader = new ProtobufReader(bytes); reader.next();) {
    if (reader.is(1, LENGTH)) labels = common.parts.part(parseLabels(reader.text()));
    if (reader.isPauseDue) yield PENDING;
  }
  labels ??= common.parts.part(NO_LABELS);
  for (const reader = new ProtobufReader(bytes); reader.next();) {
    if (reader.is(2, LENGTH)) yield common.event(yield* readEntry(reader.message()), labels);
    if (reader.isPauseDue) yield PENDING;
  }
}

function* readEntry(reader: ProtobufReader): Steps<Entry> {
  let time: string | null = null;
  let line = "";
  const metadata = new Map<string, string>();
  while (reader.next()) {
    if (reader.is(1, LENGTH)) time = readTimestamp(reader.message());
    else if (reader.is(2, LENGTH)) line = reader.text();
    else if (reader.is(3, LENGTH) && metadata.size <= MAX_METADATA) readPair(reader.message(), metadata);
    if (reader.isPauseDue) yield PENDING;
  }
  return { time, line, metadata };
}

/** Reads a timestamp as nanoseconds in digits; null if it is not set. */
function readTimestamp(reader: ProtobufReader): string | null {
  let seconds = 0n;
  let ns = 0n;
  while (reader.next()) {
    if (reader.is(1, VARINT)) seconds = reader.int64();
    else if (reader.is(2, VARINT)) ns = reader.int64();
  }
  return seconds === 0n && ns === 0n ? null : String(seconds * 1_000_000_000n + ns);
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
export function* decodeJson(received: Received): Generator<ReadEvent> {
  const common = new Common(received);
  const { body } = received;
  if (body.length > AT_ONCE_BYTES) return yield* decodeLong(withoutMark(body), common);
  const request = parseBody(body);
  const streams = isObject(request) ? (request["streams"] ?? []) : null;
  if (!Array.isArray(streams)) throw noStreams();
  for (const stream of streams) {
    if (!isObject(stream)) throw new LoggiaError("bad_body", "A stream must be an object");
    const labels = common.parts.part(labelsOf(stream));
    const values = stream["values"] ?? stream["entries"] ?? [];
    if (!Array.isArray(values)) throw new LoggiaError("bad_body", "The values of a stream must be an array");
    for (const value of values) yield common.eventOfValue(value, labels);
  }
}

/** Decodes a long body, one value at a time. */
function* decodeLong(body: Buffer, common: Common): Generator<ReadEvent> {
  const scanner = new JsonScanner(body);
  const start = scanner.skipBlank(0);
  if (body[start] !== OBJECT.open) throw noStreams();
  const { starts, end } = yield* scanner.membersOf(start, ["streams"]);
  scanner.requireEnd(end);
  if (starts["streams"] === undefined) return;
  for (let at = scanner.firstOf(starts["streams"]); at !== -1;) {
    const stream = yield* scanner.membersOf(at, ["stream", "labels", "values", "entries"]);
    at = scanner.nextOf(stream.end);
    const given: Record<string, unknown> = {};
    for (const name of ["stream", "labels"]) {
      const place = stream.starts[name];
      if (place !== undefined) given[name] = (yield* readValue(scanner, place)).value;
    }
    const labels = common.parts.part(labelsOf(given));
    const list = stream.starts["values"] ?? stream.starts["entries"];
    if (list === undefined) continue;
    for (let value_at = scanner.firstOf(list); value_at !== -1;) {
      const read = yield* readValue(scanner, value_at);
      value_at = scanner.nextOf(read.end);
      yield tagIfCut(read.isCut, common.eventOfValue(read.value, labels));
    }
  }
}

function noStreams(): LoggiaError {
  return new LoggiaError("bad_body", "The body must be an object with an array of streams");
}

function labelsOf({ stream, labels }: Readonly<Record<string, unknown>>): Labels {
  if (typeof labels === "string") return parseLabels(labels);
  return isObject(stream) ? textsOf(stream) : NO_LABELS;
}

function entryOf(value: unknown): Entry | null {
  const [time, line, metadata] = Array.isArray(value) ? (value as unknown[]) : [];
  if (typeof line === "string") {
    return { time, line, metadata: isObject(metadata) ? textsOf(metadata) : NO_LABELS };
  }
  if (!isObject(value) || typeof value["line"] !== "string") return null;
  return { time: value["ts"] ?? value["timestamp"], line: value["line"], metadata: NO_LABELS };
}

function textsOf(object: Readonly<Record<string, unknown>>): Labels {
  const texts = new Map<string, string>();
  for (const [name, value] of Object.entries(object)) {
    if (value === null) continue;
    texts.set(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return texts;
}

/** Creates the events of a request from their entries and what they have in common. */
class Common {
  readonly parts: SharedParts;
  readonly #choice: FieldChoice;
  readonly #tenant: SharedPart;

  constructor(received: Received) {
    this.parts = new SharedParts(received);
    this.#choice = received.choice;
    const tenant = received.headers["x-scope-orgid"];
    const given = typeof tenant === "string" && tenant !== "" ? [["tenant", tenant] as const] : [];
    this.#tenant = this.parts.part(new Map(given));
  }

  eventOfValue(value: unknown, labels: SharedPart): ReadEvent {
    const entry = entryOf(value);
    return entry === null ? { fault: "a value is not an array of a time and a line" } : this.event(entry, labels);
  }

  /** Creates the event of an entry. Fields of a JSON line are recognized by name, as labels are. */
  event({ time, line, metadata }: Entry, given: SharedPart): ReadEvent {
    const [labels, tenant] = [this.parts.take(given), this.parts.take(this.#tenant)];
    const attributes: MutableAttributes = new Map();
    const document = objectIn(line);
    if (document !== null) flattenInto(attributes, document);
    for (const [name, value] of [...metadata, ...labels.attributes]) {
      put(attributes, attributes.has(name) ? LABEL_PREFIX + name : name, value);
    }
    for (const [name, value] of tenant.attributes) put(attributes, name, value);
    const ofEntry = readGivenTime(attributes, "timestamp", time);
    const event = eventOfAttributes(attributes, this.#choice, { ...ofEntry, ...(document === null && { text: line }) });
    return tagIfCut(labels.isCut || tenant.isCut, event.text === "" ? { ...event, text: line } : event);
  }
}
