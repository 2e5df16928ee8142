import { LoggiaError } from "../../errors.ts";
import { TEXT_KEPT_BYTES } from "./long-json.ts";
import { messageText } from "./message-text.ts";

/** Fields read between two pauses. */
const PAUSE_FIELDS = 2_048;

/** Wire types of protobuf, without the obsolete groups. */
export const VARINT = 0;
export const FIXED64 = 1;
export const LENGTH = 2;
export const FIXED32 = 5;

/**
 * Reads the fields of a protobuf message in sequence:
 * https://protobuf.dev/programming-guides/encoding/
 *
 *     for (const reader = new ProtobufReader(bytes); reader.next();) switch (reader.field) { … }
 *
 * It never reads beyond its message. Fields that the caller does not read are skipped.
 * @throws LoggiaError `bad_body`, from every method
 */
export class ProtobufReader {
  /** Number and wire type of the current field. */
  field = 0;
  type = 0;
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;
  #fields = 0;
  /** Whether the value of the current field has been read; otherwise `next` skips it. */
  #isRead = true;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  /** Advances to the next field. Returns false at the end of the message. */
  next(): boolean {
    if (!this.#isRead) this.#skip();
    if (this.#at >= this.#end) return false;
    const tag = this.#varint32();
    this.field = tag >>> 3;
    this.type = tag & 7;
    if (this.field === 0) throw broken("a field has the number 0");
    this.#isRead = false;
    this.#fields += 1;
    return true;
  }

  /** Whether so many fields have been read since the last pause that a caller should pause. */
  get isPauseDue(): boolean {
    return this.#fields % PAUSE_FIELDS === 0;
  }

  /** Returns whether the field has this number and wire type. If not, its value is skipped. */
  is(field: number, type: number): boolean {
    return this.field === field && this.type === type;
  }

  /** Returns a text, of a very long one the beginning: more than an event holds. */
  text(): string {
    const { start, end } = this.#range();
    const stop = Math.min(end, start + TEXT_KEPT_BYTES);
    return messageText(this.#bytes.subarray(start, stop), stop < end);
  }

  bytes(): Buffer {
    const { start, end } = this.#range();
    return this.#bytes.subarray(start, end);
  }

  /** Returns a reader of the message in the field. */
  message(): ProtobufReader {
    const { start, end } = this.#range();
    return new ProtobufReader(this.#bytes, start, end);
  }

  /** Reads a 32-bit integer or a boolean. */
  uint32(): number {
    this.#isRead = true;
    return this.#varint32();
  }

  /** Reads a signed 64-bit integer. */
  int64(): bigint {
    this.#isRead = true;
    let low = 0;
    let high = 0;
    for (let i = 0; i < 10; i++) {
      const byte = this.#byte();
      const part = byte & 0x7f;
      if (i < 4) low += part * 2 ** (7 * i);
      else if (i === 4) {
        low += (part & 0x0f) * 2 ** 28;
        high += part >>> 4;
      } else if (i < 9) high += part * 2 ** (7 * i - 32);
      else high += (part & 1) * 2 ** 31;
      if (byte < 0x80) return BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low));
    }
    throw broken("a number has more than ten bytes");
  }

  fixed64(): bigint {
    return this.#bytes.readBigUInt64LE(this.#fixed(8));
  }

  double(): number {
    return this.#bytes.readDoubleLE(this.#fixed(8));
  }

  fixed32(): number {
    return this.#bytes.readUInt32LE(this.#fixed(4));
  }

  #fixed(size_bytes: number): number {
    this.#isRead = true;
    const start = this.#at;
    if (start + size_bytes > this.#end) throw truncated();
    this.#at += size_bytes;
    return start;
  }

  #range(): { start: number; end: number } {
    this.#isRead = true;
    const length = this.#varint32();
    const start = this.#at;
    const end = start + length;
    if (end > this.#end) throw truncated();
    this.#at = end;
    return { start, end };
  }

  #skip(): void {
    switch (this.type) {
      case VARINT:
        this.int64();
        return;
      case FIXED64:
        this.#fixed(8);
        return;
      case LENGTH:
        this.#range();
        return;
      case FIXED32:
        this.#fixed(4);
        return;
      default:
        // Groups are obsolete, and could nest without limit.
        throw broken(`a field has the wire type ${this.type}`);
    }
  }

  /** Returns the lower 32 bits of a varint, unsigned. */
  #varint32(): number {
    let value = 0;
    for (let i = 0; i < 10; i++) {
      const byte = this.#byte();
      if (i < 5) value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) return value >>> 0;
    }
    throw broken("a number has more than ten bytes");
  }

  #byte(): number {
    if (this.#at >= this.#end) throw truncated();
    return this.#bytes[this.#at++]!;
  }
}

function truncated(): LoggiaError {
  return broken("it ends within a field");
}

function broken(why: string): LoggiaError {
  return new LoggiaError("bad_body", `The body is not a valid protobuf message: ${why}`);
}
