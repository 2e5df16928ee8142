import type { BusRecord } from "../../src/bus/bus.ts";
import { RecordReader } from "../../src/events/record.ts";
import type { RecordLine } from "../../src/events/record.ts";
import { yieldToRequests } from "../../src/scheduling/cooperative.ts";
import { DELETION_BYTES, eventSize_bytes, visitSize_bytes } from "../chunk.ts";
import type { Failure } from "../deadletters/codec.ts";
import { TURN_ITEMS } from "../stage.ts";
import type { DeletionItem, Item, VisitItem } from "../stage.ts";

/**
 * Number of lines decoded at a time: few enough that no event survives the next collection of the
 * young generation, and enough to fill columns in bulk.
 */
const PART_LINES = 256;

/** A part of a slice. A slice is the part of a batch that is written at a time. */
export type Part = {
  readonly items: readonly Item[];
  readonly visits: readonly VisitItem[];
  readonly deletions: readonly DeletionItem[];
  readonly broken: readonly Failure[];
  /** What the part is the last of. The last part of a batch always occurs, even if it is empty. */
  readonly ends: "nothing" | "slice" | "batch";
};

/**
 * Decodes records one after the other, as far as the next part needs: a batch is bounded in
 * records, and a record may hold any number of events. Malformed lines are failures of the part
 * that contains them.
 */
export async function* partsOf(
  records: readonly BusRecord[],
  { maxEvents, maxBytes }: { readonly maxEvents: number; readonly maxBytes: number },
): AsyncGenerator<Part, void> {
  let part = emptyPart();
  /** Number of lines in this part. */
  let lines = 0;
  const slice = { lines: 0, bytes: 0 };
  let since = 0;
  const end = (ends: Part["ends"]): Part => {
    const ended = { ...part, ends };
    part = emptyPart();
    lines = 0;
    if (ends !== "nothing") Object.assign(slice, { lines: 0, bytes: 0 });
    return ended;
  };
  for (const record of records) {
    const reader = new RecordReader(record.value);
    for (let i = 1; reader.hasNext; i++) {
      since += 1;
      if (since > TURN_ITEMS) {
        since = 0;
        await yieldToRequests();
      }
      const line = reader.next();
      const size = size_bytes(line);
      if (slice.lines > 0 && (slice.lines >= maxEvents || slice.bytes + size > maxBytes)) yield end("slice");
      else if (lines >= PART_LINES) yield end("nothing");
      lines += 1;
      slice.lines += 1;
      slice.bytes += size;
      if (line.kind === "event") part.items.push({ record, line: i, event: line.event });
      else if (line.kind === "visit") part.visits.push({ record, line: i, visit: line.visit });
      else if (line.kind === "deletion") part.deletions.push({ record, line: i, deletion: line.deletion });
      else {
        part.broken.push({ record, line: reader.isBroken ? 0 : i, reason: line.reason });
      }
    }
  }
  yield end("batch");
}

type Growing = { items: Item[]; visits: VisitItem[]; deletions: DeletionItem[]; broken: Failure[] };

function emptyPart(): Growing {
  return { items: [], visits: [], deletions: [], broken: [] };
}

function size_bytes(line: RecordLine): number {
  if (line.kind === "event") return eventSize_bytes(line.event);
  if (line.kind === "visit") return visitSize_bytes(line.visit);
  return line.kind === "deletion" ? DELETION_BYTES : line.line.length;
}
