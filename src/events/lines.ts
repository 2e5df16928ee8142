import { emptyFields } from "./line-fields.ts";
import type { LineFields } from "./line-fields.ts";

/** Reads the lines of a buffer one after the other. */
export type LineReader = {
  /** Whether there is another line. After a line break at the very end there is an empty one. */
  readonly hasNext: boolean;
  /**
   * Advances to the next line, which must exist, and reads it.
   * @returns false if the fields must be read from `text` with `JSON.parse`
   */
  next(): boolean;
  /** The last line read. */
  readonly text: string;
  readonly bytes: Buffer;
  /** Fields of the last line, if {@link next} read them. */
  readonly fields: LineFields;
  /** Whether the bytes of {@link withoutCreated} may be used in any line. */
  readonly isPlain: boolean;
  /** A plain line without its opening brace and without `created`. */
  readonly withoutCreated: string;
};

/** @param from start of the first line */
export type OpenLines = (bytes: Buffer, from?: number) => LineReader;

/** Leaves every line to `JSON.parse`: the plain twin of `scanLines`. */
export const splitLines: OpenLines = (bytes, from = 0) => new SplitLines(bytes, from);

const LINE_FEED = 10;

class SplitLines implements LineReader {
  readonly fields = emptyFields();
  readonly isPlain = false;
  readonly #bytes: Buffer;
  #next: number;
  #start = 0;
  #end = 0;

  constructor(bytes: Buffer, from: number) {
    this.#bytes = bytes;
    this.#next = from;
  }

  get hasNext(): boolean {
    return this.#next <= this.#bytes.length;
  }

  next(): boolean {
    const end = this.#bytes.indexOf(LINE_FEED, this.#next);
    this.#start = this.#next;
    this.#end = end === -1 ? this.#bytes.length : end;
    this.#next = this.#end + 1;
    return false;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  get text(): string {
    return this.bytes.toString("utf8");
  }

  get withoutCreated(): string {
    return this.text.slice(1);
  }
}
