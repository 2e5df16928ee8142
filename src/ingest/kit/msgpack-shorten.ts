import { LoggiaError } from "../../errors.ts";
import { AT_ONCE_BYTES, AT_ONCE_VALUES } from "./json.ts";
import type { Steps } from "./steps.ts";
import { KEPT_BYTES, TEXT_KEPT_BYTES } from "./long-json.ts";
import { BYTES_32, endOfValue, headAt, isBinary, TEXT_32 } from "./msgpack-scan.ts";
import type { Head } from "./msgpack-scan.ts";
import { PENDING } from "./steps.ts";

const MAX_DEPTH = 32;
/** Maximum number of members of a map, or values of a list: more than an event keeps. */
const MAX_MEMBERS = 1_100;
/** Members copied or skipped between two pauses. */
const PAUSE_MEMBERS = 512;
/** Longer names are left out. */
const MAX_NAME_BYTES = 4_096;
const [NIL, LIST_32, MAP_32] = [0xc0, 0xdd, 0xdf];
/** Share of the room of a list or map that its members may use. */
const MEMBERS_SHARE = 7 / 8;
/** Size of the head of a group, and of a long text. */
const HEAD_BYTES = 5;

/** Bytes of a value that can be decoded at once, and whether parts of it were left out. */
export type ShortValue = { readonly bytes: Buffer; readonly isCut: boolean };

/**
 * Returns a complete MessagePack value, shortened if it is too long, or has too many values, to be
 * decoded at once: texts are cut, and members without room are left out.
 * @param values number of values in it
 */
export function* shortValue(bytes: Buffer, values: number): Steps<ShortValue> {
  const isLong = bytes.length > KEPT_BYTES || (bytes.length > AT_ONCE_BYTES && values > AT_ONCE_VALUES);
  if (!isLong) return { bytes, isCut: false };
  return { bytes: yield* new Shortener(bytes).shorten(), isCut: true };
}

/** Copies a value in one pass, as far as there is room. */
class Shortener {
  readonly #bytes: Buffer;
  readonly #out = Buffer.allocUnsafe(KEPT_BYTES + 2 * MAX_DEPTH * HEAD_BYTES);
  #size = 0;
  #values = 0;
  /** Number of values up to which members of the current group are kept. */
  #most_values = AT_ONCE_VALUES;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  *shorten(): Steps<Buffer> {
    yield* this.#value(0, KEPT_BYTES, 0);
    return this.#out.subarray(0, this.#size);
  }

  /** Copies the value at `at`, up to an output size of `most`. Returns the end of the value. */
  *#value(at: number, most: number, depth: number): Steps<number> {
    this.#values += 1;
    const head = this.#headAt(at);
    if (head.values > 0 && depth < MAX_DEPTH) return yield* this.#group(at, most, depth);
    const { end } = yield* endOfValue(this.#bytes, at, this.#bytes.length);
    if (end - at <= most - this.#size && end - at <= TEXT_KEPT_BYTES) this.#put(this.#bytes.subarray(at, end));
    else if (head.kind === "text") this.#putText(at + head.head_bytes, end, most, isBinary(this.#bytes[at]!));
    else this.#out[this.#size++] = NIL;
    return end;
  }

  /** Copies a list or map. Its members may use most of the room, so that others find some. */
  *#group(start: number, most: number, depth: number): Steps<number> {
    const { kind, values, size_bytes } = this.#headAt(start);
    const head = this.#size;
    this.#size += HEAD_BYTES;
    const own = this.#size + Math.floor((most - this.#size) * MEMBERS_SHARE);
    const outer_values = this.#most_values;
    this.#most_values = this.#values + Math.floor((outer_values - this.#values) * MEMBERS_SHARE);
    const width = kind === "map" ? 2 : 1;
    let at = start + size_bytes;
    let kept = 0;
    for (let n = 0; n < values / width; n++) {
      if (n % PAUSE_MEMBERS === PAUSE_MEMBERS - 1) yield PENDING;
      const nameEnd = width === 2 ? (yield* endOfValue(this.#bytes, at, this.#bytes.length)).end : at;
      const name_bytes = nameEnd - at;
      const hasRoom = this.#values < this.#most_values && this.#size + name_bytes + HEAD_BYTES < own;
      if (kept < MAX_MEMBERS && hasRoom && name_bytes <= MAX_NAME_BYTES) {
        this.#put(this.#bytes.subarray(at, nameEnd));
        at = yield* this.#value(nameEnd, own, depth + 1);
        kept += 1;
      } else at = (yield* endOfValue(this.#bytes, nameEnd, this.#bytes.length)).end;
    }
    this.#most_values = outer_values;
    this.#out[head] = kind === "map" ? MAP_32 : LIST_32;
    this.#out.writeUInt32BE(kept, head + 1);
    return at;
  }

  /** Copies the beginning of a text or of binary data. */
  #putText(from: number, end: number, most: number, binary: boolean): void {
    const room = Math.min(((most - this.#size) >> 1) - HEAD_BYTES, TEXT_KEPT_BYTES);
    let stop = Math.min(end, from + Math.max(0, room));
    // No character is split.
    if (!binary && stop < end) while (stop > from && (this.#bytes[stop]! & 0xc0) === 0x80) stop -= 1;
    const kept = this.#bytes.subarray(from, stop);
    this.#out[this.#size] = binary ? BYTES_32 : TEXT_32;
    this.#out.writeUInt32BE(kept.length, this.#size + 1);
    this.#size += HEAD_BYTES;
    this.#put(kept);
  }

  #headAt(at: number): Head {
    const head = at < this.#bytes.length ? headAt(this.#bytes, at) : null;
    if (head === null) throw new LoggiaError("bad_body", "A message ends within a value");
    return head;
  }

  #put(bytes: Buffer): void {
    this.#size += bytes.copy(this.#out, this.#size);
  }
}
