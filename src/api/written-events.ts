import type { EventRow } from "../events/event.ts";
import type { EventId } from "../events/id.ts";
import type { Reply } from "../http/route.ts";
import { writeLarge } from "../http/streamed-list.ts";
import type { Annotations } from "../store/store.ts";
import type { ApiCall } from "./context.ts";
import { eventAsJson, listEvents } from "./event-view.ts";
import type { EventShape } from "./event-view.ts";
import { EVENT_BYTES, sizeOfEvents } from "./response-sizes.ts";

/** Events as they are shown in one response. */
export type EventPage = {
  readonly rows: readonly EventRow[];
  readonly annotations: ReadonlyMap<EventId, Annotations>;
  readonly shape: EventShape;
};

/**
 * Writes events in the requested format, in pieces if they are many bytes. The memory of the call
 * must be taken; it then counts the events and what is held of their output.
 */
export async function writeEvents(
  { memory, format, request, scheduler }: ApiCall,
  { rows, annotations, shape }: EventPage,
): Promise<Reply["body"]> {
  const rows_bytes = sizeOfEvents(rows, annotations);
  // The output is about as large as the events. What is more is taken as it is written.
  const expected_bytes = 2 * rows_bytes;
  memory.resize(expected_bytes);
  return await writeLarge(format, listEvents(rows, annotations, shape), {
    isWanted: () => !request.socket.destroyed,
    scheduler,
    hold: (size_bytes) => memory.resize(Math.max(expected_bytes, rows_bytes + size_bytes)),
  });
}

/** Writes one event: as JSON without a list around it. */
export async function writeEvent(call: ApiCall, row: EventRow, page: Omit<EventPage, "rows">): Promise<Reply["body"]> {
  const { annotations, shape } = page;
  if (call.format.kind === "xml") {
    await call.memory.take(EVENT_BYTES);
    return await writeEvents(call, { ...page, rows: [row] });
  }
  const json = (): string => eventAsJson(row, annotations.get(row.id), shape);
  return { json, xml: () => ({ root: "results", content: null }) };
}
