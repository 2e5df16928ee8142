import type { SharedPart } from "../../kit/amplification.ts";
import { add, flattenInto, put } from "../../kit/flatten.ts";
import type { MutableAttributes } from "../../kit/flatten.ts";
import type { Steps } from "../../kit/steps.ts";
import { FIXED32, FIXED64, LENGTH, ProtobufReader, VARINT } from "../../kit/protobuf.ts";
import { PENDING } from "../../kit/steps.ts";
import type { ReadEvent } from "../../kit/endpoint.ts";
import { NO_TIME, readBodyValue, readRecordTime, Records } from "./record.ts";
import type { Exported, LogRecord } from "./record.ts";

/** Deeper values are not decoded. */
const MAX_DEPTH = 32;
const TOO_DEEP = "nested too deep";
/** Fields read of the values of a record: more than an event holds. */
const MAX_VALUES = 20_000;
const MAX_BINARY_BYTES = 384 * 1024;
const ID_BYTES = 32;
const NANOSECONDS_MAX = 2n ** 63n;

/** Decodes an `ExportLogsServiceRequest`. @throws LoggiaError `bad_body` */
export function* decodeProtobuf(received: Exported): Generator<ReadEvent> {
  const records = new Records(received);
  for (const reader = new ProtobufReader(received.body); reader.next();) {
    if (reader.is(1, LENGTH)) yield* resourceLogs(reader.bytes(), records);
    if (reader.isPauseDue) yield PENDING;
  }
}

/** Yields the events of a resource, which is read first because it may follow its records. */
function* resourceLogs(bytes: Buffer, records: Records): Generator<ReadEvent> {
  const resource: MutableAttributes = new Map();
  for (const reader = new ProtobufReader(bytes); reader.next();) {
    if (reader.is(1, LENGTH)) yield* readResource(reader.message(), resource);
    if (reader.isPauseDue) yield PENDING;
  }
  const ofResource = records.parts.part(resource);
  for (const reader = new ProtobufReader(bytes); reader.next();) {
    if (reader.is(2, LENGTH)) yield* scopeLogs(reader.bytes(), ofResource, records);
    if (reader.isPauseDue) yield PENDING;
  }
}

function* scopeLogs(bytes: Buffer, resource: SharedPart, records: Records): Generator<ReadEvent> {
  const scope: MutableAttributes = new Map();
  for (const reader = new ProtobufReader(bytes); reader.next();) {
    if (reader.is(1, LENGTH)) yield* readScope(reader.message(), scope);
    if (reader.isPauseDue) yield PENDING;
  }
  const ofScope = records.parts.part(scope);
  for (const reader = new ProtobufReader(bytes); reader.next();) {
    if (reader.is(2, LENGTH)) yield records.event(yield* readRecord(reader.message()), ofScope, resource);
    if (reader.isPauseDue) yield PENDING;
  }
}

function* readResource(reader: ProtobufReader, into: MutableAttributes): Steps<void> {
  const values = new ValueReader();
  while (reader.next()) {
    if (reader.is(1, LENGTH)) values.attribute(reader.message(), into);
    if (reader.isPauseDue) yield PENDING;
  }
}

function* readScope(reader: ProtobufReader, into: MutableAttributes): Steps<void> {
  const values = new ValueReader();
  while (reader.next()) {
    if (reader.is(1, LENGTH)) putText(into, "otel.scope.name", reader.text());
    else if (reader.is(2, LENGTH)) putText(into, "otel.scope.version", reader.text());
    else if (reader.is(3, LENGTH)) values.attribute(reader.message(), into);
    if (reader.isPauseDue) yield PENDING;
  }
}

function putText(into: MutableAttributes, name: string, text: string): void {
  if (text !== "") put(into, name, text);
}

function* readRecord(reader: ProtobufReader): Steps<LogRecord> {
  const values = new ValueReader();
  const record = {
    body: "",
    attributes: new Map() as MutableAttributes,
    severityNumber: 0,
    severityText: "",
    time: NO_TIME,
    observed: NO_TIME,
    traceId: "",
    spanId: "",
    flags: 0,
    eventName: "",
    dropped: 0,
    isCut: false,
  };
  let time = 0n;
  let observed = 0n;
  while (reader.next()) {
    if (reader.is(1, FIXED64)) time = reader.fixed64();
    else if (reader.is(2, VARINT)) record.severityNumber = reader.uint32();
    else if (reader.is(3, LENGTH)) record.severityText = reader.text();
    else if (reader.is(5, LENGTH)) {
      record.body = readBodyValue(values.value(reader.message(), 0), record.attributes);
    } else if (reader.is(6, LENGTH)) values.attribute(reader.message(), record.attributes);
    else if (reader.is(7, VARINT)) record.dropped = reader.uint32();
    else if (reader.is(8, FIXED32)) record.flags = reader.fixed32();
    else if (reader.is(9, LENGTH)) record.traceId = idOf(reader.bytes());
    else if (reader.is(10, LENGTH)) record.spanId = idOf(reader.bytes());
    else if (reader.is(11, FIXED64)) observed = reader.fixed64();
    else if (reader.is(12, LENGTH)) record.eventName = reader.text();
    if (reader.isPauseDue) yield PENDING;
  }
  record.isCut = values.isCut;
  record.time = readRecordTime(record.attributes, "time_unix_nano", digitsOf(time));
  record.observed = readRecordTime(record.attributes, "observed_time_unix_nano", digitsOf(observed));
  return record;
}

/** Returns an id in hex. A valid one has at most 16 bytes. */
function idOf(bytes: Buffer): string {
  return bytes.toString("hex", 0, ID_BYTES);
}

function digitsOf(ns: bigint): string {
  return ns >= NANOSECONDS_MAX ? "0" : String(ns);
}

/** Reads the values of one record or resource, as many as an event holds. */
class ValueReader {
  /** Whether values were left out. */
  isCut = false;
  #left = MAX_VALUES;

  attribute(reader: ProtobufReader, into: MutableAttributes): void {
    if (this.#isFull()) return;
    const { key, value } = this.#pair(reader, 0);
    if (typeof value === "string" || typeof value === "boolean") add(into, key, value);
    else flattenInto(into, { [key]: value });
  }

  /** Returns an `AnyValue` as JSON has it: bytes become base64, and unsafe integers become text. */
  value(reader: ProtobufReader, depth: number): unknown {
    let value: unknown = null;
    while (!this.#isFull() && reader.next()) {
      if (reader.is(1, LENGTH)) value = reader.text();
      else if (reader.is(2, VARINT)) value = reader.uint32() !== 0;
      else if (reader.is(3, VARINT)) value = numberOf(reader.int64());
      else if (reader.is(4, FIXED64)) value = reader.double();
      else if (reader.is(5, LENGTH)) value = depth < MAX_DEPTH ? this.#list(reader.message(), depth + 1) : TOO_DEEP;
      else if (reader.is(6, LENGTH)) value = depth < MAX_DEPTH ? this.#pairs(reader.message(), depth + 1) : TOO_DEEP;
      else if (reader.is(7, LENGTH)) value = reader.bytes().toString("base64", 0, MAX_BINARY_BYTES);
    }
    return value;
  }

  #pair(reader: ProtobufReader, depth: number): { key: string; value: unknown } {
    let key = "";
    let value: unknown = null;
    while (!this.#isFull() && reader.next()) {
      if (reader.is(1, LENGTH)) key = reader.text();
      else if (reader.is(2, LENGTH)) value = this.value(reader.message(), depth);
    }
    return { key, value };
  }

  #list(reader: ProtobufReader, depth: number): unknown[] {
    const values: unknown[] = [];
    while (!this.#isFull() && reader.next()) {
      if (reader.is(1, LENGTH)) values.push(this.value(reader.message(), depth));
    }
    return values;
  }

  #pairs(reader: ProtobufReader, depth: number): object {
    // Without a prototype, a member may have any name.
    const object = Object.create(null) as Record<string, unknown>;
    while (!this.#isFull() && reader.next()) {
      if (!reader.is(1, LENGTH)) continue;
      const { key, value } = this.#pair(reader.message(), depth);
      object[key] = value;
    }
    return object;
  }

  #isFull(): boolean {
    if (--this.#left >= 0) return false;
    this.isCut = true;
    return true;
  }
}

function numberOf(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}
