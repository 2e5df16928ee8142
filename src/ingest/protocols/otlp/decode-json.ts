import { LoggiaError } from "../../../errors.ts";
import { LIST, OBJECT } from "../../../json/json-bytes.ts";
import type { SharedPart } from "../../kit/amplification.ts";
import { compactJson, flattenInto, put } from "../../kit/flatten.ts";
import type { MutableAttributes } from "../../kit/flatten.ts";
import { AT_ONCE_BYTES, isObject, valueIn, withoutMark } from "../../kit/json.ts";
import { JsonScanner } from "../../kit/json-scanner.ts";
import { messageText } from "../../kit/message-text.ts";
import { readValue, runOfValues } from "../../kit/long-json.ts";
import type { ReadEvent } from "../../kit/endpoint.ts";
import { readBodyValue, readRecordTime, Records } from "./record.ts";
import type { Exported, LogRecord } from "./record.ts";

type Json = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 32;
const TOO_DEEP = "nested too deep";
const OBSERVED = "observed_time_unix_nano";
const DIGITS = /^\d{1,19}$/;
const WHOLE = /^-?\d{1,19}$/;
const HEX = /^[0-9a-f]+$/i;
/** Matches base64 of 16 or 8 bytes. */
const BASE64_ID = /^(?:[\w+/-]{22}==|[\w+/-]{11}=)$/;
const NOT_FINITE = new Set(["NaN", "Infinity", "-Infinity"]);

/**
 * Decodes an export request in protobuf's JSON mapping. Integers may be texts, and names may have
 * either form. Several requests may follow one another, or form a list, as Vector batches them.
 * @throws LoggiaError `bad_body`
 */
export function* decodeJson(received: Exported): Generator<ReadEvent> {
  const body = withoutMark(received.body);
  const records = new Records(received);
  if (body.length > AT_ONCE_BYTES) return yield* decodeLong(body, records);
  const request = valueIn(messageText(body));
  if (isObject(request)) return yield* recordsOf(request, records);
  let count = 0;
  for (const read of runOfValues(body)) {
    if ("fault" in read) {
      yield read;
      continue;
    }
    // An unknown object within a batch would be dropped silently.
    if (!isObject(read.value) || !RESOURCE_LOGS.some((name) => Object.hasOwn(read.value as Json, name))) {
      throw notARequest();
    }
    count += 1;
    yield* recordsOf(read.value, records);
  }
  if (count === 0) throw notARequest();
}

function* recordsOf(request: Json, records: Records): Generator<ReadEvent> {
  for (const resourceLogs of objectsOf(request, "resourceLogs", "resource_logs")) {
    const resource = records.parts.part(readResource(resourceLogs["resource"]));
    for (const scopeLogs of objectsOf(resourceLogs, "scopeLogs", "scope_logs")) {
      const scope = records.parts.part(readScope(scopeLogs["scope"]));
      for (const record of listOf(scopeLogs, "logRecords", "log_records")) {
        yield eventOf({ value: record, isCut: false }, records, scope, resource);
      }
    }
  }
}

/** Decodes a long body, one record at a time. */
function* decodeLong(body: Buffer, records: Records): Generator<ReadEvent> {
  const scanner = new JsonScanner(body);
  const start = scanner.skipBlank(0);
  let at = start;
  if (body[start] === LIST.open) {
    for (let one = scanner.firstOf(start); one !== -1; one = scanner.nextOf(at)) {
      at = yield* decodeRequest(scanner, one, { records, isOnly: false });
    }
    if (at === start) throw notARequest();
    return scanner.requireEnd(scanner.groupEnd);
  }
  do {
    at = scanner.skipBlank(yield* decodeRequest(scanner, at, { records, isOnly: at === start }));
  } while (at < body.length);
}

/** Decodes the request at `start`. Returns its end. */
function* decodeRequest(
  scanner: JsonScanner,
  start: number,
  { records, isOnly }: { readonly records: Records; readonly isOnly: boolean },
): Generator<ReadEvent, number> {
  if (scanner.bytes[start] !== OBJECT.open) throw notARequest();
  const { starts, end } = yield* scanner.membersOf(start, RESOURCE_LOGS);
  const list = starts["resourceLogs"] ?? starts["resource_logs"];
  if (list === undefined) {
    if (isOnly && scanner.skipBlank(end) >= scanner.bytes.length) return end;
    throw notARequest();
  }
  for (let at = scanner.firstOf(list); at !== -1;) {
    const resourceLogs = yield* scanner.membersOf(at, OF_RESOURCE_LOGS);
    at = scanner.nextOf(resourceLogs.end);
    const given = resourceLogs.starts["resource"];
    const resource = readResource(given === undefined ? null : (yield* readValue(scanner, given)).value);
    const ofResource = records.parts.part(resource);
    const scopes = resourceLogs.starts["scopeLogs"] ?? resourceLogs.starts["scope_logs"];
    if (scopes !== undefined) yield* decodeScopes(scanner, scopes, ofResource, records);
  }
  return end;
}

function* decodeScopes(
  scanner: JsonScanner,
  list: number,
  resource: SharedPart,
  records: Records,
): Generator<ReadEvent> {
  for (let at = scanner.firstOf(list); at !== -1;) {
    const { starts, end } = yield* scanner.membersOf(at, OF_SCOPE_LOGS);
    at = scanner.nextOf(end);
    const scope = readScope(starts["scope"] === undefined ? null : (yield* readValue(scanner, starts["scope"])).value);
    const list_at = starts["logRecords"] ?? starts["log_records"];
    if (list_at === undefined) continue;
    const ofScope = records.parts.part(scope);
    for (let record_at = scanner.firstOf(list_at); record_at !== -1;) {
      const record = yield* readValue(scanner, record_at);
      record_at = scanner.nextOf(record.end);
      yield eventOf(record, records, ofScope, resource);
    }
  }
}

const RESOURCE_LOGS = ["resourceLogs", "resource_logs"];
const OF_RESOURCE_LOGS = ["resource", "scopeLogs", "scope_logs"];
const OF_SCOPE_LOGS = ["scope", "logRecords", "log_records"];

function notARequest(): LoggiaError {
  return new LoggiaError("bad_body", "The body must be objects with resourceLogs");
}

function eventOf(
  { value, isCut }: { readonly value: unknown; readonly isCut: boolean },
  records: Records,
  scope: SharedPart,
  resource: SharedPart,
): ReadEvent {
  if (!isObject(value)) return { fault: "a log record is not an object" };
  return records.event(readRecord(value, isCut), scope, resource);
}

function readResource(given: unknown): MutableAttributes {
  const resource: MutableAttributes = new Map();
  if (isObject(given)) readAttributes(given["attributes"], resource);
  return resource;
}

function* objectsOf(parent: Json, name: string, otherName: string): Generator<Json> {
  for (const one of listOf(parent, name, otherName)) {
    if (!isObject(one)) throw new LoggiaError("bad_body", `${name} must contain objects`);
    yield one;
  }
}

function listOf(parent: Json, name: string, otherName: string): readonly unknown[] {
  const list = parent[name] ?? parent[otherName] ?? [];
  if (Array.isArray(list)) return list;
  throw new LoggiaError("bad_body", `${name} must be an array`);
}

function readScope(given: unknown): MutableAttributes {
  const scope: MutableAttributes = new Map();
  if (!isObject(given)) return scope;
  const { name, version } = given;
  if (typeof name === "string" && name !== "") put(scope, "otel.scope.name", name);
  if (typeof version === "string" && version !== "") put(scope, "otel.scope.version", version);
  readAttributes(given["attributes"], scope);
  return scope;
}

function readRecord(record: Json, isCut: boolean): LogRecord {
  const of = (name: string, otherName: string): unknown => record[name] ?? record[otherName];
  const attributes: MutableAttributes = new Map();
  const body = readBodyValue(valueOf(record["body"], 0), attributes);
  readAttributes(record["attributes"], attributes);
  return {
    body,
    attributes,
    severityNumber: severityNumberOf(of("severityNumber", "severity_number")),
    severityText: textOf(of("severityText", "severity_text")),
    time: readRecordTime(attributes, "time_unix_nano", digitsOf(of("timeUnixNano", "time_unix_nano"))),
    observed: readRecordTime(attributes, OBSERVED, digitsOf(of("observedTimeUnixNano", OBSERVED))),
    traceId: hexOf(of("traceId", "trace_id")),
    spanId: hexOf(of("spanId", "span_id")),
    flags: countOf(record["flags"]),
    eventName: textOf(of("eventName", "event_name")),
    dropped: countOf(of("droppedAttributesCount", "dropped_attributes_count")),
    isCut,
  };
}

/** Reads a list of `{key, value}`. Invalid entries are skipped. */
function readAttributes(given: unknown, into: MutableAttributes): void {
  if (!Array.isArray(given)) return;
  for (const pair of given) {
    if (!isObject(pair)) continue;
    // Protobuf's JSON omits an empty name.
    const { key = "", value } = pair;
    if (typeof key === "string") flattenInto(into, { [key]: valueOf(value, 0) });
  }
}

/** Returns a value of any kind, as the protobuf decoder does. */
function valueOf(given: unknown, depth: number): unknown {
  if (!isObject(given)) return isScalar(given) ? given : null;
  const of = (name: string, otherName: string): unknown => given[name] ?? given[otherName];
  const text = of("stringValue", "string_value");
  if (text !== undefined) return typeof text === "string" ? text : compactJson(text);
  const truth = of("boolValue", "bool_value");
  if (truth !== undefined) return truth === true || truth === "true";
  const whole = of("intValue", "int_value");
  if (whole !== undefined) return wholeOf(whole);
  const number = of("doubleValue", "double_value");
  if (number !== undefined) return doubleOf(number);
  const bytes = of("bytesValue", "bytes_value");
  if (bytes !== undefined) return bytesOf(bytes);
  const list = of("arrayValue", "array_value");
  if (list !== undefined) return depth < MAX_DEPTH ? valuesOf(list).map((one) => valueOf(one, depth + 1)) : TOO_DEEP;
  const pairs = of("kvlistValue", "kvlist_value");
  if (pairs !== undefined) return depth < MAX_DEPTH ? pairsOf(valuesOf(pairs), depth + 1) : TOO_DEEP;
  return null;
}

function valuesOf(given: unknown): readonly unknown[] {
  return isObject(given) && Array.isArray(given["values"]) ? given["values"] : [];
}

function pairsOf(pairs: readonly unknown[], depth: number): object {
  const object = Object.create(null) as Record<string, unknown>;
  for (const pair of pairs) {
    if (!isObject(pair)) continue;
    const { key = "", value } = pair;
    if (typeof key === "string") object[key] = valueOf(value, depth);
  }
  return object;
}

function isScalar(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function wholeOf(value: unknown): number | string | null {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || !WHOLE.test(value)) return null;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function doubleOf(value: unknown): number | string | null {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || value.trim() === "") return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : NOT_FINITE.has(value) ? value : null;
}

/** Returns bytes in base64. Old encoders for JavaScript write an object with a member per byte. */
function bytesOf(value: unknown): string {
  if (!isObject(value)) return textOf(value);
  const bytes = Array.isArray(value["data"]) ? value["data"] : Object.values(value);
  return Buffer.from(bytes.filter((byte) => typeof byte === "number")).toString("base64");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Returns an id in hex. Encoders without special treatment of OTLP write base64. */
function hexOf(value: unknown): string {
  if (typeof value !== "string" || value.length > 64) return "";
  if (HEX.test(value)) return value.toLowerCase();
  return BASE64_ID.test(value) ? Buffer.from(value, "base64").toString("hex") : "";
}

function countOf(value: unknown): number {
  const number = Number(value ?? 0);
  return Number.isInteger(number) && number > 0 && number <= 0xffff_ffff ? number : 0;
}

/** Returns a severity number, which may be given by name: `SEVERITY_NUMBER_ERROR2`. */
function severityNumberOf(value: unknown): number {
  if (typeof value !== "string" || !value.startsWith("SEVERITY_NUMBER_")) return countOf(value);
  const [, word = "", step = "1"] = /^SEVERITY_NUMBER_([A-Z]+)([1-4]?)$/.exec(value) ?? [];
  const at = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"].indexOf(word);
  return at === -1 ? 0 : 4 * at + (Number(step) || 1);
}

/** Returns the digits of a count of nanoseconds, as a text or a number; "0" if there is none. */
function digitsOf(value: unknown): string {
  const digits = typeof value === "number" ? String(value) : value;
  return typeof digits === "string" && DIGITS.test(digits) ? BigInt(digits).toString() : "0";
}
