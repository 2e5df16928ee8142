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
 * Builds a new store beside the current one, from the bus and from what the bus no longer holds,
 * and then switches to it. All events, read or copied, are classified by the current filters.
 * Changes made by users are kept, and old events raise no new alerts.
 *
 * @throws LoggiaError `conflict` if a rebuild is running; `bus_unavailable`, `store_unavailable`;
 * the reason of `signal`. The store is unchanged then.
 */
export async function rebuild(options: RebuildOptions): Promise<ReplayProgress> {
  const { store, catalog, since, signal } = options;
  let read = NOTHING_READ;
  let built: RebuildProgress | null = null;
  const report = (): void => options.report?.({ ...read, rebuild: built });
  const classOf = createClassifier(catalog, options.scheduler);
  // Picks up filters just changed through another process.
  await catalog.refresh();
  built = await store.rebuild({
    since,
    signal,
    revise: async (event) => ({ ...event, class: await classOf(event) }),
    report: (progress) => {
      built = progress;
      report();
    },
    fill: async (writes, signal) => {
      read = await replay({
        ...options,
        store: { ...store, ...writes, writeAlerts: async (alerts) => alerts.map(() => DONE) },
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
