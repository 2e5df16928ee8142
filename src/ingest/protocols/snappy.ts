import { LoggiaError } from "../../errors.ts";

/**
 * Decompresses a block of snappy, which is neither framed nor checked by a sum:
 * https://github.com/google/snappy/blob/main/format_description.txt
 * @throws LoggiaError `bad_body`
 */
export function decompressSnappy(input: Buffer): Buffer {
  const { value: size_bytes, at: start } = readSize(input);
  // Each copy of three bytes yields 64 at the most.
  if (size_bytes > input.length * 64) throw broken();
  const output = Buffer.allocUnsafe(size_bytes);
  let at = start;
  let written = 0;
  while (at < input.length) {
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
      input.copy(output, written, at, at + length);
      at += length;
      written += length;
      continue;
    }
    const bytes = kind === 3 ? 4 : kind;
    if (at + bytes > input.length) throw broken();
    const length = kind === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1;
    const offset = kind === 1 ? ((tag & 0xe0) << 3) | input[at]! : input.readUIntLE(at, bytes);
    at += bytes;
    if (offset === 0 || offset > written || written + length > size_bytes) throw broken();
    if (offset >= length) output.copyWithin(written, written - offset, written - offset + length);
    // What is copied goes on within the copy.
    else for (let i = 0; i < length; i++) output[written + i] = output[written + i - offset]!;
    written += length;
  }
  if (written !== size_bytes) throw broken();
  return output;
}

/** The size of a block after decompression. @throws LoggiaError `bad_body` */
export function sizeOfSnappy(input: Buffer): number {
  return readSize(input).value;
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
  return new LoggiaError("bad_body", "The body cannot be decompressed: it is no block of snappy");
}
