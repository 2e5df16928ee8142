import type { IncomingMessage } from "node:http";

import { LoggiaError } from "../errors.ts";
import { quote } from "../events/quote.ts";
import { needsOwnTurn, ownTurn } from "../scheduling/yielding.ts";
import type { BodyShare } from "./body-budget.ts";
import { collect } from "./collect.ts";
import type { CollectOptions } from "./collect.ts";
import { unpack } from "./unpack.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";

export type BodyOptions = {
  /** Largest body accepted, both compressed and decompressed. */
  readonly limit_bytes: number;
  /** Longest time the whole body may take to arrive. */
  readonly deadline_ms: number;
  readonly scheduler: Scheduler;
  /** Whether `Content-Encoding: gzip` is accepted. */
  readonly gzip?: boolean;
  /** Memory of the body. Default: it is not counted */
  readonly share?: BodyShare | undefined;
  /** Fires when the client has disconnected. */
  readonly gone?: AbortSignal | undefined;
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
  const body = zipped && sent.length > 0 ? await decompress(sent, options) : sent;
  return { body, sent_bytes: sent.length };
}

/** How the body of a request is received. */
export type ReceiveOptions = Pick<BodyOptions, "limit_bytes" | "deadline_ms" | "scheduler" | "share" | "gone"> &
  Pick<CollectOptions, "least_bytes_s">;

/**
 * Reads the body of a request as sent, without decompressing it. A body of some kilobytes is
 * returned in a turn of the event loop of its own.
 * @throws LoggiaError `body_too_large`, `bad_body` (incomplete or too late), `too_many_requests` or
 *   `overloaded` (no memory)
 */
export async function receiveSent(request: IncomingMessage, options: ReceiveOptions): Promise<Buffer> {
  const { limit_bytes, scheduler, share, gone } = options;
  const announced_bytes = announcedSize(request);
  if (announced_bytes > limit_bytes * DISCARD_FACTOR) throw tooLarge(limit_bytes);
  if (!hasBody(request)) return NOTHING;
  if (share?.reserves === true && announced_bytes <= limit_bytes && announced_bytes > share.held_bytes)
    await share.hold(announced_bytes, gone);
  const sent = (await receiveAtOnce(request)) ?? (await receive(request, options));
  if (sent.length > limit_bytes) throw tooLarge(limit_bytes);
  if (share !== undefined && sent.length > share.held_bytes) await share.hold(sent.length, gone);
  if (needsOwnTurn(sent.length)) await ownTurn(scheduler.decoding);
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

async function decompress(body: Buffer, { limit_bytes, share, gone }: BodyOptions): Promise<Buffer> {
  const ratioLimit_bytes = body.length * DECOMPRESSION_MAX_RATIO;
  const broken = (cause: unknown) =>
    new LoggiaError("bad_body", "Content-Encoding is gzip, but the body cannot be decompressed", { cause });
  return await unpack("gzip", body, {
    most_bytes: Math.min(limit_bytes, ratioLimit_bytes),
    share,
    gone,
    tooLarge: () => (ratioLimit_bytes < limit_bytes ? tooCompressed(body.length) : tooLarge(limit_bytes)),
    broken,
  });
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
 * Receives a body. One over the limit is not kept, but is read on for a while before it is refused.
 */
function receive(request: IncomingMessage, options: ReceiveOptions): Promise<Buffer> {
  return collect(request, {
    ...options,
    announced_bytes: announcedSize(request),
    discard_bytes: options.limit_bytes * DISCARD_FACTOR,
    tooLarge: () => tooLarge(options.limit_bytes),
    broken: incomplete,
  });
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
