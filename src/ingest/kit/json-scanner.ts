import { LoggiaError } from "../../errors.ts";
import { JsonBytes, NOT_YET, OBJECT } from "../../json/json-bytes.ts";
import { PENDING } from "./steps.ts";
import type { Steps } from "./steps.ts";

/** Bytes scanned between two pauses: some milliseconds' work at most, for many empty objects. */
export const STEP_BYTES = 16 * 1024;
const LONGEST_NAME = 256;

/** Finds where the values of a body begin and end, in steps. Its errors are `bad_body`. */
export class JsonScanner extends JsonBytes {
  /** Position at which the next pause is due. */
  #pause = STEP_BYTES;

  /** Returns the end of the value at `start`. @throws LoggiaError `bad_body` if there is none */
  *endOf(start: number): Steps<number> {
    this.begin(start);
    // A list may be read again after its end was found, so the position may have moved back.
    this.#pause = Math.min(this.#pause, start + STEP_BYTES);
    for (;;) {
      const end = this.advance(this.#pause);
      if (end !== NOT_YET) return end;
      this.#pause = this.position + STEP_BYTES;
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
    for (let at = this.firstOf(start, OBJECT); at !== -1;) {
      const name_end = yield* this.endOf(at);
      const name = name_end - at <= LONGEST_NAME ? this.bytes.toString("utf8", at + 1, name_end - 1) : "";
      const value = this.valueAfter(name_end);
      if (names.includes(name) && this.bytes[value] !== LETTER_N) starts[name] = value;
      at = this.nextOf(yield* this.endOf(value), OBJECT);
    }
    return { starts, end: this.groupEnd };
  }

  override malformed(why: string): LoggiaError {
    return malformedJson(why);
  }
}

const LETTER_N = 0x6e;

export type Members = { readonly starts: Readonly<Record<string, number | undefined>>; readonly end: number };

export function malformedJson(why: string): LoggiaError {
  return new LoggiaError("bad_body", `The body is not valid JSON: ${why}`);
}
