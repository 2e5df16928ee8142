import { Decoder, ExtData, ExtensionCodec } from "@msgpack/msgpack";
import { isUtf8 } from "node:buffer";

import { LoggiaError } from "../../../errors.ts";
import type { FieldChoice } from "../choice.ts";
import { eventOfDocument, eventOfText } from "../document.ts";
import type { ProducerEvent, ProducerTime } from "../protocol.ts";
import { timeOf } from "../times.ts";
import { headAt, Scan } from "./scan.ts";

/** A message with its entries not decoded yet. */
export type ForwardMessage = {
  readonly tag: string;
  /** Consecutive entries, each a list of a time and a record. */
  readonly entries: Buffer;
  /** Compression of `entries`; "" if there is none. */
  readonly compressed: string;
  /** Id that the client expects in the acknowledgement, once the entries are stored. */
  readonly chunk: string | null;
};

const USUAL: FieldChoice = Object.freeze({ text: [], time: [], source: [], tags: [] });
const EVENT_TIME = 0;
const EVENT_TIME_BYTES = 8;
const MAX_DEPTH = 32;
const KEPT_BYTES = 64 * 1024;

class EventTime {
  readonly time: ProducerTime;

  constructor(time: ProducerTime) {
    this.time = time;
  }
}

const codec = new ExtensionCodec();
codec.register({ type: EVENT_TIME, encode: () => null, decode: eventTimeOf });

/** Decodes a time of eight bytes: seconds and nanoseconds. */
function eventTimeOf(data: Uint8Array): unknown {
  if (data.length !== EVENT_TIME_BYTES) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const nanoseconds = view.getUint32(4) % 1_000_000_000;
  const ms = view.getUint32(0) * 1_000 + Math.floor(nanoseconds / 1_000_000);
  return new EventTime({ ms, ns: nanoseconds % 1_000_000 });
}

const decoder = new Decoder({ extensionCodec: codec, useBigInt64: true });

/** Decodes one complete value. @throws LoggiaError `bad_body` */
export function decodeValue(bytes: Uint8Array): unknown {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw new LoggiaError("bad_body", `A message cannot be decoded: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Decodes the envelope of a message in any of the four modes of the protocol.
 * @throws LoggiaError `bad_body`
 */
export function readMessage(bytes: Buffer): ForwardMessage {
  const head = headAt(bytes, 0);
  if (head?.kind !== "list" || head.values < 2 || head.values > 4)
    throw malformed("it is not an array of two to four values");
  const places: number[] = [head.size_bytes];
  for (let i = 0; i < head.values; i++) {
    const end = new Scan(bytes.length, places[i]).end(bytes);
    if (end === -1) throw malformed("it is incomplete");
    places.push(end);
  }
  const [start = 0, second = 0, third = 0, fourth = 0] = places;
  const tag = decodeValue(bytes.subarray(start, second));
  if (typeof tag !== "string" && !(tag instanceof Uint8Array)) throw malformed("its tag is not a string");
  const body = headAt(bytes, second)!;
  const isSingle = body.kind === "other";
  if (isSingle && head.values < 3) throw malformed("it has a time but no record");
  if (body.kind === "map") throw malformed("its entries are a map");
  const optionAt = isSingle ? fourth : third;
  const hasOption = head.values > (isSingle ? 3 : 2);
  const option = hasOption ? decodeValue(bytes.subarray(optionAt)) : null;
  const { chunk, compressed } = (typeof option === "object" && option !== null ? option : {}) as Record<
    string,
    unknown
  >;
  return {
    tag: textOf(tag),
    entries: isSingle
      ? Buffer.concat([PAIR, bytes.subarray(second, fourth)])
      : bytes.subarray(second + body.head_bytes, third),
    compressed: compressed === undefined || compressed === null || compressed === "text" ? "" : textOf(compressed),
    chunk: chunk === undefined || chunk === null ? null : textOf(chunk),
  };
}

/** Head of a list of two values. */
const PAIR = Buffer.from([0x92]);

/**
 * Yields the events of a message. The bytes of a malformed entry become the text of an event.
 * @param entries decompressed entries
 * @param onFault called for each malformed entry
 */
export function* eventsOf(
  { tag, chunk }: ForwardMessage,
  entries: Buffer,
  onFault: () => void,
): Generator<ProducerEvent> {
  const attributes = new Map([["tag", tag]]);
  let n = 0;
  for (let at = 0; at < entries.length; n++) {
    const end = endOf(entries, at);
    const bytes = entries.subarray(at, end);
    at = end;
    const event = readEntry(bytes, attributes, tag);
    if (event === null) onFault();
    const read = event ?? eventOfBytes(bytes, attributes, tag);
    yield chunk === null ? read : { ...read, id: `${tag}\n${chunk}\n${n}` };
  }
}

/** Returns the event that replaces the entries of a message that cannot be decompressed. */
export function malformedEvent({ tag, compressed, entries, chunk }: ForwardMessage): ProducerEvent {
  const text = `Entries of ${entries.length} bytes cannot be decompressed (${compressed})`;
  const event = { ...eventOfBytes(Buffer.from(text), new Map([["tag", tag]]), tag), severity: "error" } as const;
  return chunk === null ? event : { ...event, id: `${tag}\n${chunk}` };
}

/** Returns the end of an entry. A malformed entry extends to the end of all entries. */
function endOf(entries: Buffer, at: number): number {
  try {
    const end = new Scan(entries.length, at).end(entries);
    return end === -1 ? entries.length : end;
  } catch {
    return entries.length;
  }
}

function readEntry(bytes: Buffer, attributes: ReadonlyMap<string, string>, tag: string): ProducerEvent | null {
  let entry: unknown;
  try {
    entry = decodeValue(bytes);
  } catch {
    return null;
  }
  if (!Array.isArray(entry) || entry.length < 2) return null;
  const [when, record] = entry as unknown[];
  if (typeof record !== "object" || record === null || Array.isArray(record)) return null;
  // Newer clients send a list of the time and metadata.
  const time = Array.isArray(when) ? (when as unknown[])[0] : when;
  const event = eventOfDocument(plain(record, 0) as object, USUAL, { time: momentOf(time), attributes });
  return event.source === "" ? { ...event, source: tag } : event;
}

function momentOf(time: unknown): ProducerTime | null {
  if (time instanceof EventTime) return time.time;
  const value = typeof time === "bigint" ? String(time) : time;
  return value === 0 || value === "0" ? null : timeOf(value);
}

function eventOfBytes(bytes: Buffer, attributes: ReadonlyMap<string, string>, tag: string): ProducerEvent {
  return eventOfText(bytes.toString("utf8", 0, KEPT_BYTES), { source: tag, attributes });
}

/** Returns a value as JSON has it. Bytes become text, or base64 if they are not UTF-8. */
function plain(value: unknown, depth: number): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Uint8Array) return textOf(value);
  if (value instanceof EventTime) return new Date(value.time.ms).toISOString();
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof ExtData) return `ext ${value.type}`;
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "nested too deep";
  if (Array.isArray(value)) return value.map((one) => plain(one, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one, depth + 1)]));
}

/** Returns a text, which clients without MessagePack strings send as bytes. */
function textOf(value: unknown): string {
  if (!(value instanceof Uint8Array)) return String(value);
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return isUtf8(bytes) ? bytes.toString("utf8") : bytes.toString("base64");
}

function malformed(why: string): LoggiaError {
  return new LoggiaError("bad_body", `A Fluent forward message is malformed: ${why}`);
}
