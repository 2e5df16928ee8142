import type { IncomingMessage } from "node:http";

import { LoggiaError } from "../../errors.ts";
import type { PostEndpoint } from "./protocol.ts";
import type { MemoryShare } from "./body-memory.ts";

const PIECE_ENTRIES = 1_000;
/** Bytes received before the next attempt to split off a piece. */
const SPLIT_BYTES = 1024 * 1024;

/**
 * Yields the body of a request in pieces of whole entries as it arrives, so that bodies of any
 * length need bounded memory. The next piece is read once the previous one is stored.
 * @throws LoggiaError `bad_body`, `body_too_large`
 */
export async function* piecesOf(
  request: IncomingMessage,
  { split, largest_bytes }: NonNullable<PostEndpoint["pieces"]>,
  share: MemoryShare,
): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  let chunks: Buffer[] = [];
  let size_bytes = 0;
  let next_bytes = SPLIT_BYTES;
  const joinChunks = (): void => {
    held = Buffer.concat([held, ...chunks]);
    chunks = [];
  };
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      chunks.push(chunk as Buffer);
      size_bytes += (chunk as Buffer).length;
      if (size_bytes < next_bytes) continue;
      // Counts the bytes held and the piece that is being stored.
      share.reserve(size_bytes * 2);
      joinChunks();
      for (let found = split(held, PIECE_ENTRIES); found.count === PIECE_ENTRIES; found = split(held, PIECE_ENTRIES)) {
        yield held.subarray(0, found.end);
        held = held.subarray(found.end);
      }
      size_bytes = held.length;
      if (size_bytes > largest_bytes) {
        const { end } = split(held, PIECE_ENTRIES);
        if (end === 0) throw new LoggiaError("body_too_large", `An entry may hold at most ${largest_bytes} bytes`);
        yield held.subarray(0, end);
        held = held.subarray(end);
        size_bytes = held.length;
      }
      next_bytes = size_bytes + SPLIT_BYTES;
    }
  } catch (error) {
    if (error instanceof LoggiaError) throw error;
    throw new LoggiaError("bad_body", "The connection closed before the body was complete", { cause: error });
  }
  joinChunks();
  for (let found = split(held, PIECE_ENTRIES); found.count === PIECE_ENTRIES; found = split(held, PIECE_ENTRIES)) {
    yield held.subarray(0, found.end);
    held = held.subarray(found.end);
  }
  if (held.length > 0) yield held;
}
