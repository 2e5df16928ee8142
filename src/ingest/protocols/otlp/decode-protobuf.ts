import type { FieldChoice } from "../choice.ts";
import { add, flattenInto, put } from "../flatten.ts";
import type { MutableAttributes } from "../flatten.ts";
import { FIXED32, FIXED64, LENGTH, ProtobufReader, VARINT } from "../protobuf.ts";
import type { ProducerEvent, ProducerTime } from "../protocol.ts";
import { timeOfNanoseconds } from "../times.ts";
import { eventOfRecord, readBodyValue } from "./record.ts";
import type { LogRecord, Shared } from "./record.ts";

/** Deeper values are not decoded. */
const MAX_DEPTH = 32;
const TOO_DEEP = "nested too deep";
const NANOSECONDS_MAX = 2n ** 63n;

/** Decodes an `ExportLogsServiceRequest`. @throws LoggiaError `bad_body` */
export function* decodeProtobuf(body: Buffer, choice: FieldChoice): Generator<ProducerEvent> {
  for (const reader = new ProtobufReader(body); reader.next();) {
    if (reader.is(1, LENGTH)) yield* resourceLogs(reader.bytes(), choice);
  }
}

/** Yields the events of a resource, which is read first because it may follow its records. */
function* resourceLogs(bytes: Buffer, choice: FieldChoice): Generator<ProducerEvent> {
  const resource: MutableAttributes = new Map();
  for (const reader = new ProtobufReader(bytes); reader.next();) {
    if (reader.is(1, LENGTH)) readResource(reader.message(), resource);
  }
  for (const reader = new ProtobufReader(bytes); reader.next();) {
    if (reader.is(2, LENGTH)) yield* scopeLogs(reader.bytes(), resource, choice);
  }
}

function* scopeLogs(bytes: Buffer, resource: Shared, choice: FieldChoice): Generator<ProducerEvent> {
  const scope: MutableAttributes = new Map();
  for (const reader = new ProtobufReader(bytes); reader.next();) {
    if (reader.is(1, LENGTH)) readScope(reader.message(), scope);
  }
  for (const reader = new ProtobufReader(bytes); reader.next();) {
    if (reader.is(2, LENGTH)) yield eventOfRecord(readRecord(reader.message()), scope, resource, choice);
  }
}

function readResource(reader: ProtobufReader, into: MutableAttributes): void {
  while (reader.next()) if (reader.is(1, LENGTH)) readAttribute(reader.message(), into);
}

function readScope(reader: ProtobufReader, into: MutableAttributes): void {
  while (reader.next()) {
    if (reader.is(1, LENGTH)) putText(into, "otel.scope.name", reader.text());
    else if (reader.is(2, LENGTH)) putText(into, "otel.scope.version", reader.text());
    else if (reader.is(3, LENGTH)) readAttribute(reader.message(), into);
  }
}

function putText(into: MutableAttributes, name: string, text: string): void {
  if (text !== "") put(into, name, text);
}

function readRecord(reader: ProtobufReader): LogRecord {
  const record = {
    body: "",
    attributes: new Map() as MutableAttributes,
    severityNumber: 0,
    severityText: "",
    time: null as ProducerTime | null,
    observed: null as ProducerTime | null,
    traceId: "",
    spanId: "",
    flags: 0,
    eventName: "",
    dropped: 0,
  };
  while (reader.next()) {
    if (reader.is(1, FIXED64)) record.time = timeOf(reader.fixed64());
    else if (reader.is(2, VARINT)) record.severityNumber = reader.uint32();
    else if (reader.is(3, LENGTH)) record.severityText = reader.text();
    else if (reader.is(5, LENGTH)) {
      record.body = readBodyValue(readValue(reader.message(), 0), record.attributes);
    } else if (reader.is(6, LENGTH)) readAttribute(reader.message(), record.attributes);
    else if (reader.is(7, VARINT)) record.dropped = reader.uint32();
    else if (reader.is(8, FIXED32)) record.flags = reader.fixed32();
    else if (reader.is(9, LENGTH)) record.traceId = reader.bytes().toString("hex");
    else if (reader.is(10, LENGTH)) record.spanId = reader.bytes().toString("hex");
    else if (reader.is(11, FIXED64)) record.observed = timeOf(reader.fixed64());
    else if (reader.is(12, LENGTH)) record.eventName = reader.text();
  }
  return record;
}

/** Converts nanoseconds. 0 means that there is no time. */
function timeOf(ns: bigint): ProducerTime | null {
  return ns === 0n || ns >= NANOSECONDS_MAX ? null : timeOfNanoseconds(ns);
}

function readAttribute(reader: ProtobufReader, into: MutableAttributes): void {
  const { key, value } = readPair(reader, 0);
  if (typeof value === "string" || typeof value === "boolean") add(into, key, value);
  else flattenInto(into, { [key]: value });
}

function readPair(reader: ProtobufReader, depth: number): { key: string; value: unknown } {
  let key = "";
  let value: unknown = null;
  while (reader.next()) {
    if (reader.is(1, LENGTH)) key = reader.text();
    else if (reader.is(2, LENGTH)) value = readValue(reader.message(), depth);
  }
  return { key, value };
}

/** Returns an `AnyValue` as JSON has it: bytes become base64, and unsafe integers become text. */
function readValue(reader: ProtobufReader, depth: number): unknown {
  let value: unknown = null;
  while (reader.next()) {
    if (reader.is(1, LENGTH)) value = reader.text();
    else if (reader.is(2, VARINT)) value = reader.uint32() !== 0;
    else if (reader.is(3, VARINT)) value = numberOf(reader.int64());
    else if (reader.is(4, FIXED64)) value = reader.double();
    else if (reader.is(5, LENGTH)) value = depth < MAX_DEPTH ? readList(reader.message(), depth + 1) : TOO_DEEP;
    else if (reader.is(6, LENGTH)) value = depth < MAX_DEPTH ? readPairs(reader.message(), depth + 1) : TOO_DEEP;
    else if (reader.is(7, LENGTH)) value = reader.bytes().toString("base64");
  }
  return value;
}

function readList(reader: ProtobufReader, depth: number): unknown[] {
  const values: unknown[] = [];
  while (reader.next()) if (reader.is(1, LENGTH)) values.push(readValue(reader.message(), depth));
  return values;
}

function readPairs(reader: ProtobufReader, depth: number): object {
  // Without a prototype, a member may have any name.
  const object = Object.create(null) as Record<string, unknown>;
  while (reader.next()) {
    if (!reader.is(1, LENGTH)) continue;
    const { key, value } = readPair(reader.message(), depth);
    object[key] = value;
  }
  return object;
}

function numberOf(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}
