import { SEGMENT_OFFSETS, SealedSegment, type Summary } from "./key-segment.ts";

/** Version of the layout. Summaries of another version are not read, but made anew. */
const LAYOUT = 1;
const HEAD_BYTES = 48;

/**
 * Encodes a segment. Arrays have the byte order of the host, as the layout of every platform of
 * Node is little endian.
 */
export function encodeSummary({ segment, earlier }: Summary): Buffer {
  const { base, end, hour, highs, lows, places, done } = segment.parts;
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32LE(LAYOUT, 0);
  head.writeDoubleLE(base, 4);
  head.writeDoubleLE(end, 12);
  head.writeDoubleLE(hour, 20);
  head.writeUInt32LE(highs.length, 28);
  head.writeUInt32LE(done.length, 32);
  head.writeUInt32LE(earlier.done.length, 36);
  head.writeUInt32LE(earlier.void.length, 40);
  const arrays = [highs, lows, places, done, Float64Array.from(earlier.done), Float64Array.from(earlier.void)];
  const bytes = arrays.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength));
  return Buffer.concat([head, ...bytes]);
}

/** Decodes a summary; null if it is of another layout or not whole. */
export function decodeSummary(value: Buffer): Summary | null {
  if (value.length < HEAD_BYTES || value.readUInt32LE(0) !== LAYOUT) return null;
  const [base, end, hour] = [value.readDoubleLE(4), value.readDoubleLE(12), value.readDoubleLE(20)];
  const [keys, flags] = [value.readUInt32LE(28), value.readUInt32LE(32)];
  const [done, voided] = [value.readUInt32LE(36), value.readUInt32LE(40)];
  if (keys > SEGMENT_OFFSETS || value.length !== HEAD_BYTES + 10 * keys + flags + 8 * (done + voided)) return null;
  let at = HEAD_BYTES;
  const take = (size_bytes: number): ArrayBuffer => {
    // Copied, as a part of the fetched bytes would keep all of them.
    const { buffer } = new Uint8Array(value.subarray(at, (at += size_bytes)));
    return buffer;
  };
  const segment = new SealedSegment({
    base,
    end,
    hour,
    highs: new Uint32Array(take(4 * keys)),
    lows: new Uint32Array(take(4 * keys)),
    places: new Uint16Array(take(2 * keys)),
    done: new Uint8Array(take(flags)),
  });
  const earlier = { done: [...new Float64Array(take(8 * done))], void: [...new Float64Array(take(8 * voided))] };
  return { segment, earlier };
}

/** Returns the first offset of a summary, without decoding the rest; null if it is not one. */
export function baseOfSummary(value: Buffer): number | null {
  return value.length >= HEAD_BYTES && value.readUInt32LE(0) === LAYOUT ? value.readDoubleLE(4) : null;
}
