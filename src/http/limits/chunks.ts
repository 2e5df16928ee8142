import type { IncomingMessage, Server } from "node:http";

import type { EvictionReason } from "./connections.ts";

/** Chunks of a body before its chunks are judged: a person may type a few. */
const FREE_CHUNKS = 1_000;
/** Least mean size of the chunks of a body. Each costs as much as a kilobyte of a large one. */
const LEAST_MEAN_BYTES = 16;

/**
 * Closes connections whose bodies come in chunks of a few bytes. Reading 64 KB of such chunks takes
 * Node tens of milliseconds in one step.
 * @param onEvicted called for each closed connection
 */
export function limitChunks(server: Server, onEvicted: (reason: EvictionReason) => void): void {
  server.prependListener("request", (request: IncomingMessage) => {
    if (request.headers["transfer-encoding"] === undefined) return;
    const push = request.push.bind(request);
    let chunks = 0;
    let size_bytes = 0;
    request.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
      chunks += 1;
      size_bytes += chunk?.length ?? 0;
      if (request.socket.destroyed) return false;
      if (chunks < FREE_CHUNKS || size_bytes >= LEAST_MEAN_BYTES * chunks) return push(chunk, encoding);
      request.socket.destroy();
      onEvicted("chunks");
      return false;
    };
  });
}
