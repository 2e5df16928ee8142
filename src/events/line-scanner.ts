import { ATTRIBUTES, CREATED, emptyFields, fieldAt, GEO, TAGS, VALUE } from "./line-fields.ts";
import type { Field, LineFields } from "./line-fields.ts";
import type { LineReader, OpenLines } from "./lines.ts";

/**
 * Scanner of JSON lines that hold events: each line an object with the fields of an event, in any
 * order, each at most once. For the short texts of usual events it is faster than `JSON.parse`, and
 * its strings are slices of one long string, which leaves little garbage.
 *
 * Invariant: it reads a line as `JSON.parse` would, or leaves the line to `JSON.parse`. It leaves
 * unknown and repeated fields, booleans, numbers of more than 15 digits, long texts, many tags,
 * white space other than a blank after a comma or colon, and invalid JSON. Of attributes it finds
 * only the beginning and end. It reports no errors.
 */

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const BLANK = 32;
const QUOTE = 34;
const COMMA = 44;
const MINUS = 45;
const POINT = 46;
const ZERO = 48;
const NINE = 57;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const LETTER_N = 110;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const LAST_ASCII = 127;
/** Up to this many digits, a number and the power of ten that divides it are exact in a double. */
const MAX_DIGITS = 15;
/**
 * Longest text read here. `JSON.parse` is faster at longer ones, as it examines many bytes at once.
 */
const MAX_TEXT_BYTES = 400;
/**
 * Bytes decoded into one string at a time. A kept slice keeps the whole string alive, and V8
 * allocates strings above 128 KB as large objects with pages of their own.
 */
const PART_BYTES = 32 * 1024;
/** Longer attributes are left to a parser that can pause. */
const MAX_ATTRIBUTES_BYTES = 64 * 1024;
/** Maximum number of tags read here. More are rare. */
const MAX_TAGS = 100;

export class LineScanner implements LineReader {
  /** Fields of the last line read. */
  fields: LineFields = emptyFields();
  /**
   * Whether the line holds only ASCII texts without escapes, numbers, tags as a list of such texts,
   * and ASCII attributes. The bytes of {@link withoutCreated} then mean the same in any line.
   */
  isPlain = true;
  readonly #bytes: Buffer;
  /** Some lines in Latin-1, of which ASCII texts are slices, and the range of bytes it covers. */
  #latin1 = "";
  #latin1From = 0;
  #latin1To = 0;
  /** Start of the next line. */
  #next: number;
  /** Start and end of the last line read, without its line break. */
  #start = 0;
  #end = 0;
  /** Properties of the last text scanned. */
  #isAscii = true;
  #hasEscapes = false;
  /** Range of `created` in the line, with the one comma that is removed with it. */
  #createdFrom = 0;
  #createdTo = 0;

  /** @param from start of the first line */
  constructor(bytes: Buffer, from = 0) {
    this.#bytes = bytes;
    this.#next = from;
  }

  get hasNext(): boolean {
    return this.#next <= this.#bytes.length;
  }

  next(): boolean {
    this.#start = this.#next;
    const end = this.#bytes[this.#start] === OPEN_BRACE ? this.#readObject(this.#start) : -1;
    if (end !== -1) {
      const behind = this.#bytes[end] === CARRIAGE_RETURN ? end + 1 : end;
      if (behind === this.#bytes.length || this.#bytes[behind] === LINE_FEED) {
        this.#end = end;
        this.#next = behind + 1;
        return true;
      }
    }
    this.#end = this.#lineEnd();
    this.#next = this.#end + 1;
    return false;
  }

  /** Returns the end of the line that begins at `#start`. */
  #lineEnd(): number {
    if (this.#bytes[this.#start] === LINE_FEED) return this.#start;
    const found = this.#bytes.indexOf(LINE_FEED, this.#start);
    return found === -1 ? this.#bytes.length : found;
  }

  get text(): string {
    if (this.#start === this.#end) return "";
    return this.#bytes.toString("utf8", this.#start, this.#end);
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  get withoutCreated(): string {
    const from = this.#start + 1;
    if (this.#createdTo === 0) return this.#part(from, this.#end);
    const behind = this.#part(this.#createdTo, this.#end);
    return this.#createdFrom === from ? behind : this.#part(from, this.#createdFrom) + behind;
  }

  /** @returns the index after the object that begins at `start`, or -1 */
  #readObject(start: number): number {
    const bytes = this.#bytes;
    this.#createdFrom = this.#createdTo = 0;
    this.fields = emptyFields();
    this.isPlain = true;
    let at = start + 1;
    for (let read = 0; ;) {
      const from = at;
      const field = fieldAt(bytes, at);
      if (field === null || (read & field.bit) !== 0) return -1;
      read |= field.bit;
      at += field.length;
      if (bytes[at] === BLANK) at += 1;
      at = this.#readValue(field, at);
      if (at === -1) return -1;
      const isLast = bytes[at] === CLOSE_BRACE;
      if (!isLast && bytes[at] !== COMMA) return -1;
      at += 1;
      if (field === CREATED) this.#noteCreated(from, at, isLast);
      if (isLast) return at;
      if (bytes[at] === BLANK) at += 1;
    }
  }

  /**
   * Notes the range of `created`: with the comma after it if it is the first field, else with the
   * one before it.
   */
  #noteCreated(from: number, behind: number, isLast: boolean): void {
    const isFirst = from === this.#start + 1;
    const before = this.#bytes[from - 1] === BLANK ? 2 : 1;
    this.#createdFrom = isFirst ? from : from - before;
    this.#createdTo = isFirst && !isLast ? behind : behind - 1;
  }

  /**
   * @returns the index after the value that begins at `at`, or -1, as the other readers of values
   *   do
   */
  #readValue(field: Field, at: number): number {
    const first = this.#bytes[at]!;
    if (first === QUOTE) {
      const end = this.#textEnd(at + 1);
      return end !== -1 && this.#setText(field, at + 1, end) ? end + 1 : -1;
    }
    if (first === OPEN_BRACKET && field === TAGS) return this.#readTags(at);
    if (first === OPEN_BRACE && field === GEO) return this.#readGeo(at);
    if (first === OPEN_BRACE && field === ATTRIBUTES) return this.#readAttributes(at);
    if (first === LETTER_N) return this.#readNull(field, at);
    return field === VALUE || field === CREATED ? this.#readNumber(field, at) : -1;
  }

  /** Assigns by literal names but for keywords: a store to a computed name is slower. */
  #setText(field: Field, from: number, to: number): boolean {
    const text = this.#text(from, to);
    if (text === null) return false;
    const { fields } = this;
    if (field.isKeyword) {
      fields[field.name] = text;
      return true;
    }
    switch (field.name) {
      case "id":
        fields.id = text;
        return true;
      case "created":
        fields.created = text;
        return true;
      case "text":
        fields.text = text;
        return true;
      case "data":
        fields.data = text;
        return true;
      case "tags":
      case "value":
      case "geo":
        // A text is not the usual type of these fields.
        fields[field.name] = text;
        this.isPlain = false;
        return true;
      case "attributes":
        return false;
    }
  }

  /** @returns the index of the quote that ends the text which begins at `from`, or -1 */
  #textEnd(from: number): number {
    const bytes = this.#bytes;
    let hasEscapes = false;
    let all = 0;
    const most = from + MAX_TEXT_BYTES;
    let at = from;
    for (; ; at++) {
      const byte = bytes[at]!;
      if (byte === QUOTE) break;
      if (at > most) return -1;
      // Also true for undefined, at the end of the bytes.
      if (!(byte >= BLANK)) return -1;
      all |= byte;
      if (byte === BACKSLASH) {
        hasEscapes = true;
        at += 1;
        // The escape must not continue in the next line.
        if (!(bytes[at]! >= BLANK)) return -1;
      }
    }
    this.#isAscii = all <= LAST_ASCII;
    this.#hasEscapes = hasEscapes;
    return at;
  }

  /** Returns the text between the quotes that {@link #textEnd} found last. */
  #text(from: number, to: number): string | null {
    if (this.#isAscii && !this.#hasEscapes) return this.#part(from, to);
    this.isPlain = false;
    if (!this.#hasEscapes) return this.#bytes.toString("utf8", from, to);
    return parsed(this.#bytes.toString("utf8", from - 1, to + 1)) as string | null;
  }

  /** Returns a range of ASCII bytes of the line as a string. */
  #part(from: number, to: number): string {
    if (to > this.#latin1To) {
      this.#latin1From = this.#start;
      this.#latin1To = Math.max(to, Math.min(this.#start + PART_BYTES, this.#bytes.length));
      this.#latin1 = this.#bytes.toString("latin1", this.#latin1From, this.#latin1To);
    }
    return this.#latin1.substring(from - this.#latin1From, to - this.#latin1From);
  }

  #readTags(start: number): number {
    const bytes = this.#bytes;
    const tags: string[] = [];
    this.fields.tags = tags;
    let at = start + 1;
    if (bytes[at] === CLOSE_BRACKET) return at + 1;
    for (;;) {
      if (bytes[at] !== QUOTE) return -1;
      const end = this.#textEnd(at + 1);
      const tag = end === -1 ? null : this.#text(at + 1, end);
      if (tag === null) return -1;
      if (tags.push(tag) > MAX_TAGS) return -1;
      at = end + 2;
      if (bytes[at - 1] === CLOSE_BRACKET) return at;
      if (bytes[at - 1] !== COMMA) return -1;
      if (bytes[at] === BLANK) at += 1;
    }
  }

  /** Reads an object without nested objects. */
  #readGeo(at: number): number {
    let end = at;
    for (; this.#bytes[end] !== CLOSE_BRACE; end++) if (!(this.#bytes[end]! >= BLANK)) return -1;
    const place = parsed(this.#bytes.toString("utf8", at, end + 1));
    if (place === null) return -1;
    this.fields.geo = place;
    this.isPlain = false;
    return end + 1;
  }

  /** Keeps the JSON of the object unparsed. */
  #readAttributes(start: number): number {
    const bytes = this.#bytes;
    let depth = 0;
    let at = start;
    let isAscii = true;
    do {
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        at = this.#textEnd(at + 1);
        if (at === -1) return -1;
        isAscii &&= this.#isAscii;
      } else if (byte === OPEN_BRACE) depth += 1;
      else if (byte === CLOSE_BRACE) depth -= 1;
      else if (!(byte >= BLANK && byte <= LAST_ASCII)) return -1;
      at += 1;
      if (at - start > MAX_ATTRIBUTES_BYTES) return -1;
    } while (depth > 0);
    this.isPlain &&= isAscii;
    this.fields.attributes = isAscii ? this.#part(start, at) : bytes.toString("utf8", start, at);
    return at;
  }

  #readNumber(field: Field, start: number): number {
    const bytes = this.#bytes;
    const isNegative = bytes[start] === MINUS;
    const from = isNegative ? start + 1 : start;
    let at = from;
    let digits = 0;
    let divisor = 1;
    let byte = bytes[at]!;
    for (; byte >= ZERO && byte <= NINE; byte = bytes[++at]!) digits = digits * 10 + (byte - ZERO);
    let count = at - from;
    if (count === 0 || (count > 1 && bytes[from] === ZERO)) return -1;
    if (byte === POINT) {
      const point = at;
      byte = bytes[++at]!;
      for (; byte >= ZERO && byte <= NINE; byte = bytes[++at]!) {
        digits = digits * 10 + (byte - ZERO);
        divisor *= 10;
      }
      if (at === point + 1) return -1;
      count += at - point - 1;
    }
    // JavaScript distinguishes "-0" from 0.
    if (count > MAX_DIGITS || (isNegative && digits === 0)) return -1;
    const number = (isNegative ? -digits : digits) / divisor;
    if (field === VALUE) this.fields.value = number;
    else this.fields.created = number;
    return at;
  }

  #readNull({ name }: Field, at: number): number {
    const end = at + 4;
    if (this.#bytes.toString("latin1", at, end) !== "null") return -1;
    this.fields[name] = null;
    this.isPlain = false;
    return end;
  }
}

/** Reads lines with a {@link LineScanner}. */
export const scanLines: OpenLines = (bytes, from) => new LineScanner(bytes, from);

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
