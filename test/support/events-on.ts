import type { Bus } from "../../src/bus/bus.ts";
import type { StoredEvent } from "../../src/events/event.ts";
import { decodeRecord } from "../../src/events/record.ts";

/** The events that a bus holds, in its order: what was posted, and nothing that a pipeline finds out. */
export async function eventsOn(bus: Pick<Bus, "read">): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const records of bus.read({ topic: "events", maxRecords: 100, maxBytes: 1_000_000 })) {
    for (const { value } of records) {
      for (const line of decodeRecord(value)) if (line.kind === "event") events.push(line.event);
    }
  }
  return events;
}
