import type { BusRecord } from "../../src/bus/bus.ts";
import { scanLines } from "../../src/events/line-scanner.ts";
import type { OpenLines } from "../../src/events/lines.ts";
import { RecordReader } from "../../src/events/record.ts";
import type { RecordLine } from "../../src/events/record.ts";
import { DELETION_BYTES, eventSize_bytes, visitSize_bytes } from "../chunk.ts";
import type { RecordFailure } from "../deadletters/codec.ts";
import { TURN_ITEMS } from "../stage.ts";
import type { DeletionItem, StageItem, VisitItem } from "../stage.ts";
import type { Scheduler } from "../../src/scheduling/scheduler.ts";

/**
 * Number of lines decoded at a time: few enough that no event survives the next collection of the
 * young generation, and enough to fill columns in bulk.
 */
const CHUNK_LINES = 256;

/** A part of a write batch, which is the part of a batch that is written together. */
export type Chunk = {
  readonly items: readonly StageItem[];
  readonly visits: readonly VisitItem[];
  readonly deletions: readonly DeletionItem[];
  readonly malformed: readonly RecordFailure[];
  /** What ends with the chunk. A batch always has a last chunk, even if that is empty. */
  readonly ends: "nothing" | "write batch" | "batch";
};

export type ChunkOptions = {
  /** Bounds of a write batch. */
  readonly maxEvents: number;
  readonly maxBytes: number;
  /** Reader of the lines of records. Default: `scanLines` */
  readonly openLines?: OpenLines;
  readonly scheduler: Scheduler;
};

/**
 * Decodes records one after the other, as far as the next chunk needs: a batch is bounded in
 * records, and a record may hold any number of events. Malformed lines are failures of the chunk
 * that contains them.
 */
export async function* intoChunks(
  records: readonly BusRecord[],
  { maxEvents, maxBytes, openLines = scanLines, scheduler }: ChunkOptions,
): AsyncGenerator<Chunk, void> {
  let chunk = emptyChunk();
  /** Number of lines in this chunk. */
  let lines = 0;
  const writeBatch = { lines: 0, bytes: 0 };
  let since = 0;
  const end = (ends: Chunk["ends"]): Chunk => {
    const ended = { ...chunk, ends };
    chunk = emptyChunk();
    lines = 0;
    if (ends !== "nothing") Object.assign(writeBatch, { lines: 0, bytes: 0 });
    return ended;
  };
  for (const record of records) {
    const reader = new RecordReader(record.value, openLines);
    for (let i = 1; reader.hasNext; i++) {
      since += 1;
      if (since > TURN_ITEMS) {
        since = 0;
        await scheduler.yieldToRequests();
      }
      const line = reader.next();
      const size = size_bytes(line);
      if (writeBatch.lines > 0 && (writeBatch.lines >= maxEvents || writeBatch.bytes + size > maxBytes))
        yield end("write batch");
      else if (lines >= CHUNK_LINES) yield end("nothing");
      lines += 1;
      writeBatch.lines += 1;
      writeBatch.bytes += size;
      if (line.kind === "event") chunk.items.push({ record, line: i, event: line.event });
      else if (line.kind === "visit") chunk.visits.push({ record, line: i, visit: line.visit });
      else if (line.kind === "deletion") chunk.deletions.push({ record, line: i, deletion: line.deletion });
      else {
        chunk.malformed.push({ record, line: reader.isBroken ? 0 : i, reason: line.reason });
      }
    }
  }
  yield end("batch");
}

type OpenChunk = { items: StageItem[]; visits: VisitItem[]; deletions: DeletionItem[]; malformed: RecordFailure[] };

function emptyChunk(): OpenChunk {
  return { items: [], visits: [], deletions: [], malformed: [] };
}

function size_bytes(line: RecordLine): number {
  if (line.kind === "event") return eventSize_bytes(line.event);
  if (line.kind === "visit") return visitSize_bytes(line.visit);
  return line.kind === "deletion" ? DELETION_BYTES : line.line.length;
}
