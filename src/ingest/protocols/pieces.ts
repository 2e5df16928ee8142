import type { IncomingMessage } from "node:http";

import { LoggiaError } from "../../errors.ts";
import { noteRequest } from "../../scheduling/cooperative.ts";
import { DECODING, Yielder } from "../../scheduling/yielding.ts";
import type { PostEndpoint, Splitter } from "./protocol.ts";
import type { MemoryShare } from "./body-memory.ts";
import { runSteps } from "./steps.ts";

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
  { splitter, largest_bytes }: NonNullable<PostEndpoint["pieces"]>,
  share: MemoryShare,
): AsyncGenerator<Buffer> {
  const held = new HeldBytes(splitter());
  let next_bytes = SPLIT_BYTES;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      held.add(chunk as Buffer);
      if (held.size_bytes < next_bytes) continue;
      // Counts the bytes held and the piece that is being stored.
      share.reserve(held.size_bytes * 2);
      yield* held.pieces();
      if (held.size_bytes > largest_bytes) {
        const piece = held.wholeEntries();
        if (piece === null) throw new LoggiaError("body_too_large", `An entry may hold at most ${largest_bytes} bytes`);
        yield piece;
      }
      next_bytes = held.size_bytes + SPLIT_BYTES;
    }
  } catch (error) {
    if (error instanceof LoggiaError) throw error;
    throw new LoggiaError("bad_body", "The connection closed before the body was complete", { cause: error });
  }
  yield* held.pieces();
  if (held.size_bytes > 0) yield held.rest();
}

/** Bytes of a body that have arrived and are not split off yet. */
class HeldBytes {
  readonly #splitter: Splitter;
  #held: Buffer = Buffer.alloc(0);
  #chunks: Buffer[] = [];
  size_bytes = 0;
  /** End of the whole entries at the beginning of `#held`. */
  #end = 0;

  constructor(splitter: Splitter) {
    this.#splitter = splitter;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.size_bytes += chunk.length;
  }

  /** Yields pieces of the largest number of entries. */
  async *pieces(): AsyncGenerator<Buffer> {
    this.#held = Buffer.concat([this.#held, ...this.#chunks]);
    this.#chunks = [];
    const yielder = new Yielder(noteRequest, DECODING);
    for (;;) {
      const { count, end } = await runSteps(this.#splitter.split(this.#held, PIECE_ENTRIES), yielder);
      this.#end = end;
      if (count < PIECE_ENTRIES) return;
      yield this.#take();
    }
  }

  /** Returns the whole entries found last; null if there are none. */
  wholeEntries(): Buffer | null {
    return this.#end === 0 ? null : this.#take();
  }

  /** Returns all bytes. */
  rest(): Buffer {
    return this.#held;
  }

  #take(): Buffer {
    const piece = this.#held.subarray(0, this.#end);
    this.#held = this.#held.subarray(this.#end);
    this.size_bytes = this.#held.length;
    this.#splitter.restart();
    this.#end = 0;
    return piece;
  }
}
