/** The end of the value lies behind the bytes that were scanned. */
export const NOT_YET = -1;
/** Limit of consecutive white space. JSON in use has less. */
const MAX_BLANK = 64 * 1024;

export const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The kinds of values with members: those of an object have names, those of a list have none. */
type Group = { readonly open: number; readonly close: number; readonly expected: string };
export const OBJECT: Group = { open: OPEN, close: CLOSE, expected: "an object is expected" };
export const LIST: Group = { open: OPEN_LIST, close: CLOSE_LIST, expected: "an array is expected" };

/**
 * Finds where the values of JSON begin and end. It looks at quotes and brackets only; the bytes
 * between them are checked when they are parsed. It does not pause: {@link advance} scans as many
 * bytes at a time as its caller asks for.
 */
export class JsonBytes {
  readonly bytes: Buffer;
  #start = 0;
  #at = 0;
  #depth = 0;
  #isText = false;
  #values = 0;
  #groupEnd = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /**
   * Number of commas and opening brackets of the value scanned last: the values in it, or a little
   * more.
   */
  get values(): number {
    return this.#values;
  }

  /** Where {@link advance} continues. */
  get position(): number {
    return this.#at;
  }

  /** Whether the position is within an object or list. */
  get isNested(): boolean {
    return this.#depth > 0;
  }

  /** End of the object or list of which {@link firstOf} or {@link nextOf} returned -1 last. */
  get groupEnd(): number {
    return this.#groupEnd;
  }

  /** Starts to scan the value at `start`. */
  begin(start: number): void {
    this.#start = this.#at = start;
    this.#depth = 0;
    this.#isText = false;
    this.#values = 0;
  }

  /** Scans to `stop`. Returns the end of the value, or {@link NOT_YET}. */
  advance(stop: number): number {
    const { bytes } = this;
    const most = Math.min(stop, bytes.length);
    let at = this.#at;
    while (at < most) {
      if (this.#isText) {
        while (at < most && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
        if (at >= most) break;
        at += 1;
        this.#isText = false;
        if (this.#depth === 0) return at;
      }
      for (; at < most; at++) {
        const byte = bytes[at]!;
        if (byte === QUOTE) {
          this.#isText = true;
          at += 1;
          break;
        }
        if (byte === OPEN || byte === OPEN_LIST) {
          this.#depth += 1;
          this.#values += 1;
        } else if (byte === CLOSE || byte === CLOSE_LIST) {
          if (this.#depth === 0) return this.#scalarEnd(at);
          if (--this.#depth === 0) return at + 1;
        } else if (this.#depth === 0) {
          if (byte === COMMA || byte === COLON || isBlank(byte)) return this.#scalarEnd(at);
        } else if (byte === COMMA) this.#values += 1;
      }
    }
    this.#at = at;
    if (at < bytes.length) return NOT_YET;
    if (this.#depth === 0 && !this.#isText && at > this.#start) return at;
    throw this.malformed("it ends within a value");
  }

  /** Returns the start of the first member of the object or list at `start`; -1 if it is empty. */
  firstOf(start: number, group = LIST): number {
    if (this.bytes[start] !== group.open) throw this.malformed(group.expected);
    const at = this.skipBlank(start + 1);
    return this.bytes[at] === group.close ? this.#endGroup(at) : this.#member(at, group);
  }

  /** Returns the start of the member after the one that ends at `end`; -1 if there is none. */
  nextOf(end: number, group = LIST): number {
    const at = this.skipBlank(end);
    if (this.bytes[at] === group.close) return this.#endGroup(at);
    if (this.bytes[at] !== COMMA) throw this.malformed("a comma is missing");
    return this.#member(this.skipBlank(at + 1), group);
  }

  #endGroup(at: number): number {
    this.#groupEnd = at + 1;
    return -1;
  }

  #member(at: number, group: Group): number {
    if (group === OBJECT && this.bytes[at] !== QUOTE) throw this.malformed("a name in quotes is expected");
    return at;
  }

  /** Returns the start of the value of the member whose name ends at `end`. */
  valueAfter(end: number): number {
    const at = this.skipBlank(end);
    if (this.bytes[at] !== COLON) throw this.malformed("a colon is missing");
    return this.skipBlank(at + 1);
  }

  skipBlank(start: number): number {
    const at = endOfBlank(this.bytes, start);
    if (at - start > MAX_BLANK) throw this.malformed("there is too much white space");
    return at;
  }

  /** Throws if there is more than white space from `end` on. */
  requireEnd(end: number): void {
    if (this.skipBlank(end) < this.bytes.length) throw this.malformed("there is more data after its end");
  }

  /** Returns the error for malformed JSON. */
  malformed(why: string): Error {
    return new SyntaxError(`Malformed JSON: ${why}`);
  }

  #scalarEnd(at: number): number {
    if (at === this.#start) throw this.malformed("a value is missing");
    return at;
  }
}

/** Returns the position after the white space at `start`. */
export function endOfBlank(bytes: Buffer, start: number): number {
  let at = start;
  while (isBlank(bytes[at])) at += 1;
  return at;
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
