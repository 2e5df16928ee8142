import { LoggiaError } from "../../errors.ts";
import { quote } from "../../events/quote.ts";
import { DECOMPRESSION_MAX_RATIO } from "../../http/body.ts";
import type { BodyShare } from "../../http/body-budget.ts";
import { unpack } from "../../http/unpack.ts";
import type { PackMethod } from "../../http/unpack.ts";
import { decompressFramedSnappy, decompressSnappy, isFramedSnappy, sizeOfSnappy } from "./snappy.ts";
import { runSteps } from "./steps.ts";
import type { Scheduler } from "../../scheduling/scheduler.ts";

/** Decompressed size allowed for a body of any sent size: similar events compress very well. */
const FREE_BYTES = 8 * 1024 * 1024;
const ACCEPTED = "gzip, deflate, zstd, snappy, or none";

/** Returns the limit of the decompressed size of a body. */
export function mostInflated(sent_bytes: number, limit_bytes: number): number {
  return Math.min(limit_bytes, Math.max(FREE_BYTES, sent_bytes * DECOMPRESSION_MAX_RATIO));
}

/** Thread and memory in which a body is decompressed, and a signal that its client has gone. */
export type DecompressOptions = {
  readonly scheduler: Scheduler;
  /** Holds the body as sent and decompressed. Default: it is not counted */
  readonly share?: BodyShare;
  /** Bytes of the share that are held besides. */
  readonly besides_bytes?: number;
  readonly gone?: AbortSignal | undefined;
};

/**
 * Decompresses a body.
 * @param encoding value of `Content-Encoding`
 * @throws LoggiaError `unsupported_media_type`, `bad_body`, `body_too_large`, `too_many_requests`,
 *   `overloaded`
 */
export async function decompress(
  body: Buffer,
  encoding: string,
  limit_bytes: number,
  { scheduler, share, besides_bytes = 0, gone }: DecompressOptions,
): Promise<Buffer> {
  if (body.length === 0 || encoding === "" || encoding === "identity") return body;
  const most_bytes = mostInflated(body.length, limit_bytes);
  try {
    if (encoding === "snappy" || encoding === "x-snappy-framed") {
      const isFramed = isFramedSnappy(body);
      const size_bytes = isFramed ? most_bytes : sizeOfSnappy(body);
      if (size_bytes > most_bytes) throw tooLarge(most_bytes);
      // Its memory is allocated at once.
      await share?.hold(besides_bytes + body.length + size_bytes, gone);
      const steps = isFramed ? decompressFramedSnappy(body, most_bytes) : decompressSnappy(body);
      return await runSteps(steps, scheduler.beginDecoding());
    }
    return await unpack(methodOf(body, encoding), body, {
      most_bytes,
      share,
      besides_bytes,
      gone,
      tooLarge: () => tooLarge(most_bytes),
      broken: (cause) => new LoggiaError("bad_body", `The body cannot be decompressed as ${encoding}`, { cause }),
    });
  } catch (error) {
    if (error instanceof LoggiaError) throw error;
    if (error instanceof RangeError && encoding.includes("snappy")) throw tooLarge(most_bytes);
    const message = `The body cannot be decompressed as ${encoding}`;
    throw new LoggiaError("bad_body", message, { cause: error });
  }
}

function methodOf(body: Buffer, encoding: string): PackMethod {
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
