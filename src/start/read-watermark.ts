import type { Logger } from "pino";

import type { ReadWatermark } from "../api/read-watermark.ts";
import { watchReadWatermark } from "../api/read-watermark.ts";
import type { Engines } from "../engines/engines.ts";
import { createSteadyClock } from "../events/clock.ts";
import { ACCEPT_MS } from "./ids.ts";
import { watermarkReader } from "./watermarks.ts";

/**
 * How long Elasticsearch keeps what it indexed to itself: its refresh interval, and the time that a
 * refresh takes.
 */
const REFRESH_MS = 1_500;

export type ReadWatermarkParts = Pick<Engines, "ports" | "clock" | "watermarks"> & {
  readonly accepted: () => Promise<number>;
  readonly group: string;
  readonly log: Logger;
};

/** The read watermark of a cluster; null where one process accepts and indexes in one order. */
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
      // As the clocks of those who give ids: one that was set back would hold every poller for as
      // long as it takes to catch up.
      now: createSteadyClock({ now: clock.now, from: await accepted() }),
      accept_ms: ACCEPT_MS,
      settledBefore,
      refresh_ms: REFRESH_MS,
      refresh: () => store.refresh(),
      log,
    }),
  );
}
