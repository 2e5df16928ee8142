import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";

import type { Bus, PartitionLag } from "./bus.ts";

export type ProgressOptions = {
  readonly bus: Pick<Bus, "lag">;
  readonly group: string;
  /** Pause between two reads of the lag. */
  readonly every_ms: () => number;
  /** A clock that never goes back, or a time up to which all records are on the bus. */
  readonly now: () => number | Promise<number>;
  readonly log: Logger;
  /**
   * Called after each read of the lag, with the group's lags. `passed_ms` is the latest time, by
   * `now`, whose records the group has passed since the previous call, or null if there is none.
   */
  readonly sampled: (lags: readonly PartitionLag[], passed_ms: number | null) => void;
};

/** The ends of the topic's partitions at one time. */
type Sample = { readonly taken_ms: number; readonly ends: ReadonlyMap<number, number> };

/**
 * Samples kept while the group is behind. Beyond this every second one is dropped, which only makes
 * progress coarser.
 */
const MAX_SAMPLES = 512;

/**
 * Watches a consumer group's progress through the topic of events. It samples the ends of the
 * topic, and reports a sample's time once the group's offsets have passed its ends. So the time
 * up to which everything is processed is known without reading a record. It reports nothing while
 * the bus is unavailable.
 */
export function watchProgress({ bus, group, every_ms, now, log, sampled }: ProgressOptions): AsyncDisposable {
  const stop = new AbortController();
  let samples: Sample[] = [];

  async function sample(): Promise<void> {
    const taken_ms = await now();
    const lags = await bus.lag("events", group);
    samples.push({ taken_ms, ends: new Map(lags.map(({ partition, end }) => [partition, end])) });
    const next = new Map(lags.map((lag) => [lag.partition, lag.next]));
    const last = samples.findLastIndex(({ ends }) =>
      ends.entries().every(([partition, end]) => (next.get(partition) ?? 0) >= end),
    );
    const passed = samples[last];
    samples = samples.slice(last + 1);
    if (samples.length > MAX_SAMPLES) samples = samples.filter((_, i) => i % 2 === 0);
    sampled(lags, passed?.taken_ms ?? null);
  }

  async function watch(): Promise<void> {
    while (!stop.signal.aborted) {
      await sample().catch((error: unknown) =>
        log.debug({ err: error, group }, "the lag of the consumer group could not be read"),
      );
      await delay(every_ms(), undefined, { signal: stop.signal }).catch(() => {});
    }
  }

  const watching = watch();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await watching;
    },
  };
}
