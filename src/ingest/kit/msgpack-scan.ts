import { LoggiaError } from "../../errors.ts";
import type { Steps } from "./steps.ts";
import { PENDING } from "./steps.ts";

/** Deeper values are refused, because decoding them would recurse as deep. */
const MAX_DEPTH = 64;
/** Maximum number of values in one message. Each takes more memory than it has bytes. */
const MAX_VALUES = 2_000_000;
/** Values scanned between two pauses. */
const PAUSE_VALUES = 8_192;
/** The scan has paused. */
export const NOT_YET = -2;

/**
 * Finds the end of a MessagePack value in bytes that may arrive in pieces. It examines each byte at
 * most once, and none within texts.
 */
export class MsgpackScan {
  /** Start of the next value. It may exceed the available bytes while a text is incomplete. */
  #at: number;
  /** Number of values missing in each enclosing list and map, innermost last. */
  readonly #missing: number[] = [1];
  readonly #most_bytes: number;
  #values = 0;
  #pause = PAUSE_VALUES;

  /** @param start position of the value */
  constructor(most_bytes: number, start = 0) {
    this.#at = start;
    this.#most_bytes = start + most_bytes;
  }

  /** Number of values found so far, with those within lists and maps. */
  get values(): number {
    return this.#values;
  }

  /**
   * Returns the end of the value; -1 if bytes are missing, {@link NOT_YET} if a caller should pause
   * before it calls again.
   * @param bytes all bytes received so far
   * @throws LoggiaError `bad_body`, `body_too_large`
   */
  end(bytes: Buffer): number {
    const missing = this.#missing;
    for (;;) {
      while (missing.length > 0 && missing[missing.length - 1] === 0) missing.pop();
      if (this.#at > this.#most_bytes) {
        throw new LoggiaError("body_too_large", `A message has more than ${this.#most_bytes} bytes`);
      }
      if (missing.length === 0) return this.#at <= bytes.length ? this.#at : -1;
      if (this.#at >= bytes.length) return -1;
      if (this.#values >= this.#pause) {
        this.#pause = this.#values + PAUSE_VALUES;
        return NOT_YET;
      }
      const head = headAt(bytes, this.#at);
      if (head === null) return -1;
      this.#at += head.size_bytes;
      missing[missing.length - 1]! -= 1;
      if (++this.#values > MAX_VALUES)
        throw new LoggiaError("bad_body", `A message has more than ${MAX_VALUES} values`);
      if (head.values === 0) continue;
      if (missing.length >= MAX_DEPTH) throw new LoggiaError("bad_body", `A message has more than ${MAX_DEPTH} levels`);
      missing.push(head.values);
    }
  }
}

/** Returns the end of the value at a position; -1 if bytes are missing. @throws LoggiaError `bad_body` */
export function* endOfValue(bytes: Buffer, at: number, most_bytes: number): Steps<{ end: number; values: number }> {
  const scan = new MsgpackScan(most_bytes, at);
  for (;;) {
    const end = scan.end(bytes);
    if (end !== NOT_YET) return { end, values: scan.values };
    yield PENDING;
  }
}

/** Decoded head of a value. */
export type Head = {
  readonly kind: "list" | "map" | "text" | "other";
  /** Size of the head, and of the content if the value is neither list nor map. */
  readonly size_bytes: number;
  /** Offset of the content of a text. */
  readonly head_bytes: number;
  /** Number of values within a list or map. */
  readonly values: number;
};

/** Decodes the head at a position; null if bytes are missing. @throws LoggiaError `bad_body` */
export function headAt(bytes: Buffer, at: number): Head | null {
  const first = bytes[at]!;
  if (first <= 0x7f || first >= 0xe0) return other(1);
  if (first <= 0x8f) return group("map", 1, first & 0x0f);
  if (first <= 0x9f) return group("list", 1, first & 0x0f);
  if (first <= 0xbf) return text(1, first & 0x1f);
  if (first <= 0xc3) {
    if (first === 0xc1) throw new LoggiaError("bad_body", "A message is not valid MessagePack");
    return other(1);
  }
  const fixed = FIXED[first];
  if (fixed !== undefined) return other(fixed);
  const width = WIDTHS[first]!;
  if (at + 1 + width > bytes.length) return null;
  const length = bytes.readUIntBE(at + 1, width);
  if (first <= 0xc6 || (first >= 0xd9 && first <= 0xdb)) return text(1 + width, length);
  if (first <= 0xc9) return other(2 + width + length);
  return group(first <= 0xdd ? "list" : "map", 1 + width, length);
}

/** Sizes of values whose first byte determines their length. */
const FIXED: Readonly<Record<number, number>> = {
  0xca: 5, 0xcb: 9, 0xcc: 2, 0xcd: 3, 0xce: 5, 0xcf: 9, 0xd0: 2, 0xd1: 3, 0xd2: 5, 0xd3: 9,
  0xd4: 3, 0xd5: 4, 0xd6: 6, 0xd7: 10, 0xd8: 18,
}; // prettier-ignore
/** Width in bytes of the length field of all other values. */
const WIDTHS: Readonly<Record<number, number>> = {
  0xc4: 1, 0xc5: 2, 0xc6: 4, 0xc7: 1, 0xc8: 2, 0xc9: 4, 0xd9: 1, 0xda: 2, 0xdb: 4, 0xdc: 2, 0xdd: 4, 0xde: 2, 0xdf: 4,
}; // prettier-ignore

export const [TEXT_32, BYTES_32] = [0xdb, 0xc6];
const [BYTES_8, BYTES_16] = [0xc4, 0xc5];

/** Returns whether a head of the kind "text" begins binary data. */
export function isBinary(first: number): boolean {
  return first === BYTES_8 || first === BYTES_16 || first === BYTES_32;
}

function other(size_bytes: number): Head {
  return { kind: "other", size_bytes, head_bytes: 1, values: 0 };
}

function text(head_bytes: number, length: number): Head {
  return { kind: "text", size_bytes: head_bytes + length, head_bytes, values: 0 };
}

function group(kind: "list" | "map", head_bytes: number, count: number): Head {
  return { kind, size_bytes: head_bytes, head_bytes, values: kind === "map" ? 2 * count : count };
}
