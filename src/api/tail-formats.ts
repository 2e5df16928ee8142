import type { EventRow } from "../events/event.ts";
import type { EventId } from "../events/id.ts";
import type { Marks } from "../store/store.ts";
import { eventAsJson } from "./event-view.ts";
import type { EventShape } from "./event-view.ts";
import { eventRecords } from "./export/events.ts";
import { writerOf } from "./export/formats.ts";

/** How a tail writes what it tells. */
export type TailFormat = {
  readonly contentType: string;
  /** What comes first, so that the reader and proxies know at once that it begins. */
  readonly head: string;
  readonly event: (row: EventRow, marks: Marks | undefined) => string;
  readonly skipped: (count: number) => string;
  /** Where to resume for a reader that has no event yet. */
  readonly place: (id: EventId) => string;
  /** Keeps proxies from closing a connection on which nothing happens. */
  readonly comment: string;
};

/**
 * Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), or JSON by
 * line.
 */
export function tailFormat(name: "event-stream" | "ndjson", shape: EventShape): TailFormat {
  if (name === "ndjson") {
    const { contentType, write } = writerOf("ndjson", eventRecords(shape));
    return {
      contentType,
      event: (row, marks) => write({ row, marks }),
      head: "\n",
      skipped: (count) => `${JSON.stringify({ skipped: count })}\n`,
      place: () => "",
      comment: "\n",
    };
  }
  return {
    contentType: "text/event-stream; charset=utf-8",
    head: ": tail\n\n",
    // JSON holds no line break of its own.
    event: (row, marks) => `id: ${row.id}\nevent: event\ndata: ${eventAsJson(row, marks, shape)}\n\n`,
    skipped: (count) => `event: skipped\ndata: ${JSON.stringify({ count })}\n\n`,
    // Without data it is no event, but browsers' `EventSource` remembers the id.
    place: (id) => `id: ${id}\n\n`,
    comment: ": still here\n\n",
  };
}
