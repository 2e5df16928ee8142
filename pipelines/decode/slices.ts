import type { BusRecord } from "../../src/bus/bus.ts";
import { decodeRecord } from "../../src/events/record.ts";
import type { RecordLine } from "../../src/events/record.ts";
import { giveWay } from "../../src/pace.ts";
import { eventSize_bytes, visitSize_bytes } from "../chunk.ts";
import type { Failure } from "../deadletters/letter.ts";
import { TURN_ITEMS } from "../stage.ts";
import type { Item, VisitItem } from "../stage.ts";

/** As much of a batch as goes through the stages at a time. */
export type Slice = {
  readonly items: readonly Item[];
  readonly visits: readonly VisitItem[];
  readonly broken: readonly Failure[];
  /** Whether it is the last of its batch. There always is a last one, be it empty. */
  readonly last: boolean;
};

/**
 * Decodes records one after the other, as far as the next slice needs it: a batch is bounded in records, and a record may hold any number of events.
 * Lines that are neither events nor visits come out as failures of the slice in which they stand.
 */
export async function* slicesOf(
  records: readonly BusRecord[],
  { maxEvents, maxBytes }: { readonly maxEvents: number; readonly maxBytes: number },
): AsyncGenerator<Slice, void> {
  let items: Item[] = [];
  let visits: VisitItem[] = [];
  let broken: Failure[] = [];
  let bytes = 0;
  let since = 0;
  for (const record of records) {
    if (since >= TURN_ITEMS) {
      since = 0;
      await giveWay();
    }
    const lines = decodeRecord(record.value);
    since += lines.length;
    for (let i = 0; i < lines.length; i++) {
      const line = lines[i]!;
      const size = size_bytes(line);
      const count = items.length + visits.length + broken.length;
      if (count > 0 && (count >= maxEvents || bytes + size > maxBytes)) {
        yield { items, visits, broken, last: false };
        items = [];
        visits = [];
        broken = [];
        bytes = 0;
      }
      bytes += size;
      if (line.kind === "event") items.push({ record, line: i + 1, event: line.event });
      else if (line.kind === "visit") visits.push({ record, line: i + 1, visit: line.visit });
      else broken.push({ record, line: isWhole(record, line.line, lines.length) ? 0 : i + 1, reason: line.reason });
    }
  }
  yield { items, visits, broken, last: true };
}

function size_bytes(line: RecordLine): number {
  if (line.kind === "event") return eventSize_bytes(line.event);
  return line.kind === "visit" ? visitSize_bytes(line.visit) : line.line.length;
}

/** Whether a broken line stands for a record whose head could not be read: then it holds all of it, while any other line is shorter than its record. */
function isWhole(record: BusRecord, line: string, lines: number): boolean {
  return lines === 1 && line === record.value.toString("utf8");
}
