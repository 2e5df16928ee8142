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

/** Errors about a document whose shard has not started yet. */
const NOT_READY = /No shard available|its shard is not ready/;

/**
 * Writes alerts, and retries while the shard of a new index has not started, which takes seconds on
 * a busy machine. Any other outcome to retry is returned unchanged.
 */
export function writeAlerts(store: Pick<Store, "writeAlerts">, alerts: readonly Alert[]): Promise<WriteOutcome[]> {
  const write = async (): Promise<WriteOutcome[] | null> => {
    const outcomes = await store.writeAlerts(alerts);
    const isEarly = outcomes.some((outcome) => outcome.kind === "retry" && NOT_READY.test(outcome.reason));
    return isEarly ? null : outcomes;
  };
  return until(write, { what: "alerts whose shards are ready" });
}
