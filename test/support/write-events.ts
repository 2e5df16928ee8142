import type { Position } from "../../src/bus/bus.ts";
import type { StoredEvent } from "../../src/events/event.ts";
import type { Store, WriteOutcome } from "../../src/store/store.ts";

/** Prepares events and writes them, as the pipeline does. */
export async function writeEvents(
  store: Pick<Store, "prepareEvents" | "writeEvents">,
  events: readonly StoredEvent[],
  position?: Position,
): Promise<WriteOutcome[]> {
  const prepared = store.prepareEvents();
  await prepared.add(events);
  return store.writeEvents(prepared, position);
}
