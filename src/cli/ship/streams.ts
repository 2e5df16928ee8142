import { setTimeout as delay } from "node:timers/promises";

import { frame, type Framing, hasGroups, PLAIN_LINES, type TextRecord } from "./framing.ts";
import { type FileEncoding, detectEncoding, LINE_MAX_BYTES } from "./lines.ts";

const PIECE_RECORDS = 250;

/**
 * Yields the records of a stream as they arrive. The last line needs no line break. An unfinished
 * record waits for more lines until the stream ends or is silent for `wait_ms`.
 */
export async function* readStreamRecords(
  stream: AsyncIterable<Buffer>,
  framing: Framing,
): AsyncGenerator<readonly TextRecord[]> {
  const source = stream[Symbol.asyncIterator]();
  const bytes = new StreamBytes(framing);
  try {
    for (;;) {
      const next = source.next();
      if (hasGroups(framing) && !bytes.isEmpty && (await isSilent(next, framing.wait_ms)))
        yield* bytes.framed("groups");
      const result = await next;
      if (result.done === true) break;
      bytes.append(result.value);
      // A long line is scanned again only when it reaches the limit, not with every chunk.
      if (result.value.includes(10) || bytes.isLong) yield* bytes.framed("nothing");
    }
  } finally {
    await source.return?.();
  }
  yield* bytes.framed("all");
}

async function isSilent(next: Promise<unknown>, wait_ms: number): Promise<boolean> {
  const stop = new AbortController();
  const silence = delay(wait_ms, true, { signal: stop.signal }).catch(() => false);
  try {
    return await Promise.race([next.then(() => false), silence]);
  } finally {
    stop.abort();
  }
}

/** The bytes of a stream that are not in records yet. */
class StreamBytes {
  readonly #framing: Framing;
  #bytes: Buffer = Buffer.alloc(0);
  #encoding: FileEncoding | null = null;
  #isFirst = true;
  #isWithin = false;

  constructor(framing: Framing) {
    this.#framing = framing;
  }

  get isEmpty(): boolean {
    return this.#bytes.length === 0;
  }

  get isLong(): boolean {
    return this.#bytes.length >= LINE_MAX_BYTES;
  }

  append(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
  }

  *framed(flush: "nothing" | "groups" | "all"): Generator<readonly TextRecord[]> {
    this.#encoding ??= detectEncoding(this.#bytes, flush === "all");
    if (this.#encoding === null) return;
    for (;;) {
      const framed = frame(this.#bytes, this.#framing, {
        encoding: this.#encoding,
        isFirst: this.#isFirst,
        isWithin: this.#isWithin,
        flush,
        // Nobody fills in what a stream has passed.
        isHoleClosed: true,
        mostRecords: PIECE_RECORDS,
      });
      if (framed.consumed > 0) this.#isFirst = false;
      this.#bytes = this.#bytes.subarray(framed.consumed);
      this.#isWithin = framed.isWithin;
      if (framed.records.length > 0) yield framed.records;
      if (framed.consumed === 0 || this.#bytes.length === 0) return;
    }
  }
}

/** Yields the lines of a stream without line breaks and byte order mark. */
export async function* readLines(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const records of readStreamRecords(stream, PLAIN_LINES)) yield* records.map(({ text }) => text);
}
