import { LoggiaError } from "../../errors.ts";
import { PENDING } from "./steps.ts";
import type { Steps } from "./steps.ts";

/** The end of the value is not known yet. */
const NOT_YET = -1;
/** Bytes scanned between two pauses: some milliseconds' work at most, for many empty objects. */
export const STEP_BYTES = 16 * 1024;
/** Limit of consecutive white space. JSON in use has less. */
const MAX_BLANK = 64 * 1024;
const LONGEST_NAME = 256;

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Finds where JSON values begin and end, in buffers of any size. It looks at quotes and brackets
 * only; the bytes between them are checked when they are parsed.
 */
export class JsonScanner {
  readonly bytes: Buffer;
  #at = 0;
  #depth = 0;
  #isText = false;
  /** Number of commas and opening brackets since `endOf` was called. */
  #values = 0;
  /** Position at which the next pause is due. */
  #pause = STEP_BYTES;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Number of values in the value whose end was found last; a little more is possible. */
  get values(): number {
    return this.#values;
  }

  /** Returns the end of the value at `start`. @throws LoggiaError `bad_body` if there is none */
  *endOf(start: number): Steps<number> {
    this.#at = start;
    this.#depth = 0;
    this.#isText = false;
    this.#values = 0;
    // A list may be read again after its end was found, so the position may have moved back.
    this.#pause = Math.min(this.#pause, start + STEP_BYTES);
    for (;;) {
      const stop = Math.min(this.bytes.length, Math.max(this.#pause, this.#at + 1));
      const end = this.#isText ? this.#throughText(stop) : this.#through(stop, start);
      if (end !== NOT_YET) return end;
      if (this.#at < stop) continue;
      if (this.#at >= this.bytes.length) {
        if (this.#depth === 0 && !this.#isText && this.#at > start) return this.#at;
        throw malformedJson("it ends within a value");
      }
      this.#pause = this.#at + STEP_BYTES;
      yield PENDING;
    }
  }

  /**
   * Returns where the values of these members of an object begin. Of duplicate names the last
   * counts; nulls are skipped.
   */
  *membersOf(start: number, names: readonly string[]): Steps<Members> {
    const starts: { [name: string]: number } = {};
    this.#pause = Math.min(this.#pause, start + STEP_BYTES);
    if (start >= this.#pause) {
      // Many empty objects in a row, each too short for a pause of its own.
      this.#pause = start + STEP_BYTES;
      yield PENDING;
    }
    if (this.bytes[start] !== OPEN) throw malformedJson("an object is expected");
    let at = this.skipBlank(start + 1);
    if (this.bytes[at] === CLOSE) return { starts, end: at + 1 };
    for (;;) {
      if (this.bytes[at] !== QUOTE) throw malformedJson("a name in quotes is expected");
      const name_end = yield* this.endOf(at);
      const name = name_end - at <= LONGEST_NAME ? this.bytes.toString("utf8", at + 1, name_end - 1) : "";
      at = this.skipBlank(name_end);
      if (this.bytes[at] !== COLON) throw malformedJson("a colon is missing");
      at = this.skipBlank(at + 1);
      if (names.includes(name) && this.bytes[at] !== LETTER_N) starts[name] = at;
      at = this.skipBlank(yield* this.endOf(at));
      if (this.bytes[at] === CLOSE) return { starts, end: at + 1 };
      if (this.bytes[at] !== COMMA) throw malformedJson("a comma is missing");
      at = this.skipBlank(at + 1);
    }
  }

  /** Returns the start of the first element of the array at `start`; -1 if it is empty. */
  firstOf(start: number): number {
    if (this.bytes[start] !== OPEN_LIST) throw malformedJson("an array is expected");
    const at = this.skipBlank(start + 1);
    return this.bytes[at] === CLOSE_LIST ? -1 : at;
  }

  /** Returns the start of the element after the one that ends at `end`; -1 if there is none. */
  nextOf(end: number): number {
    const at = this.skipBlank(end);
    if (this.bytes[at] === CLOSE_LIST) return -1;
    if (this.bytes[at] !== COMMA) throw malformedJson("a comma is missing");
    return this.skipBlank(at + 1);
  }

  skipBlank(start: number): number {
    let at = start;
    while (isBlank(this.bytes[at])) at += 1;
    if (at - start > MAX_BLANK) throw malformedJson("there is too much white space");
    return at;
  }

  #through(stop: number, start: number): number {
    const { bytes } = this;
    for (let at = this.#at; at < stop; at++) {
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        this.#at = at + 1;
        this.#isText = true;
        return NOT_YET;
      }
      if (byte === OPEN || byte === OPEN_LIST) {
        this.#depth += 1;
        this.#values += 1;
      } else if (byte === CLOSE || byte === CLOSE_LIST) {
        if (this.#depth === 0) return this.#scalarEnd(at, start);
        if (--this.#depth === 0) return at + 1;
      } else if (this.#depth === 0) {
        if (byte === COMMA || byte === COLON || isBlank(byte)) return this.#scalarEnd(at, start);
      } else if (byte === COMMA) this.#values += 1;
    }
    this.#at = stop;
    return NOT_YET;
  }

  #scalarEnd(at: number, start: number): number {
    if (at === start) throw malformedJson("a value is missing");
    return at;
  }

  #throughText(stop: number): number {
    const { bytes } = this;
    let at = this.#at;
    for (; at < stop; at++) {
      const byte = bytes[at]!;
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) {
        this.#at = at + 1;
        this.#isText = false;
        return this.#depth === 0 ? at + 1 : NOT_YET;
      }
    }
    this.#at = at;
    return NOT_YET;
  }
}

const LETTER_N = 0x6e;

export type Members = { readonly starts: Readonly<Record<string, number | undefined>>; readonly end: number };

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export function malformedJson(why: string): LoggiaError {
  return new LoggiaError("bad_body", `The body is not valid JSON: ${why}`);
}
