import type { IncomingMessage } from "node:http";

import { LoggiaError } from "../../errors.ts";
import { BodyBuffer } from "../../http/body-buffer.ts";
import type { BodyShare } from "../../http/body-budget.ts";
import type { PostEndpoint } from "./protocol.ts";

const PIECE_ENTRIES = 1_000;
/** Bytes received before the next attempt to split off a piece. */
const SPLIT_BYTES = 1024 * 1024;

type Pieces = NonNullable<PostEndpoint["pieces"]>;

/**
 * Yields the body of a request in pieces of whole entries as it arrives, so that bodies of any
 * length need bounded memory. The next piece is read once the previous one is stored.
 * @throws LoggiaError `bad_body`, `body_too_large`, `too_many_requests`, `overloaded`
 */
export async function* piecesOf(
  request: IncomingMessage,
  { split, largest_bytes }: Pieces,
  share: BodyShare,
): AsyncGenerator<Buffer> {
  let held = new BodyBuffer(largest_bytes + SPLIT_BYTES);
  let next_bytes = SPLIT_BYTES;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      // Counts the bytes held and the piece that is being stored.
      const needed_bytes = 2 * held.capacityWith((chunk as Buffer).length);
      if (needed_bytes !== share.held_bytes) await share.hold(needed_bytes);
      held.append(chunk as Buffer);
      if (held.size_bytes < next_bytes) continue;
      let rest = yield* wholePieces(held.bytes, split);
      if (rest.length > largest_bytes) {
        const { end } = split(rest, PIECE_ENTRIES);
        if (end === 0) throw new LoggiaError("body_too_large", `An entry may hold at most ${largest_bytes} bytes`);
        yield rest.subarray(0, end);
        rest = rest.subarray(end);
      }
      held = new BodyBuffer(largest_bytes + SPLIT_BYTES);
      held.append(rest);
      next_bytes = rest.length + SPLIT_BYTES;
    }
  } catch (error) {
    if (error instanceof LoggiaError) throw error;
    throw new LoggiaError("bad_body", "The connection closed before the body was complete", { cause: error });
  }
  const rest = yield* wholePieces(held.bytes, split);
  if (rest.length > 0) yield rest;
}

/** Yields pieces of as many entries as fit one, and returns the rest. */
function* wholePieces(bytes: Buffer, split: Pieces["split"]): Generator<Buffer, Buffer> {
  let rest = bytes;
  for (let found = split(rest, PIECE_ENTRIES); found.count === PIECE_ENTRIES; found = split(rest, PIECE_ENTRIES)) {
    yield rest.subarray(0, found.end);
    rest = rest.subarray(found.end);
  }
  return rest;
}
