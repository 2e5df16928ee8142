import { Decoder, ExtData, ExtensionCodec } from "@msgpack/msgpack";
import { isUtf8 } from "node:buffer";

import { LoggiaError } from "../../errors.ts";
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

/** Decodes one complete value. @throws LoggiaError `bad_body` */
export function decodeValue(bytes: Uint8Array): unknown {
  return decodeBy(decoder, bytes);
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
export function plainOf(value: unknown, depth = 0): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Uint8Array) return textOfBytes(value);
  if (value instanceof EventTime) return new Date(value.time.ms).toISOString();
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof ExtData) return `ext ${value.type}`;
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "nested too deep";
  if (Array.isArray(value)) return value.map((one) => plainOf(one, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plainOf(one, depth + 1)]));
}

/** Returns a text, which clients without MessagePack strings send as bytes. */
export function textOfBytes(value: unknown): string {
  if (!(value instanceof Uint8Array)) return String(value);
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return isUtf8(bytes) ? bytes.toString("utf8") : bytes.toString("base64");
}
