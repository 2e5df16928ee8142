import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";

import { LoggiaError } from "../errors.ts";
import { quote } from "../events/quote.ts";

export type BodyOptions = {
  /** The largest body taken, after decompression too. */
  readonly limit_bytes: number;
  /** How long the whole body may take to arrive. */
  readonly deadline_ms: number;
  /** Whether `Content-Encoding: gzip` is taken. */
  readonly gzip?: boolean;
};

/**
 * How many times as large a body may be as its compressed form. Logs come to 60 at the most; gzip
 * allows 1,000, by which a few bytes would have as much read, stored and answered as megabytes.
 */
export const DECOMPRESSION_MAX_RATIO = 100;

/**
 * How much of a body over its limit is read and thrown away, so that its sender comes to read the
 * answer: times the limit.
 */
const DISCARD_FACTOR = 16;

const NOTHING = Buffer.alloc(0);
const unzip = promisify(gunzip);

/** A body, and its size as it was sent, before it was decompressed. */
export type ReceivedBody = { readonly body: Buffer; readonly sent_bytes: number };

/** The body of a request, as {@link receiveBody} has it. */
export async function readBody(request: IncomingMessage, options: BodyOptions): Promise<Buffer> {
  return (await receiveBody(request, options)).body;
}

/**
 * The body of a request.
 * @throws LoggiaError `body_too_large`, `unsupported_media_type` (an encoding that is not taken),
 *   `bad_body` (it did not arrive in time or whole, or is not the gzip that it says it is)
 */
export async function receiveBody(request: IncomingMessage, options: BodyOptions): Promise<ReceivedBody> {
  const encoding = (request.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  const zipped = encoding === "gzip" || encoding === "x-gzip";
  if (encoding !== "identity" && encoding !== "" && !(zipped && options.gzip === true)) {
    const taken = options.gzip === true ? "gzip, or none" : "none";
    throw new LoggiaError("unsupported_media_type", `Content-Encoding is ${quote(encoding)}; taken is ${taken}`);
  }
  const sent = await receiveSent(request, options);
  const body = zipped && sent.length > 0 ? await decompress(sent, options.limit_bytes) : sent;
  return { body, sent_bytes: sent.length };
}

/**
 * The body of a request as it was sent, whatever its encoding.
 * @throws LoggiaError `body_too_large`, `bad_body` (it did not arrive in time or whole)
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

/** What `Content-Length` says; 0 where it is absent. */
export function announcedSize(request: IncomingMessage): number {
  return Number(request.headers["content-length"] ?? 0);
}

async function decompress(body: Buffer, limit_bytes: number): Promise<Buffer> {
  const most_bytes = body.length * DECOMPRESSION_MAX_RATIO;
  try {
    return await unzip(body, { maxOutputLength: Math.min(limit_bytes, most_bytes) });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw most_bytes < limit_bytes ? tooCompressed(body.length) : tooLarge(limit_bytes);
    }
    throw new LoggiaError("bad_body", "The body says that it is gzip, but it cannot be decompressed", { cause: error });
  }
}

/**
 * The body of a request that came with its head, as small ones do; null where more is to come.
 * Spares it the listeners and the timer, which cost 2.5 µs of the 20 that a post took.
 */
async function receiveAtOnce(request: IncomingMessage): Promise<Buffer | null> {
  // By then the parser has gone on from the head to the body.
  await new Promise(setImmediate);
  if (!request.complete && request.destroyed) throw cutOff();
  if (!request.complete) return null;
  const chunks: Buffer[] = [];
  for (let chunk = readChunk(request); chunk !== null; chunk = readChunk(request)) chunks.push(chunk);
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

function readChunk(request: IncomingMessage): Buffer | null {
  return request.read() as Buffer | null;
}

/** Gathers the chunks of a body. A body over the limit is not kept, but its sender is heard out for a while. */
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
  const onCut = () => fail(cutOff());
  const onTimeout = () =>
    fail(
      received_bytes > limit_bytes
        ? tooLarge(limit_bytes)
        : new LoggiaError("bad_body", `The body did not arrive within ${deadline_ms} ms`),
    );
  const settle = () => {
    clearTimeout(timer);
    request.off("data", onData).off("end", onEnd).off("error", onCut).off("close", onCut);
  };
  const fail = (error: LoggiaError) => {
    settle();
    // Later errors of the connection concern nobody any more, but without a listener they would end the process.
    request.on("error", () => {});
    request.pause();
    reject(error);
  };
  const timer = setTimeout(onTimeout, deadline_ms);
  request.on("data", onData).on("end", onEnd).on("error", onCut).on("close", onCut);
  return promise;
}

function cutOff(): LoggiaError {
  return new LoggiaError("bad_body", "The connection ended before the body did");
}

function tooLarge(limit_bytes: number): LoggiaError {
  return new LoggiaError("body_too_large", `The body may hold at most ${limit_bytes} bytes`);
}

function tooCompressed(sent_bytes: number): LoggiaError {
  const message =
    `The ${sent_bytes} bytes of gzip come to more than ${DECOMPRESSION_MAX_RATIO} times as many, ` +
    "the most that is taken; send the body uncompressed";
  return new LoggiaError("body_too_large", message);
}
