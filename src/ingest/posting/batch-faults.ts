import { encodeFields } from "../../events/record.ts";
import { wellFormed } from "../../events/text.ts";
import type { Yielder } from "../../scheduling/yielding.ts";
import { errorEvent } from "./validated-event.ts";
import type { RecordLine } from "../append/record-lines.ts";

/** One event of a batch as read: its line, or its fault. */
export type ReadItem = { readonly line: RecordLine; readonly fault: null } | BadItem;

/** `posted` is the event as the producer wrote it, without the API key. */
type BadItem = { readonly line: null; readonly fault: string; readonly posted: string };

/** One event of a batch in the response. */
export type BatchItem = {
  /** The event, or the error event in its place; null if it has no error event of its own. */
  readonly line: RecordLine | null;
  readonly fault: string | null;
};

/** A validated batch. */
export type Batch = {
  /** Lines to store: those of `items`, in order, and at most one more as a summary. */
  readonly lines: readonly RecordLine[];
  /** One entry per event, or the first hundred if no event is valid. */
  readonly items: readonly BatchItem[];
  readonly accepted: number;
  readonly rejected: number;
};

/** Maximum number of error events per batch. One more counts the rest. */
const MAX_ERROR_EVENTS = 100;
/** Maximum size of many invalid events in one error event, in UTF-16 units. */
const POSTED_MAX_UNITS = 100_000;

/**
 * Replaces invalid events by error events, up to a limit: a few repeated bytes must not fill a log.
 */
export async function withErrorEvents(read: readonly ReadItem[], yielder: Yielder): Promise<Batch> {
  const bad = read.filter((item) => item.line === null);
  if (bad.length === read.length && bad.length > 1) return batchOfInvalid(bad);
  const own = new Set<ReadItem>(bad.slice(0, MAX_ERROR_EVENTS));
  const items: BatchItem[] = [];
  for (const item of read) {
    items.push(own.has(item) ? withLine(item as BadItem) : item);
    if (own.has(item) && yielder.isDue) await yielder.turn();
  }
  const lines: RecordLine[] = [];
  for (const { line } of items) if (line !== null) lines.push(line);
  const rest = bad.length - own.size;
  if (rest > 0) {
    lines.push(
      errorLine(
        `${counted(rest)} more events of the batch are invalid; only the first ${MAX_ERROR_EVENTS} have error events`,
        "",
      ),
    );
  }
  return { lines, items, accepted: read.length - bad.length, rejected: bad.length };
}

function batchOfInvalid(bad: readonly BadItem[]): Batch {
  const shown = bad.slice(0, MAX_ERROR_EVENTS);
  const room = Math.floor(POSTED_MAX_UNITS / shown.length);
  const posted = shown.map((item) => ({ fault: item.fault, posted: shorten(item.posted, room) }));
  const text = `none of the ${counted(bad.length)} events of a batch is valid; the first fault: ${shown[0]!.fault}`;
  return {
    lines: [errorLine(text, JSON.stringify(posted))],
    items: shown.map(({ fault }) => ({ line: null, fault: `Bad event: ${fault}` })),
    accepted: 0,
    rejected: bad.length,
  };
}

function withLine({ fault, posted }: BadItem): BatchItem {
  return { line: errorLine(fault, wellFormed(posted)), fault: `Bad event: ${fault}` };
}

function errorLine(fault: string, data: string): RecordLine {
  const valid = errorEvent("event", [fault], data);
  return { fields: encodeFields(data === "" ? { ...valid, data: null } : valid), created: null };
}

function shorten(text: string, units: number): string {
  return wellFormed(text.length > units ? `${text.slice(0, units)}…` : text);
}

function counted(count: number): string {
  return count.toLocaleString("en-US");
}
