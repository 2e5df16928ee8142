import type { IncomingMessage } from "node:http";

import { LoggiaError } from "../../errors.ts";
import { BodyBuffer } from "../../http/body-buffer.ts";
import type { BodyShare } from "../../http/body-budget.ts";
import { noteRequest } from "../../scheduling/cooperative.ts";
import { DECODING, Yielder } from "../../scheduling/yielding.ts";
import type { PostEndpoint, Splitter } from "../kit/endpoint.ts";
import { runSteps } from "../kit/steps.ts";

const PIECE_ENTRIES = 1_000;
/** Bytes received before the next attempt to split off a piece. */
const SPLIT_BYTES = 1024 * 1024;

type Pieces = NonNullable<PostEndpoint["pieces"]>;

/**
 * Yields the body of a request in pieces of whole entries as it arrives, so that bodies of any
 * length need bounded memory. The next piece is read once the previous one is stored.
 * @throws LoggiaError `bad_body`, `body_too_large`, `too_many_requests`, `overloaded`
 */
export async function* readBodyPieces(
  request: IncomingMessage,
  { splitter, largest_bytes }: Pieces,
  share: BodyShare,
): AsyncGenerator<Buffer> {
  const entries = splitter();
  let held = new BodyBuffer(largest_bytes + SPLIT_BYTES);
  let next_bytes = SPLIT_BYTES;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      // Counts the bytes held and the piece that is being stored.
      const needed_bytes = 2 * held.capacityWith((chunk as Buffer).length);
      if (needed_bytes !== share.held_bytes) await share.hold(needed_bytes);
      held.append(chunk as Buffer);
      if (held.size_bytes < next_bytes) continue;
      const taken_bytes = yield* wholePieces(held.bytes, entries, largest_bytes);
      if (taken_bytes > 0) {
        const rest = held.bytes.subarray(taken_bytes);
        held = new BodyBuffer(largest_bytes + SPLIT_BYTES);
        held.append(rest);
      }
      next_bytes = held.size_bytes + SPLIT_BYTES;
    }
  } catch (error) {
    if (error instanceof LoggiaError) throw error;
    throw new LoggiaError("bad_body", "The connection closed before the body was complete", { cause: error });
  }
  const taken_bytes = yield* wholePieces(held.bytes, entries, Infinity);
  const rest = held.bytes.subarray(taken_bytes);
  if (rest.length > 0) yield rest;
}

/**
 * Yields pieces of as many entries as fit one, and of fewer if more than `largest_bytes` are left.
 * Returns their size.
 * @throws LoggiaError `bad_body`, `body_too_large`
 */
async function* wholePieces(bytes: Buffer, entries: Splitter, largest_bytes: number): AsyncGenerator<Buffer, number> {
  const yielder = new Yielder(noteRequest, DECODING);
  let start = 0;
  for (;;) {
    const rest = bytes.subarray(start);
    const { count, end } = await runSteps(entries.split(rest, PIECE_ENTRIES), yielder);
    const isLong = rest.length > largest_bytes;
    if (count < PIECE_ENTRIES && !isLong) return start;
    if (end === 0) throw new LoggiaError("body_too_large", `An entry may hold at most ${largest_bytes} bytes`);
    yield rest.subarray(0, end);
    entries.restart();
    start += end;
  }
}
