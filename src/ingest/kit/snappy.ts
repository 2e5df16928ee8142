import { LoggiaError } from "../../errors.ts";
import type { Steps } from "./steps.ts";
import { PENDING } from "./steps.ts";

/** Elements decompressed, and bytes copied, between two pauses. */
const STEP_ELEMENTS = 8_192;
const STEP_BYTES = 1024 * 1024;

/**
 * Decompresses a snappy block, without framing and checksum:
 * https://github.com/google/snappy/blob/main/format_description.txt
 * @throws LoggiaError `bad_body`
 */
export function* decompressSnappy(input: Buffer): Steps<Buffer> {
  const { value: size_bytes, at: start } = readSize(input);
  // A copy of three bytes yields at most 64.
  if (size_bytes > input.length * 64) throw broken();
  const output = Buffer.allocUnsafe(size_bytes);
  let at = start;
  let written = 0;
  let elements = 0;
  while (at < input.length) {
    if (++elements % STEP_ELEMENTS === 0) yield PENDING;
    const tag = input[at++]!;
    const kind = tag & 3;
    if (kind === 0) {
      let length = tag >>> 2;
      if (length >= 60) {
        const bytes = length - 59;
        if (at + bytes > input.length) throw broken();
        length = input.readUIntLE(at, bytes);
        at += bytes;
      }
      length += 1;
      if (at + length > input.length || written + length > size_bytes) throw broken();
      for (const end = at + length; at < end; yield PENDING) {
        const copied = input.copy(output, written, at, Math.min(end, at + STEP_BYTES));
        at += copied;
        written += copied;
        if (at === end) break;
      }
      continue;
    }
    const bytes = kind === 3 ? 4 : kind;
    if (at + bytes > input.length) throw broken();
    const length = kind === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1;
    const offset = kind === 1 ? ((tag & 0xe0) << 3) | input[at]! : input.readUIntLE(at, bytes);
    at += bytes;
    if (offset === 0 || offset > written || written + length > size_bytes) throw broken();
    if (offset >= length) output.copyWithin(written, written - offset, written - offset + length);
    // The copied range overlaps the output.
    else for (let i = 0; i < length; i++) output[written + i] = output[written + i - offset]!;
    written += length;
  }
  if (written !== size_bytes) throw broken();
  return output;
}

/** Returns the decompressed size of a block. @throws LoggiaError `bad_body` */
export function sizeOfSnappy(input: Buffer): number {
  return readSize(input).value;
}

/** Beginning of framed snappy: a chunk of type 0xff that holds "sNaPpY". */
const STREAM_BEGIN = Buffer.from([0xff, 0x06, 0x00, 0x00, ...Buffer.from("sNaPpY")]);
const CHUNK_HEAD_BYTES = 4;
const SUM_BYTES = 4;
/** Type 0 is a compressed chunk. */
const [PLAIN, FIRST_SKIPPED] = [0x01, 0x80];

/** Returns whether this is framed snappy, with checksums, which some clients call "snappy". */
export function isFramedSnappy(input: Buffer): boolean {
  return input.subarray(0, STREAM_BEGIN.length).equals(STREAM_BEGIN);
}

/**
 * Decompresses framed snappy: https://github.com/google/snappy/blob/main/framing_format.txt
 * Checksums are not verified: HTTP delivers whole bodies, and a damaged block fails to decompress.
 * @throws LoggiaError `bad_body`
 * @throws RangeError if the output exceeds `limit_bytes`
 */
export function* decompressFramedSnappy(input: Buffer, limit_bytes: number): Steps<Buffer> {
  let size_bytes = 0;
  let chunks = 0;
  for (const { block, isPlain } of chunksOf(input)) {
    if (++chunks % STEP_ELEMENTS === 0) yield PENDING;
    size_bytes += isPlain ? block.length : sizeOfSnappy(block);
    if (size_bytes > limit_bytes) throw new RangeError("too large");
  }
  const output = Buffer.allocUnsafe(size_bytes);
  let written = 0;
  for (const { block, isPlain } of chunksOf(input)) {
    written += (isPlain ? block : yield* decompressSnappy(block)).copy(output, written);
    yield PENDING;
  }
  return output;
}

/** Yields the chunks that hold data; of a long run of others an empty one, which costs nothing. */
function* chunksOf(input: Buffer): Generator<{ readonly block: Buffer; readonly isPlain: boolean }> {
  let skipped = 0;
  for (let at = 0; at < input.length;) {
    if (at + CHUNK_HEAD_BYTES > input.length) throw broken();
    const type = input[at]!;
    const start = at + CHUNK_HEAD_BYTES;
    at = start + input.readUIntLE(start - 3, 3);
    if (at > input.length) throw broken();
    if (type >= FIRST_SKIPPED) {
      if (++skipped % STEP_ELEMENTS === 0) yield { block: input.subarray(0, 0), isPlain: true };
      continue;
    }
    if (type > PLAIN || at - start < SUM_BYTES) throw broken();
    yield { block: input.subarray(start + SUM_BYTES, at), isPlain: type === PLAIN };
  }
}

function readSize(input: Buffer): { value: number; at: number } {
  let value = 0;
  for (let at = 0; at < Math.min(5, input.length); at++) {
    const byte = input[at]!;
    value += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) {
      if (value > 0xffff_ffff) break;
      return { value, at: at + 1 };
    }
  }
  throw broken();
}

function broken(): LoggiaError {
  return new LoggiaError("bad_body", "The body cannot be decompressed: it is not a valid snappy block");
}
