import type { LogKey } from "../../events/event.ts";
import { type EventId, idsFrom } from "../../events/id.ts";
import { completeLine, encodeRecord } from "../../events/record.ts";

/** Bounds of one record, below the bus's limit on it (1 MB on Kafka). */
const RECORD_MAX_EVENTS = 2_000;
const RECORD_MAX_BYTES = 400_000;
/** What id, moment and punctuation add to a line. */
const LINE_OVERHEAD_BYTES = 64;

/**
 * A line of a record that has yet to get its id: its fields, made by `encodeFields` or as they were
 * posted, and its moment in digits; null: the moment of acceptance.
 */
export type Line = { readonly fields: string; readonly created: string | null };

/** Lines of one post, with the first of their ids and the moment of their acceptance. */
export type AcceptedLines = {
  readonly post: { readonly log: LogKey; readonly lines: readonly Line[] };
  readonly first: EventId;
  readonly created: number;
};

/** @param created in milliseconds since the Unix epoch; null: the moment of acceptance */
export function lineOf(fields: string, created: number | null = null): Line {
  return { fields, created: created === null ? null : String(created) };
}

/** Puts lines into records for the bus: records of one log each, its lines in order of arrival. */
export function buildRecords(accepted: readonly AcceptedLines[]): { key: string; value: Buffer }[] {
  const records: { key: string; value: Buffer }[] = [];
  const open = new Map<LogKey, { lines: string[]; size_bytes: number }>();
  for (const { post, first, created } of accepted) {
    const { log } = post;
    const nthId = idsFrom(first);
    const accepted = String(created);
    for (const [n, line] of post.lines.entries()) {
      const size_bytes = sizeOf(line);
      let record = open.get(log);
      const isFull = (r: NonNullable<typeof record>): boolean =>
        r.size_bytes + size_bytes > RECORD_MAX_BYTES || r.lines.length === RECORD_MAX_EVENTS;
      if (record !== undefined && isFull(record)) {
        records.push({ key: log, value: encodeRecord(log, record.lines) });
        record = undefined;
      }
      if (record === undefined) open.set(log, (record = { lines: [], size_bytes: 0 }));
      record.lines.push(completeLine(nthId(n), line.created ?? accepted, line.fields));
      record.size_bytes += size_bytes;
    }
  }
  for (const [log, { lines }] of open) records.push({ key: log, value: encodeRecord(log, lines) });
  return records;
}

/** How many bytes of a record a line takes, roughly. */
export function sizeOf({ fields }: Line): number {
  return Buffer.byteLength(fields) + LINE_OVERHEAD_BYTES;
}
