import { messageText } from "../../ingest/kit/message-text.ts";

/** Longest line; longer ones are cut. It bounds the memory for files without line breaks. */
export const LINE_MAX_BYTES = 1024 * 1024;

/** Encoding of a file, detected by its first bytes. */
export type FileEncoding = "utf8" | "utf16le" | "utf16be";

export type LineOptions = {
  readonly encoding: FileEncoding;
  /** Whether the bytes start a file, where a byte order mark is skipped. */
  readonly isFirst: boolean;
  /** Whether no bytes follow: the last line needs no line break then. */
  readonly isLast: boolean;
  /** Whether zero bytes at the end are followed by others, so that nobody will fill them. */
  readonly isHoleClosed: boolean;
};

/** A line without its line break; `text` is null for a hole that no line follows yet. */
export type FileLine = { readonly text: string | null; readonly end: number; readonly isEnded: boolean };

const CARRIAGE_RETURN = 13;
const ZEROS = Buffer.alloc(8);
const LINE_FEEDS: Readonly<Record<FileEncoding, Buffer>> = {
  utf8: Buffer.from([10]),
  utf16le: Buffer.from([10, 0]),
  utf16be: Buffer.from([0, 10]),
};

/** Most bytes that the detection of an encoding takes. */
export const ENCODING_BYTES = 8;

/**
 * Returns the encoding of a file that begins with these bytes; null if it depends on those that
 * follow. Without a byte order mark, UTF-16 is detected by characters of ASCII at the beginning.
 */
export function detectEncoding(head: Buffer, isWhole = false): FileEncoding | null {
  if (head[0] === 0xff && head[1] === 0xfe) return "utf16le";
  if (head[0] === 0xfe && head[1] === 0xff) return "utf16be";
  const units = Math.min(head.length, ENCODING_BYTES) >> 1;
  if (units === 0) return isWhole ? "utf8" : null;
  const isIn = (encoding: "utf16le" | "utf16be"): boolean =>
    Array.from({ length: units }, (_, i) => head.readUInt16BE(2 * i)).every((unit) =>
      encoding === "utf16le" ? isAscii(unit >> 8) && (unit & 0xff) === 0 : isAscii(unit),
    );
  const found = (["utf16le", "utf16be"] as const).find(isIn);
  if (found === undefined) return "utf8";
  if (units === ENCODING_BYTES / 2) return found;
  if (!isWhole) return null;
  // A single unit may be a character before a hole.
  return units > 1 ? found : "utf8";
}

function isAscii(code: number): boolean {
  return (code >= 0x20 && code < 0x7f) || code === 9 || code === 10 || code === 13;
}

/**
 * Splits bytes into lines. A hole, which is a run of zero bytes as a truncated file has where its
 * writer goes on at the former offset, ends the line before it and belongs to no line.
 */
export class LineSplitter {
  readonly #bytes: Buffer;
  readonly #options: LineOptions;
  /** Start of the next hole; -1: not searched yet. */
  #hole = -1;

  constructor(bytes: Buffer, options: LineOptions) {
    this.#bytes = bytes;
    this.#options = options;
  }

  /** Returns the line at an offset; null if it has no end yet and may still get one. */
  lineAt(at: number): FileLine | null {
    const bytes = this.#bytes;
    const { encoding, isFirst, isLast } = this.#options;
    const begin = this.#skipZeros(at);
    if (begin === bytes.length) {
      return this.#isClosed && begin > at ? { text: null, end: begin, isEnded: true } : null;
    }
    const { stop, next, isEnded } = this.#endFrom(begin);
    if (!isEnded && !isLast && bytes.length - begin < LINE_MAX_BYTES) return null;
    if (!isEnded && !isLast && this.#holeFrom(begin) < bytes.length) return null;
    const skipped = isFirst && at === 0 ? markLength(bytes.subarray(begin), encoding) : 0;
    const text = decode(bytes.subarray(begin + skipped, Math.min(stop, begin + LINE_MAX_BYTES)), encoding);
    const isPlain = encoding === "utf8" && bytes[stop - 1] !== CARRIAGE_RETURN && bytes[stop - 1] !== 0;
    const isCut = stop - begin > LINE_MAX_BYTES;
    return { text: isPlain || isCut ? text : text.replace(/\0*\r?$/, ""), end: isEnded ? next : stop, isEnded };
  }

  /** Returns the offset after the rest of a line that was cut; null if it has no end yet. */
  skipRest(): number | null {
    const { next, isEnded } = this.#endFrom(0);
    return isEnded ? next : null;
  }

  get #isClosed(): boolean {
    return this.#options.isHoleClosed || this.#options.isLast;
  }

  /** Returns where the line that begins at an offset stops, and where the next one begins. */
  #endFrom(begin: number): { stop: number; next: number; isEnded: boolean } {
    const bytes = this.#bytes;
    const lineFeed = LINE_FEEDS[this.#options.encoding];
    const found = indexOfUnit(bytes, lineFeed, begin);
    const hole = this.#holeFrom(begin);
    if (hole < (found === -1 ? bytes.length : found)) {
      const isEnded = this.#isClosed || this.#skipZeros(hole) < bytes.length;
      return { stop: isEnded ? hole : bytes.length, next: hole, isEnded };
    }
    if (found === -1) return { stop: bytes.length, next: bytes.length, isEnded: false };
    return { stop: found, next: found + lineFeed.length, isEnded: true };
  }

  #holeFrom(begin: number): number {
    if (this.#hole >= begin) return this.#hole;
    const found = this.#bytes.indexOf(ZEROS, begin);
    const isWide = this.#options.encoding !== "utf8";
    this.#hole = found === -1 ? this.#bytes.length : isWide ? found + (found % 2) : found;
    return this.#hole;
  }

  #skipZeros(at: number): number {
    const bytes = this.#bytes;
    let end = at;
    while (end < bytes.length && bytes[end] === 0) end += 1;
    // A single zero byte may be half of a character.
    return this.#options.encoding === "utf8" || end === bytes.length ? end : end - ((end - at) % 2);
  }
}

/** Returns the index of a code unit at or after `from`; -1 if there is none. */
function indexOfUnit(bytes: Buffer, unit: Buffer, from: number): number {
  let at = bytes.indexOf(unit, from);
  while (at !== -1 && at % unit.length !== 0) at = bytes.indexOf(unit, at + 1);
  return at;
}

function markLength(bytes: Buffer, encoding: FileEncoding): number {
  if (encoding !== "utf8") return bytes[0]! >= 0xfe && bytes[1]! >= 0xfe ? 2 : 0;
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

function decode(bytes: Buffer, encoding: FileEncoding): string {
  if (encoding === "utf8") return messageText(bytes);
  const units = bytes.subarray(0, bytes.length - (bytes.length % 2));
  const ordered = encoding === "utf16be" ? Buffer.from(units).swap16() : units;
  return ordered.toString("utf16le").toWellFormed();
}
