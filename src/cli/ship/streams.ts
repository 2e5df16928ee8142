import { frame, type Framing, LINE_MAX_BYTES, PLAIN_LINES, type TextRecord } from "./framing.ts";

const PIECE_RECORDS = 250;

/**
 * Yields the records of a stream as they arrive. The last line needs no line break. An unfinished
 * record waits for more lines until the stream ends.
 */
export async function* recordsOf(
  stream: AsyncIterable<Buffer>,
  framing: Framing,
): AsyncGenerator<readonly TextRecord[]> {
  let bytes: Buffer = Buffer.alloc(0);
  let isFirst = true;
  let isWithin = false;
  function* framed(flush: "nothing" | "all"): Generator<readonly TextRecord[]> {
    for (;;) {
      const found = frame(bytes, framing, { isFirst, isWithin, flush, mostRecords: PIECE_RECORDS });
      if (found.consumed > 0) isFirst = false;
      bytes = bytes.subarray(found.consumed);
      isWithin = found.isWithin;
      if (found.records.length > 0) yield found.records;
      if (found.consumed === 0 || bytes.length === 0) return;
    }
  }
  for await (const chunk of stream) {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    // A long line is scanned again only when it reaches the limit, not with every chunk.
    if (chunk.includes(10) || bytes.length >= LINE_MAX_BYTES) yield* framed("nothing");
  }
  yield* framed("all");
}

/** Yields the lines of a stream without line breaks and byte order mark. */
export async function* readLines(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const records of recordsOf(stream, PLAIN_LINES)) yield* records.map(({ text }) => text);
}
