import { LoggiaError } from "../../../errors.ts";
import { parseForm } from "../../../http/form.ts";
import { compactJson } from "../../kit/flatten.ts";
import { AT_ONCE_BYTES, isObject, parseBody, withoutMark } from "../../kit/json.ts";
import { STEP_BYTES } from "../../kit/json-scanner.ts";
import type { Steps, Pending } from "../../kit/steps.ts";
import { elementsAt, readOnly, TEXT_KEPT_BYTES } from "../../kit/long-json.ts";
import type { LongValue } from "../../kit/long-json.ts";
import { indexIn } from "../../kit/text-lines.ts";
import { PENDING } from "../../kit/steps.ts";
import type { Received } from "../../kit/endpoint.ts";

export type PayloadFields = Readonly<Record<string, unknown>>;

/** Decoded content of a request. */
export type Payload<T = unknown> = {
  /** Its JSON value; of a long one, as much as an event holds. */
  readonly value: T;
  /** Whether parts of the value were left out because it is too long. */
  readonly isCut: boolean;
  /** All bytes of a long value; null if `value` is complete. */
  readonly long: Buffer | null;
};

export type PayloadItem = Pick<LongValue, "value" | "isCut"> | Pending;

/** Length limit of a value around a list. It is copied into the event of each item. */
export const MAX_COMMON_LENGTH = 1_024;
const FORM = /^application\/x-www-form-urlencoded\b/i;
const TEXT = /^text\/plain\b/i;
const PAYLOAD = "payload=";
const NEXT_PAYLOAD = Buffer.from(`&${PAYLOAD}`);
const [BLANK, AMPERSAND, PERCENT, PLUS] = [0x20, 0x26, 0x25, 0x2b];
const HEX = /^[0-9a-f]{2}$/i;
/** Forms up to this size are read whole. */
const SMALL_FORM_BYTES = 64 * 1024;
/** Bytes and fields read of a long form without JSON: more than an event holds, percent-encoded. */
const KEPT_FORM_BYTES = 3 * TEXT_KEPT_BYTES;
const KEPT_FORM_FIELDS = 1_100;

/**
 * Decodes a request: JSON, the JSON field `payload` of a form, any other form, or plain text.
 * @throws LoggiaError `bad_body`
 */
export function* readPayload({ body, headers }: Pick<Received, "body" | "headers">): Steps<Payload> {
  const type = headers["content-type"] ?? "";
  if (FORM.test(type)) return yield* payloadOfForm(body);
  if (TEXT.test(type)) return yield* payloadOfText(body);
  return yield* payloadOfJson(body);
}

function* payloadOfJson(given: Buffer): Steps<Payload> {
  if (given.length <= AT_ONCE_BYTES) return whole(parseBody(given));
  const body = withoutMark(given);
  const { value, isCut } = yield* readOnly(body);
  return { value, isCut, long: isCut ? body : null };
}

/** Decodes JSON sent as text. A scalar, such as a number, is text. */
function* payloadOfText(body: Buffer): Steps<Payload> {
  try {
    const payload = yield* payloadOfJson(body);
    if (typeof payload.value === "object" && payload.value !== null) return payload;
  } catch (error) {
    if (!(error instanceof LoggiaError)) throw error;
  }
  const text = body.toString("utf8", 0, TEXT_KEPT_BYTES);
  if (text.trim() !== "") return { ...whole(text), isCut: body.length > TEXT_KEPT_BYTES };
  throw new LoggiaError("bad_body", "The body is empty");
}

function* payloadOfForm(body: Buffer): Steps<Payload> {
  const kept = body.length <= SMALL_FORM_BYTES ? body : body.subarray(0, endOfFields(body));
  const isCut = kept.length < body.length;
  const long = isCut ? yield* longPayload(body) : null;
  if (long !== null) return yield* payloadOfJson(yield* decodeField(long));
  const form = parseForm(kept);
  const payload = form.get("payload");
  if (payload !== null) return yield* payloadOfJson(Buffer.from(payload));
  const fields = new Map<string, string>();
  for (const [name, value] of form) if (name !== "apikey" && !fields.has(name)) fields.set(name, value);
  if (fields.size === 0) throw new LoggiaError("bad_body", "The form has no field payload and no other field");
  return { ...whole(Object.fromEntries(fields)), isCut };
}

/** Returns the end of the part of a long form that is read: parsing many fields takes long. */
function endOfFields(body: Buffer): number {
  let end = -1;
  for (let fields = 0; fields < KEPT_FORM_FIELDS; fields++) {
    end = body.indexOf(AMPERSAND, end + 1);
    if (end === -1 || end > KEPT_FORM_BYTES) return Math.min(KEPT_FORM_BYTES, body.length);
  }
  return end;
}

/** Returns the encoded field `payload` of a long form; null if it has none. */
function* longPayload(body: Buffer): Steps<Buffer | null> {
  const isFirst = body.toString("latin1", 0, PAYLOAD.length) === PAYLOAD;
  const before = isFirst ? -1 : yield* indexIn(body, NEXT_PAYLOAD);
  if (before === -1 && !isFirst) return null;
  const start = before + 1 + PAYLOAD.length;
  const end = yield* indexIn(body, AMPERSAND, start);
  return body.subarray(start, end === -1 ? body.length : end);
}

/** Decodes a form field. A `%` that encodes nothing is kept. */
function* decodeField(field: Buffer): Steps<Buffer> {
  const out = Buffer.allocUnsafe(field.length);
  let size = 0;
  for (let at = 0, pause = STEP_BYTES; at < field.length; at++) {
    const byte = field[at]!;
    const hex = byte === PERCENT ? field.toString("latin1", at + 1, at + 3) : "";
    if (HEX.test(hex)) {
      out[size++] = Number.parseInt(hex, 16);
      at += 2;
    } else out[size++] = byte === PLUS ? BLANK : byte;
    if (at < pause) continue;
    yield PENDING;
    pause = at + STEP_BYTES;
  }
  return out.subarray(0, size);
}

function whole(value: unknown): Payload {
  return { value, isCut: false, long: null };
}

/** Returns all items of the list at a path, however long it is; null if there is no list. */
export function* payloadItems({ value, long }: Payload, steps: readonly string[]): Steps<Iterable<PayloadItem> | null> {
  if (long !== null) return yield* elementsAt(long, steps);
  const list = follow(value, steps);
  return Array.isArray(list) ? list.map((one: unknown) => ({ value: one, isCut: false })) : null;
}

/** Decodes a request that must be an object. @throws LoggiaError `bad_body` */
export function* payloadObject(received: Pick<Received, "body" | "headers">): Steps<Payload<PayloadFields>> {
  const payload = yield* readPayload(received);
  if (isObject(payload.value)) return payload as Payload<PayloadFields>;
  throw new LoggiaError("bad_body", "The body must be a JSON object");
}
/** Returns the value at a path, by own members and items only; undefined if there is none. */
export function follow(value: unknown, steps: readonly string[]): unknown {
  let found = value;
  for (const step of steps) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, step)) return undefined;
    // Excludes own properties of arrays other than items, such as `length`.
    if (Array.isArray(found) && !/^\d+$/.test(step)) return undefined;
    found = (found as Record<string, unknown>)[step];
  }
  return found;
}

/** Returns the value at a dotted path. */
export function at(value: unknown, path: string): unknown {
  return follow(value, path.split("."));
}

/** Returns the first text or number at these paths, as text; "" if there is none. */
export function textAt(value: unknown, ...paths: readonly string[]): string {
  for (const path of paths) {
    const found = at(value, path);
    if (typeof found === "string" && found.trim() !== "") return found;
    if (typeof found === "number") return String(found);
  }
  return "";
}

/** Returns a value as text: scalars of a list joined by commas, nested values as compact JSON. */
export function payloadText(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (typeof value !== "object") return compactJson(value);
  const isPlain = Array.isArray(value) && value.every((one) => typeof one !== "object" || one === null);
  return isPlain ? (value as unknown[]).map(payloadText).join(", ") : compactJson(value);
}

export function headerText(headers: Received["headers"], name: string): string {
  const value = headers[name];
  return typeof value === "string" ? value : "";
}
