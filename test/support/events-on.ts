import type { Bus } from "../../src/bus/bus.ts";
import type { StoredEvent } from "../../src/events/event.ts";
import { decodeRecord } from "../../src/events/record.ts";

/** Returns the events on a bus, in order, as posted: without the fields that the pipeline adds. */
export async function eventsOn(bus: Pick<Bus, "read">): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const records of bus.read({ topic: "events", maxRecords: 100, maxBytes: 1_000_000 })) {
    for (const { value } of records) {
      for (const line of decodeRecord(value)) if (line.kind === "event") events.push(line.event);
    }
  }
  return events;
}
