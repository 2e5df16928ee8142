import type { EventRow } from "../events/event.ts";
import type { EventId } from "../events/id.ts";
import type { Annotations } from "../store/store.ts";
import { eventAsJson } from "./event-view.ts";
import type { EventShape } from "./event-view.ts";
import { eventRecords } from "./export/events.ts";
import { recordWriter } from "./export/formats.ts";

/** Output format of a tail. */
export type TailFormat = {
  readonly contentType: string;
  /** Sent first, so that the client and proxies see at once that the response has begun. */
  readonly head: string;
  readonly event: (row: EventRow, annotations: Annotations | undefined) => Iterable<string>;
  readonly skipped: (count: number) => string;
  /** Position for a client without an event yet, to resume at. */
  readonly position: (id: EventId) => string;
  /** Keeps proxies from closing an idle connection. */
  readonly comment: string;
};

/**
 * Returns the format: server-sent events
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html) or NDJSON.
 */
export function tailFormat(name: "event-stream" | "ndjson", shape: EventShape): TailFormat {
  if (name === "ndjson") {
    const { contentType, write } = recordWriter("ndjson", eventRecords(shape));
    return {
      contentType,
      event: (row, annotations) => write({ row, annotations }),
      head: "\n",
      skipped: (count) => `${JSON.stringify({ skipped: count })}\n`,
      position: () => "",
      comment: "\n",
    };
  }
  return {
    contentType: "text/event-stream; charset=utf-8",
    head: ": tail\n\n",
    // JSON contains no line breaks.
    event: (row, annotations) => [`id: ${row.id}\nevent: event\ndata: ${eventAsJson(row, annotations, shape)}\n\n`],
    skipped: (count) => `event: skipped\ndata: ${JSON.stringify({ count })}\n\n`,
    // Without data it is not an event, but the browser's `EventSource` stores the id.
    position: (id) => `id: ${id}\n\n`,
    comment: ": still here\n\n",
  };
}
