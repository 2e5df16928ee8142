import { HIGHEST_LIMITS } from "../../events/limits.ts";
import { BACKSLASH, COLON, COMMA, LIST, OBJECT, QUOTE } from "../../json/json-bytes.ts";
import { AT_ONCE_BYTES, AT_ONCE_VALUES, parseExactly } from "./json.ts";
import { messageText } from "./message-text.ts";
import { JsonScanner, malformedJson } from "./json-scanner.ts";
import type { Steps, Pending } from "./steps.ts";

/** Most bytes of a character in UTF-8, and in JSON as an escape; others take two of these. */
const CHARACTER_BYTES = 4;
const ESCAPE_BYTES = 6;
/** Bytes kept of a longer text: those of the longest text that an event holds, and one more character. */
export const TEXT_KEPT_BYTES = CHARACTER_BYTES * (HIGHEST_LIMITS.data + 1);
/** Bytes kept of a longer value: more than an event holds, with a text all of escapes. */
export const KEPT_BYTES = 2 * ESCAPE_BYTES * HIGHEST_LIMITS.data + 256 * 1024;
const MAX_DEPTH = 32;
/** Maximum number of members of an object, or elements of a list: more than an event keeps. */
const MAX_MEMBERS = 1_100;
/** Longer names and numbers are left out. */
const MAX_SCALAR_BYTES = 4_096;
/** Longer texts are cut. */
const MAX_TEXT_BYTES = ESCAPE_BYTES * HIGHEST_LIMITS.data;
/** Share of the room of an object or list that its members may use. */
const MEMBERS_SHARE = 7 / 8;
/** A member is left out if less room than this remains. */
const LEAST_BYTES = 64;
/** Room beyond the kept bytes for closing brackets and for members that start near the limit. */
const SPARE_BYTES = 16 * 1024;
const NULL = Buffer.from("null");
/** Matches the escape of the first half of a character. */
const HIGH_SURROGATE = /^\\ud[89ab][\da-f]{2}$/i;

const LETTER_U = 0x75;

/** Parser of JSON. @throws SyntaxError */
type Parse = (text: string) => unknown;

/** A value, and whether parts of it were left out because it is too long. */
export type LongValue = { readonly value: unknown; readonly end: number; readonly isCut: boolean };

/**
 * Reads the value that begins at `start`. A value too long to be parsed at once, or with too many
 * values, is shortened: texts are cut, and members without room are left out.
 * @throws LoggiaError `bad_body`
 */
export function* readValue(scanner: JsonScanner, start: number, parse: Parse = parseExactly): Steps<LongValue> {
  const end = yield* scanner.endOf(start);
  const { bytes } = scanner;
  const size_bytes = end - start;
  const isCut = size_bytes > KEPT_BYTES || (size_bytes > AT_ONCE_BYTES && scanner.values > AT_ONCE_VALUES);
  const kept = isCut ? yield* new Shortener(scanner).shorten(start) : bytes.subarray(start, end);
  try {
    return { value: parse(messageText(kept)), end, isCut };
  } catch (error) {
    throw malformedJson((error as Error).message);
  }
}

/** Reads the only value that these bytes hold. @throws LoggiaError `bad_body` */
export function* readOnly(bytes: Buffer, parse?: Parse): Steps<LongValue> {
  const scanner = new JsonScanner(bytes);
  const read = yield* readValue(scanner, scanner.skipBlank(0), parse);
  scanner.requireEnd(read.end);
  return read;
}

/**
 * Yields the values of a body one at a time: consecutive values, and the elements of lists.
 * @throws LoggiaError `bad_body`
 */
export function* runOfValues(body: Buffer): Generator<LongValue | Pending> {
  const scanner = new JsonScanner(body);
  for (let at = scanner.skipBlank(0); at < body.length;) {
    at = scanner.skipBlank(yield* elementsOrValue(scanner, at));
  }
}

/** Yields the value at `start`, or the elements of the list there. Returns its end. */
function* elementsOrValue(scanner: JsonScanner, start: number): Generator<LongValue | Pending, number> {
  if (scanner.bytes[start] === LIST.open) return yield* elementsFrom(scanner, start);
  const read = yield* readValue(scanner, start);
  yield read;
  return read.end;
}

/**
 * Returns the elements of the list at a path, one at a time; null if there is no list. The bytes
 * around the list are not checked.
 * @throws LoggiaError `bad_body`
 */
export function* elementsAt(
  body: Buffer,
  path: readonly string[],
): Steps<Generator<LongValue | Pending, unknown> | null> {
  const scanner = new JsonScanner(body);
  let at = scanner.skipBlank(0);
  for (const step of path) {
    const found = body[at] === OBJECT.open ? yield* memberAt(scanner, at, step) : yield* elementAt(scanner, at, step);
    if (found === null) return null;
    at = found;
  }
  return body[at] === LIST.open ? elementsFrom(scanner, at) : null;
}

function* memberAt(scanner: JsonScanner, start: number, name: string): Steps<number | null> {
  const { starts } = yield* scanner.membersOf(start, [name]);
  return Object.hasOwn(starts, name) ? starts[name]! : null;
}

function* elementAt(scanner: JsonScanner, start: number, index: string): Steps<number | null> {
  if (scanner.bytes[start] !== LIST.open || !/^\d+$/.test(index)) return null;
  let at = scanner.firstOf(start);
  for (let n = 0; at !== -1 && n < Number(index); n++) at = scanner.nextOf(yield* scanner.endOf(at));
  return at === -1 ? null : at;
}

/** Yields the elements of the list at `start`. Returns the end of the list. */
function* elementsFrom(scanner: JsonScanner, start: number): Generator<LongValue | Pending, number> {
  for (let at = scanner.firstOf(start); at !== -1;) {
    const read = yield* readValue(scanner, at);
    yield read;
    at = scanner.nextOf(read.end);
  }
  return scanner.groupEnd;
}

/** Copies a value in one pass, as far as there is room. */
class Shortener {
  readonly #scanner: JsonScanner;
  readonly #bytes: Buffer;
  readonly #out = Buffer.allocUnsafe(KEPT_BYTES + SPARE_BYTES);
  #size = 0;
  #values = 0;
  /** Number of values up to which members of the current group are kept. */
  #most_values = AT_ONCE_VALUES;

  constructor(scanner: JsonScanner) {
    this.#scanner = scanner;
    this.#bytes = scanner.bytes;
  }

  *shorten(start: number): Steps<Buffer> {
    yield* this.#value(start, KEPT_BYTES, 0);
    return this.#out.subarray(0, this.#size);
  }

  /** Copies the value at `start`, up to an output size of `most`. Returns the end of the value. */
  *#value(start: number, most: number, depth: number): Steps<number> {
    this.#values += 1;
    const first = this.#bytes[start];
    const isGroup = first === OBJECT.open || first === LIST.open;
    if (isGroup && depth < MAX_DEPTH) return yield* this.#group(start, most, depth);
    const end = yield* this.#scanner.endOf(start);
    if (first === QUOTE) this.#putText(start, end, most);
    else if (isGroup || end - start > MAX_SCALAR_BYTES || this.#size + end - start > most) this.#put(NULL);
    else this.#put(this.#bytes.subarray(start, end));
    return end;
  }

  /** Copies an object or list. Its members may use most of the room, so that others find some. */
  *#group(start: number, most: number, depth: number): Steps<number> {
    const scanner = this.#scanner;
    const bytes = this.#bytes;
    const group = bytes[start] === OBJECT.open ? OBJECT : LIST;
    this.#out[this.#size++] = group.open;
    const own = this.#size + Math.floor((most - this.#size) * MEMBERS_SHARE);
    const outer_values = this.#most_values;
    this.#most_values = this.#values + Math.floor((outer_values - this.#values) * MEMBERS_SHARE);
    let members = 0;
    for (let at = scanner.firstOf(start, group); at !== -1;) {
      const name_end = group === OBJECT ? yield* scanner.endOf(at) : at;
      const value_at = group === OBJECT ? scanner.valueAfter(name_end) : at;
      const name_bytes = name_end - at;
      const isKept = members < MAX_MEMBERS && this.#values < this.#most_values;
      let end: number;
      if (isKept && this.#size + name_bytes + LEAST_BYTES < own && name_bytes <= MAX_SCALAR_BYTES) {
        if (members > 0) this.#out[this.#size++] = COMMA;
        this.#put(bytes.subarray(at, name_end));
        if (group === OBJECT) this.#out[this.#size++] = COLON;
        end = yield* this.#value(value_at, own, depth + 1);
        members += 1;
      } else end = yield* scanner.endOf(value_at);
      at = scanner.nextOf(end, group);
    }
    this.#out[this.#size++] = group.close;
    this.#most_values = outer_values;
    return scanner.groupEnd;
  }

  /**
   * Copies a text, or its beginning if it would take more than half of the room. Neither an escape
   * nor a character is split.
   */
  #putText(start: number, end: number, most: number): void {
    const bytes = this.#bytes;
    const room = Math.max(0, Math.min((most - this.#size) >> 1, MAX_TEXT_BYTES) - 2);
    if (end - start - 2 <= room) return this.#put(bytes.subarray(start, end));
    let at = start + 1;
    for (const stop = at + room; at < stop;) {
      const length = bytes[at] !== BACKSLASH ? 1 : bytes[at + 1] === LETTER_U ? 6 : 2;
      if (at + length > stop) break;
      at += length;
    }
    while (at > start + 1 && (bytes[at]! & 0xc0) === 0x80) at -= 1;
    if (HIGH_SURROGATE.test(bytes.toString("latin1", Math.max(start, at - 6), at))) at -= 6;
    this.#put(bytes.subarray(start, at));
    this.#out[this.#size++] = QUOTE;
  }

  #put(bytes: Buffer): void {
    this.#size += bytes.copy(this.#out, this.#size);
  }
}
