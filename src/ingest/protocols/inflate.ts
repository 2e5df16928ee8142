import { promisify } from "node:util";
import { gunzip, inflate, inflateRaw, zstdDecompress } from "node:zlib";

import { LoggiaError } from "../../errors.ts";
import { quote } from "../../events/quote.ts";
import { DECOMPRESSION_MAX_RATIO } from "../../http/body.ts";
import { noteRequest } from "../../scheduling/cooperative.ts";
import { DECODING, Yielder } from "../../scheduling/yielding.ts";
import { decompressFramedSnappy, decompressSnappy, isFramedSnappy, sizeOfSnappy } from "./snappy.ts";
import { runSteps } from "./steps.ts";

const METHODS = {
  gzip: promisify(gunzip),
  zlib: promisify(inflate),
  raw: promisify(inflateRaw),
  zstd: promisify(zstdDecompress),
} as const;

/** Decompressed size allowed for a body of any sent size: similar events compress very well. */
const FREE_BYTES = 8 * 1024 * 1024;
const ACCEPTED = "gzip, deflate, zstd, snappy, or none";

/** Returns the limit of the decompressed size of a body. */
export function mostInflated(sent_bytes: number, limit_bytes: number): number {
  return Math.min(limit_bytes, Math.max(FREE_BYTES, sent_bytes * DECOMPRESSION_MAX_RATIO));
}

/**
 * Decompresses a body.
 * @param encoding value of `Content-Encoding`
 * @throws LoggiaError `unsupported_media_type`, `bad_body`, `body_too_large`
 */
export async function decompress(body: Buffer, encoding: string, limit_bytes: number): Promise<Buffer> {
  if (body.length === 0 || encoding === "" || encoding === "identity") return body;
  const most_bytes = mostInflated(body.length, limit_bytes);
  try {
    if (encoding === "snappy" || encoding === "x-snappy-framed") {
      const yielder = new Yielder(noteRequest, DECODING);
      if (isFramedSnappy(body)) return await runSteps(decompressFramedSnappy(body, most_bytes), yielder);
      if (sizeOfSnappy(body) > most_bytes) throw tooLarge(most_bytes);
      return await runSteps(decompressSnappy(body), yielder);
    }
    return await METHODS[methodOf(body, encoding)](body, { maxOutputLength: most_bytes });
  } catch (error) {
    if (error instanceof LoggiaError) throw error;
    if (error instanceof RangeError && encoding.includes("snappy")) throw tooLarge(most_bytes);
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(most_bytes);
    const message = `The body cannot be decompressed as ${encoding}`;
    throw new LoggiaError("bad_body", message, { cause: error });
  }
}

function methodOf(body: Buffer, encoding: string): keyof typeof METHODS {
  switch (encoding) {
    case "gzip":
    case "x-gzip":
      return "gzip";
    case "zstd":
      return "zstd";
    case "deflate":
    case "zlib":
      return isZlib(body) ? "zlib" : "raw";
    default:
      throw new LoggiaError("unsupported_media_type", `Content-Encoding is ${quote(encoding)}; accepted: ${ACCEPTED}`);
  }
}

/** Returns whether a body has a zlib header, which deflate requires and some clients omit. */
function isZlib(body: Buffer): boolean {
  return body.length >= 2 && (body[0]! & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0;
}

/** Returns the encoding by the first bytes of a body; "" if they indicate none. */
export function encodingOfContent(body: Buffer): string {
  if (body[0] === 0x1f && body[1] === 0x8b) return "gzip";
  return isZlib(body) ? "deflate" : "";
}

function tooLarge(most_bytes: number): LoggiaError {
  return new LoggiaError("body_too_large", `The decompressed body exceeds the limit of ${most_bytes} bytes`);
}
