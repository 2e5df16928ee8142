import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

import { parseAccept } from "./formats.ts";

/** Shorter answers fit one packet anyway. */
const WORTHWHILE_BYTES = 1024;

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

/** The answer as the caller's `Accept-Encoding` wants it, with the `Content-Encoding` that says so. */
export async function compress(
  payload: Buffer,
  accepted: string | undefined,
): Promise<{ readonly payload: Buffer; readonly encoding: "br" | "gzip" | null }> {
  if (payload.length < WORTHWHILE_BYTES || accepted === undefined) return { payload, encoding: null };
  const ranges = parseAccept(accepted);
  const quality = (encoding: string) => ranges.get(encoding) ?? ranges.get("*") ?? 0;
  if (quality("br") > 0 && quality("br") >= quality("gzip")) {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_SIZE_HINT]: payload.length };
    return { payload: await brotli(payload, { params }), encoding: "br" };
  }
  if (quality("gzip") > 0) return { payload: await zip(payload), encoding: "gzip" };
  return { payload, encoding: null };
}
