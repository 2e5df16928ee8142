import type { LogKey } from "../../events/event.ts";
import { type EventId, idsFrom } from "../../events/id.ts";
import { completeLine, encodeRecord } from "../../events/record.ts";

/** Bounds of one record, below the bus's limit on it (1 MB on Kafka). */
const RECORD_MAX_EVENTS = 2_000;
const RECORD_MAX_BYTES = 400_000;
/** Bytes that id, creation time and punctuation add to a line. */
const LINE_OVERHEAD_BYTES = 64;

/**
 * A line of a record without its id: its fields, encoded by `encodeFields` or as posted, and its
 * creation time in decimal digits; null: the moment of acceptance.
 */
export type RecordLine = { readonly fields: string; readonly created: string | null };

/** Lines of one post, with their first id and the moment of acceptance. */
export type AcceptedLines = {
  readonly post: { readonly log: LogKey; readonly lines: readonly RecordLine[] };
  readonly first: EventId;
  readonly created: number;
};

/** @param created in milliseconds since the Unix epoch; null: the moment of acceptance */
export function recordLine(fields: string, created: number | null = null): RecordLine {
  return { fields, created: created === null ? null : String(created) };
}

/** Packs lines into records for the bus. Each record holds lines of one log in order of arrival. */
export function buildRecords(accepted: readonly AcceptedLines[]): { key: string; value: Buffer }[] {
  const records: { key: string; value: Buffer }[] = [];
  const open = new Map<LogKey, { lines: string[]; size_bytes: number }>();
  for (const { post, first, created } of accepted) {
    const { log } = post;
    const nthId = idsFrom(first);
    const accepted = String(created);
    for (const [n, line] of post.lines.entries()) {
      const size_bytes = lineBytes(line);
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

/** Returns the approximate size of a line within a record, in bytes. */
export function lineBytes({ fields }: RecordLine): number {
  return Buffer.byteLength(fields) + LINE_OVERHEAD_BYTES;
}
