import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";

import { ClientGone } from "../errors.ts";
import { parseAccept } from "./formats.ts";

/** A response written in pieces, no faster than the client reads. */
export type Streamed = {
  readonly contentType: string;
  /** Whether it may be compressed. Not for pieces that must arrive at once. */
  readonly compressible: boolean;
  /**
   * The pieces of the body. If it throws, the connection is reset, so that no client takes a part
   * for the whole.
   * @param reader says when to stop
   */
  readonly pieces: (reader: Reader) => AsyncIterable<string | Buffer>;
};

export type Reader = {
  /** Fires when the client has disconnected. */
  readonly signal: AbortSignal;
  /** Whether the listener is closing. */
  readonly closing: () => boolean;
};

/**
 * Writes a streamed response whose headers are set. Resolves once it is sent or the client has
 * disconnected.
 * @throws what `pieces` throws
 */
export async function sendStreamed(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  { streamed, closing }: { readonly streamed: Streamed; readonly closing: () => boolean },
): Promise<void> {
  const zipped = streamed.compressible && acceptsGzip(request.headers["accept-encoding"]);
  if (zipped) response.setHeader("Content-Encoding", "gzip");
  response.writeHead(status);
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  // Tells the client at once that its request was accepted.
  response.flushHeaders();
  // `pipeline` adds several listeners of its own.
  response.setMaxListeners(LISTENERS);
  const left = new AbortController();
  response.once("close", () => left.abort());
  const source = Readable.from(streamed.pieces({ signal: left.signal, closing }), { highWaterMark: 2 });
  try {
    if (zipped) await pipeline(source, createGzip({ level: constants.Z_BEST_SPEED }), response);
    else await pipeline(source, response);
  } catch (error) {
    if (left.signal.aborted && isHangUp(error)) return;
    response.socket?.resetAndDestroy();
    throw error;
  }
}

const LISTENERS = 30;

function acceptsGzip(accepted: string | undefined): boolean {
  if (accepted === undefined) return false;
  const ranges = parseAccept(accepted);
  return (ranges.get("gzip") ?? ranges.get("*") ?? 0) > 0;
}

function isHangUp(error: unknown): boolean {
  if (error instanceof ClientGone) return true;
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return code === "ERR_STREAM_PREMATURE_CLOSE" || code === "ABORT_ERR" || code === "EPIPE" || code === "ECONNRESET";
}
