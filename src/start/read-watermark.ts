import type { Logger } from "pino";

import type { ReadWatermark } from "../api/read-watermark.ts";
import { watchReadWatermark } from "../api/read-watermark.ts";
import type { Engines } from "../engines/engines.ts";
import { createSteadyClock } from "../events/clock.ts";
import { ACCEPT_MS } from "./ids.ts";
import { watermarkReader } from "./watermarks.ts";

/**
 * Longest time until indexed events are visible to searches: Elasticsearch's refresh interval and
 * the duration of a refresh.
 */
const REFRESH_MS = 1_500;

export type ReadWatermarkParts = Pick<Engines, "ports" | "clock" | "watermarks"> & {
  readonly accepted: () => Promise<number>;
  readonly group: string;
  readonly log: Logger;
};

/**
 * Opens the read watermark of a cluster.
 * @returns null if one process accepts and indexes events in one order
 */
export async function openReadWatermark(
  { ports: { bus, store }, clock, watermarks, accepted, group, log }: ReadWatermarkParts,
  closing: AsyncDisposableStack,
): Promise<ReadWatermark | null> {
  if (watermarks === null) return null;
  const settledBefore = watermarkReader(closing.use(await watermarks()));
  return closing.use(
    watchReadWatermark({
      bus,
      group,
      // Steady like the clock of ids: a clock that was set back would block all readers until it
      // has caught up.
      now: createSteadyClock({ now: clock.now, from: await accepted() }),
      accept_ms: ACCEPT_MS,
      settledBefore,
      refresh_ms: REFRESH_MS,
      refresh: () => store.refresh(),
      log,
    }),
  );
}
