import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

import { parseAccept } from "./formats.ts";

/** Smallest response that is compressed. Shorter ones fit one packet anyway. */
const COMPRESS_MIN_BYTES = 1024;

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

type Encoding = "br" | "gzip";
/** Compressed forms of buffers, for responses that are sent more than once. */
const cache = new WeakMap<Buffer, Partial<Record<Encoding, Promise<Buffer>>>>();

/** Compresses a response by `Accept-Encoding`. `encoding` is null if it is not compressed. */
export async function compress(
  payload: Buffer,
  accepted: string | undefined,
): Promise<{ readonly payload: Buffer; readonly encoding: Encoding | null }> {
  if (payload.length < COMPRESS_MIN_BYTES || accepted === undefined) return { payload, encoding: null };
  const ranges = parseAccept(accepted);
  const quality = (encoding: string) => ranges.get(encoding) ?? ranges.get("*") ?? 0;
  const encoding = quality("br") > 0 && quality("br") >= quality("gzip") ? "br" : quality("gzip") > 0 ? "gzip" : null;
  if (encoding === null) return { payload, encoding };
  let compressed = cache.get(payload);
  if (compressed === undefined) cache.set(payload, (compressed = {}));
  return { payload: await (compressed[encoding] ??= COMPRESSORS[encoding](payload)), encoding };
}

const COMPRESSORS: Readonly<Record<Encoding, (payload: Buffer) => Promise<Buffer>>> = {
  br: (payload) =>
    brotli(payload, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_SIZE_HINT]: payload.length },
    }),
  gzip: (payload) => zip(payload),
};
