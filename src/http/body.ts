import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";

import { LoggiaError } from "../errors.ts";
import { quote } from "../events/quote.ts";

export type BodyOptions = {
  /** Largest body accepted, both compressed and decompressed. */
  readonly limit_bytes: number;
  /** Longest time the whole body may take to arrive. */
  readonly deadline_ms: number;
  /** Whether `Content-Encoding: gzip` is accepted. */
  readonly gzip?: boolean;
};

/**
 * Highest accepted compression ratio of a body. Logs reach 60 at most; gzip allows 1,000, with
 * which a few bytes would cost the service as much work as megabytes.
 */
export const DECOMPRESSION_MAX_RATIO = 100;

/**
 * How many times its limit an oversized body is read and discarded, so that the client gets to read
 * the response.
 */
const DISCARD_FACTOR = 16;

const NOTHING = Buffer.alloc(0);
const unzip = promisify(gunzip);

/** A decompressed body and its size as sent. */
export type ReceivedBody = { readonly body: Buffer; readonly sent_bytes: number };

/** Returns the body of a request. See {@link receiveBody}. */
export async function readBody(request: IncomingMessage, options: BodyOptions): Promise<Buffer> {
  return (await receiveBody(request, options)).body;
}

/**
 * Reads and decompresses the body of a request.
 * @throws LoggiaError `body_too_large`, `unsupported_media_type` (an encoding that is not
 *   accepted), `bad_body` (incomplete or too late, or not valid gzip although declared so)
 */
export async function receiveBody(request: IncomingMessage, options: BodyOptions): Promise<ReceivedBody> {
  const encoding = (request.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  const zipped = encoding === "gzip" || encoding === "x-gzip";
  if (encoding !== "identity" && encoding !== "" && !(zipped && options.gzip === true)) {
    const accepted = options.gzip === true ? "gzip, or none" : "none";
    throw new LoggiaError("unsupported_media_type", `Content-Encoding is ${quote(encoding)}; accepted: ${accepted}`);
  }
  const sent = await receiveSent(request, options);
  const body = zipped && sent.length > 0 ? await decompress(sent, options.limit_bytes) : sent;
  return { body, sent_bytes: sent.length };
}

/**
 * Reads the body of a request as sent, without decompressing it.
 * @throws LoggiaError `body_too_large`, `bad_body` (incomplete or too late)
 */
export async function receiveSent(
  request: IncomingMessage,
  options: Pick<BodyOptions, "limit_bytes" | "deadline_ms">,
): Promise<Buffer> {
  if (announcedSize(request) > options.limit_bytes * DISCARD_FACTOR) {
    throw tooLarge(options.limit_bytes);
  }
  const sent = hasBody(request) ? ((await receiveAtOnce(request)) ?? (await receive(request, options))) : NOTHING;
  if (sent.length > options.limit_bytes) throw tooLarge(options.limit_bytes);
  return sent;
}

/** Whether a request announces a body. */
export function hasBody(request: IncomingMessage): boolean {
  return request.headers["transfer-encoding"] !== undefined || announcedSize(request) > 0;
}

/** Returns `Content-Length`, or 0 if it is absent. */
export function announcedSize(request: IncomingMessage): number {
  return Number(request.headers["content-length"] ?? 0);
}

async function decompress(body: Buffer, limit_bytes: number): Promise<Buffer> {
  const ratioLimit_bytes = body.length * DECOMPRESSION_MAX_RATIO;
  try {
    return await unzip(body, { maxOutputLength: Math.min(limit_bytes, ratioLimit_bytes) });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw ratioLimit_bytes < limit_bytes ? tooCompressed(body.length) : tooLarge(limit_bytes);
    }
    throw new LoggiaError("bad_body", "Content-Encoding is gzip, but the body cannot be decompressed", {
      cause: error,
    });
  }
}

/**
 * Returns the body of a request if it arrived together with the head, as small bodies do, or null
 * if more is expected. This avoids the cost of the listeners and the timer.
 */
async function receiveAtOnce(request: IncomingMessage): Promise<Buffer | null> {
  // By the next turn the parser has advanced from the head to the body.
  await new Promise(setImmediate);
  if (!request.complete && request.destroyed) throw incomplete();
  if (!request.complete) return null;
  const chunks: Buffer[] = [];
  for (let chunk = readChunk(request); chunk !== null; chunk = readChunk(request)) chunks.push(chunk);
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

function readChunk(request: IncomingMessage): Buffer | null {
  return request.read() as Buffer | null;
}

/**
 * Collects the chunks of a body. A body over the limit is not kept, but is read on for a while
 * before it is refused.
 */
function receive(request: IncomingMessage, { limit_bytes, deadline_ms }: BodyOptions): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let chunks: Buffer[] = [];
  let received_bytes = 0;
  const onData = (chunk: Buffer) => {
    received_bytes += chunk.length;
    if (received_bytes <= limit_bytes) {
      chunks.push(chunk);
    } else {
      chunks = [];
      if (received_bytes > limit_bytes * DISCARD_FACTOR) fail(tooLarge(limit_bytes));
    }
  };
  const onEnd = () => {
    if (received_bytes > limit_bytes) return fail(tooLarge(limit_bytes));
    settle();
    resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, received_bytes));
  };
  const onClosed = () => fail(incomplete());
  const onTimeout = () =>
    fail(
      received_bytes > limit_bytes
        ? tooLarge(limit_bytes)
        : new LoggiaError("bad_body", `The body did not arrive within ${deadline_ms} ms`),
    );
  const settle = () => {
    clearTimeout(timer);
    request.off("data", onData).off("end", onEnd).off("error", onClosed).off("close", onClosed);
  };
  const fail = (error: LoggiaError) => {
    settle();
    // Later errors can be ignored, but without a listener they would end the process.
    request.on("error", () => {});
    request.pause();
    reject(error);
  };
  const timer = setTimeout(onTimeout, deadline_ms);
  request.on("data", onData).on("end", onEnd).on("error", onClosed).on("close", onClosed);
  return promise;
}

function incomplete(): LoggiaError {
  return new LoggiaError("bad_body", "The connection closed before the body was complete");
}

function tooLarge(limit_bytes: number): LoggiaError {
  return new LoggiaError("body_too_large", `The body may hold at most ${limit_bytes} bytes`);
}

function tooCompressed(sent_bytes: number): LoggiaError {
  const message =
    `The ${sent_bytes} bytes of gzip decompress to more than ${DECOMPRESSION_MAX_RATIO} times their size, ` +
    "the highest ratio accepted; send the body uncompressed";
  return new LoggiaError("body_too_large", message);
}
