import type { Position } from "../../src/bus/bus.ts";
import type { StoredEvent } from "../../src/events/event.ts";
import type { Alert, Store, WriteOutcome } from "../../src/store/store.ts";
import { until } from "./until.ts";

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

/** Said of a document whose shard is not there yet. */
const NOT_READY = /No shard available|its shard is not ready/;

/**
 * Writes alerts, again as long as the shard of a new index is not there, which takes seconds on a
 * busy machine: whatever else is to be tried again comes out as it is.
 */
export function writeAlerts(store: Pick<Store, "writeAlerts">, alerts: readonly Alert[]): Promise<WriteOutcome[]> {
  const write = async (): Promise<WriteOutcome[] | null> => {
    const outcomes = await store.writeAlerts(alerts);
    const isEarly = outcomes.some((outcome) => outcome.kind === "retry" && NOT_READY.test(outcome.reason));
    return isEarly ? null : outcomes;
  };
  return until(write, { what: "alerts whose shards are ready" });
}
