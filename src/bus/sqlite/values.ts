import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

/** Prefix of compressed values. No JSON begins with it. */
const MAGIC = Uint8Array.of(0x00, 0x7a, 0x73, 0x74);
/** The mark and the length of the value, followed by a zstd frame. */
const HEADER_BYTES = MAGIC.length + 4;
/** Shorter values are not compressed: a call costs as much as compressing so many bytes. */
const MIN_COMPRESSED_BYTES = 4096;
/** The fastest level, since compression delays the commit. */
const OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 } };
/** Smaller buffers of Node share a pool, which cannot be transferred to another thread. */
const MIN_CHUNK_BYTES = 16 * 1024;
const MAX_CHUNK_BYTES = 1024 * 1024;

/** The stored form: compressed if that is shorter, or if the value begins like a compressed one. */
export function packValue(value: Uint8Array): Uint8Array {
  const isLikeOurs = isCompressed(value);
  if (value.length < MIN_COMPRESSED_BYTES && !isLikeOurs) return value;
  const frame = zstdCompressSync(value, OPTIONS);
  if (HEADER_BYTES + frame.length >= value.length && !isLikeOurs) return value;
  const packed = new Uint8Array(HEADER_BYTES + frame.length);
  packed.set(MAGIC);
  new DataView(packed.buffer).setUint32(MAGIC.length, value.length, true);
  packed.set(frame, HEADER_BYTES);
  return packed;
}

/** The length of the value of a stored form. */
export function unpackedLength(packed: Uint8Array): number {
  return isCompressed(packed) ? viewOf(packed).getUint32(MAGIC.length, true) : packed.length;
}

/**
 * The value of a stored form, in a buffer of its own. A damaged one is returned as stored, and the
 * pipeline makes a dead letter of it.
 */
export function unpackValue(packed: Uint8Array): Uint8Array {
  if (!isCompressed(packed)) return packed;
  const length = unpackedLength(packed);
  let value: Uint8Array;
  try {
    const chunkSize = Math.min(MAX_CHUNK_BYTES, Math.max(MIN_CHUNK_BYTES, length + 1));
    value = zstdDecompressSync(packed.subarray(HEADER_BYTES), { chunkSize, maxOutputLength: length });
  } catch {
    return packed;
  }
  if (value.length !== length) return packed;
  return value.buffer.byteLength > 2 * length ? new Uint8Array(value) : value;
}

function isCompressed(value: Uint8Array): boolean {
  return value.length >= HEADER_BYTES && MAGIC.every((byte, i) => value[i] === byte);
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
