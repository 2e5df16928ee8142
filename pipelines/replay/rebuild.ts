import type { RebuildProgress, Store, WriteOutcome } from "../../src/store/store.ts";
import type { ReplayProgress } from "../../src/operations/operations.ts";
import { createClassifier } from "../classify/classify.ts";
import { NOTHING_READ, replay } from "./replay.ts";
import type { ReplayOptions } from "./replay.ts";

export type RebuildOptions = Omit<ReplayOptions, "store" | "report"> & {
  readonly store: Store & Required<Pick<Store, "rebuild">>;
  readonly report?: (progress: ReplayProgress) => void;
};

const DONE: WriteOutcome = Object.freeze({ kind: "done" });

/**
 * Builds the store anew beside the one that is there, of what the bus holds and of what it does
 * not, and then switches. All events get the classes that today's filters give them, be they on the
 * bus or copied; what people did stays as it is; old events raise no new alerts.
 *
 * @throws LoggiaError `conflict` where somebody is at it; `bus_unavailable`, `store_unavailable`;
 * the reason of `signal`. Then the store is as it was.
 */
export async function rebuild(options: RebuildOptions): Promise<ReplayProgress> {
  const { store, catalog, since, signal } = options;
  let read = NOTHING_READ;
  let built: RebuildProgress | null = null;
  const report = (): void => options.report?.({ ...read, rebuild: built });
  const classOf = createClassifier(catalog);
  // Filters that were just changed through another process count.
  await catalog.refresh();
  built = await store.rebuild({
    since,
    signal,
    revise: async (event) => ({ ...event, class: await classOf(event) }),
    report: (progress) => {
      built = progress;
      report();
    },
    fill: async (anew, signal) => {
      read = await replay({
        ...options,
        store: { ...store, ...anew, writeAlerts: async (alerts) => alerts.map(() => DONE) },
        signal,
        report: (progress) => {
          read = progress;
          report();
        },
      });
    },
  });
  return { ...read, rebuild: built };
}
