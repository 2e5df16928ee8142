import { Decoder, ExtData, ExtensionCodec } from "@msgpack/msgpack";
import { isAscii, isUtf8 } from "node:buffer";

import { LoggiaError } from "../../errors.ts";
import { messageText } from "./message-text.ts";
import { headAt, isBinary, TEXT_32 } from "./msgpack-scan.ts";
import type { ProducerTime } from "./time-forms.ts";

/** Extension type of a Fluent time: seconds and nanoseconds. */
const EVENT_TIME = 0;
const EVENT_TIME_BYTES = 8;
const MAX_DEPTH = 32;

/** A decoded Fluent time. */
export class EventTime {
  readonly time: ProducerTime;

  constructor(time: ProducerTime) {
    this.time = time;
  }
}

const codec = new ExtensionCodec();
codec.register({ type: EVENT_TIME, encode: () => null, decode: eventTimeOf });

function eventTimeOf(data: Uint8Array): unknown {
  if (data.length !== EVENT_TIME_BYTES) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const nanoseconds = view.getUint32(4) % 1_000_000_000;
  const ms = view.getUint32(0) * 1_000 + Math.floor(nanoseconds / 1_000_000);
  return new EventTime({ ms, ns: nanoseconds % 1_000_000 });
}

const decoder = new Decoder({ extensionCodec: codec, useBigInt64: true });
const rawDecoder = new Decoder({ extensionCodec: codec, useBigInt64: true, rawStrings: true });

/** Decodes one complete value, with each text as a message's. @throws LoggiaError `bad_body` */
export function decodeValue(bytes: Buffer): unknown {
  return decodeBy(decoder, withValidTexts(bytes));
}

/**
 * Returns a value in which all texts are UTF-8: the decoder takes the bytes of short ones for whole
 * characters, even beyond their end.
 */
function withValidTexts(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  let copied = 0;
  for (let at = 0; at < bytes.length;) {
    const first = bytes[at]!;
    // Most values are short texts, small numbers, and small lists and maps.
    const isShortText = first >= 0xa0 && first <= 0xbf;
    const isSmall = isShortText || first <= 0x9f || first >= 0xe0;
    const head = isSmall ? null : headAt(bytes, at);
    if (!isSmall && head === null) break;
    const from = at + (head?.head_bytes ?? 1);
    const next = at + (head?.size_bytes ?? (isShortText ? 1 + (first & 0x1f) : 1));
    if ((isShortText || head?.kind === "text") && !isBinary(first) && !isAsciiBetween(bytes, from, next)) {
      const text = bytes.subarray(from, next);
      if (!isUtf8(text)) {
        parts.push(bytes.subarray(copied, at), textValue(messageText(text)));
        copied = next;
      }
    }
    at = next;
  }
  return parts.length === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(copied)]);
}

/** Longer texts are checked faster by a call. */
const SHORT_BYTES = 128;

function isAsciiBetween(bytes: Buffer, from: number, to: number): boolean {
  if (to - from > SHORT_BYTES) return isAscii(bytes.subarray(from, to));
  for (let at = from; at < to; at++) if (bytes[at]! > 0x7f) return false;
  return true;
}

/** Encodes a text. */
function textValue(text: string): Buffer {
  const content = Buffer.from(text);
  const head = Buffer.alloc(5);
  head[0] = TEXT_32;
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}

/** Like {@link decodeValue}, with the bytes of texts, which may not be UTF-8. */
export function decodeRaw(bytes: Uint8Array): unknown {
  return decodeBy(rawDecoder, bytes);
}

function decodeBy(by: Decoder, bytes: Uint8Array): unknown {
  try {
    return by.decode(bytes);
  } catch (error) {
    throw new LoggiaError("bad_body", `A message cannot be decoded: ${(error as Error).message}`, { cause: error });
  }
}

/** Returns a value as JSON has it. Bytes become text, or base64 if they are not UTF-8. */
export function plainValue(value: unknown, depth = 0): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Uint8Array) return textOfBytes(value);
  if (value instanceof EventTime) return new Date(value.time.ms).toISOString();
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof ExtData) return `ext ${value.type}`;
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "nested too deep";
  if (Array.isArray(value)) return value.map((one) => plainValue(one, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plainValue(one, depth + 1)]));
}

/** Returns a text, which clients without MessagePack strings send as bytes. */
export function textOfBytes(value: unknown): string {
  if (!(value instanceof Uint8Array)) return String(value);
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return isUtf8(bytes) ? bytes.toString("utf8") : bytes.toString("base64");
}
