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

/** Writes alerts until none is to be written again, as the pipeline does: on a busy machine the shard of a new index takes seconds to be there. */
export function writeAlerts(store: Pick<Store, "writeAlerts">, alerts: readonly Alert[]): Promise<WriteOutcome[]> {
  const write = async (): Promise<WriteOutcome[]> => {
    const outcomes = await store.writeAlerts(alerts);
    const again = outcomes.find(({ kind }) => kind === "retry");
    if (again !== undefined) throw new Error(JSON.stringify(again));
    return outcomes;
  };
  return until(write, { what: "alerts that are written" });
}
