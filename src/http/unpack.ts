import { constants, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from "node:zlib";

import type { LoggiaError } from "../errors.ts";
import type { BodyShare } from "./body-budget.ts";
import { collect } from "./collect.ts";

/** Largest window of zstd, as RFC 9659 limits it for HTTP. The decoder allocates it. */
const ZSTD_WINDOW_LOG = 23;
/** Memory of a decoder besides its output and its chunk. */
const DECODER_BYTES = 16 * 1024;
/** Size of the pieces in which a body is decompressed: small ones have to count as small. */
const CHUNK_BYTES = 16 * 1024;
const LONG_CHUNK_BYTES = 64 * 1024;

const DECODERS = {
  gzip: createGunzip,
  zlib: createInflate,
  raw: createInflateRaw,
  zstd: ({ chunkSize }: { chunkSize: number }) =>
    createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } }),
} as const;

export type PackMethod = keyof typeof DECODERS;

export type UnpackOptions = {
  /** Largest size of the result. */
  readonly most_bytes: number;
  /** Memory of the body, packed and unpacked. It grows with the result. */
  readonly share?: BodyShare | undefined;
  /** Bytes of the share that are held besides. */
  readonly besides_bytes?: number;
  readonly gone?: AbortSignal | undefined;
  readonly tooLarge: () => LoggiaError;
  readonly broken: (cause: unknown) => LoggiaError;
};

/**
 * Decompresses a body.
 * @throws LoggiaError `too_many_requests`, `overloaded`, and those of the options
 */
export async function unpack(method: PackMethod, packed: Buffer, options: UnpackOptions): Promise<Buffer> {
  const { besides_bytes = 0 } = options;
  const chunkSize = packed.length > CHUNK_BYTES ? LONG_CHUNK_BYTES : CHUNK_BYTES;
  const decoder = DECODERS[method]({ chunkSize });
  const window_bytes = method === "zstd" ? 2 ** ZSTD_WINDOW_LOG : 0;
  const held = { besides_bytes: packed.length + besides_bytes + DECODER_BYTES + chunkSize, window_bytes };
  decoder.end(packed);
  try {
    return await collect(decoder, { ...options, ...held, limit_bytes: options.most_bytes });
  } finally {
    decoder.destroy();
  }
}
