import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";

import type { Bus, PartitionLag } from "./bus.ts";

export type ProgressOptions = {
  readonly bus: Pick<Bus, "lag">;
  readonly group: string;
  /** The pause between two looks. */
  readonly every_ms: () => number;
  /** A clock that is never set back; or of which moment all lies on the bus by then. */
  readonly now: () => number | Promise<number>;
  readonly log: Logger;
  /**
   * Told after each look: where the group stands; and the last moment, by `now`, of which all that
   * lay on the bus was passed since the look before, or null.
   */
  readonly seen: (lags: readonly PartitionLag[], passed_ms: number | null) => void;
};

/** A moment, and where the topic's partitions ended in it. */
type Sample = { readonly taken_ms: number; readonly ends: ReadonlyMap<number, number> };

/** Kept while the group is behind. Beyond, every second one goes: of an old moment nobody needs the second. */
const MAX_SAMPLES = 512;

/**
 * Watches a group pass what lies on the topic of events: notes where the topic ends at a moment,
 * and sees later that the group's offsets are beyond those ends. So it is known up to which moment
 * all is done, and no record has to be read for it. While the bus is away it tells nothing.
 */
export function watchProgress({ bus, group, every_ms, now, log, seen }: ProgressOptions): AsyncDisposable {
  const stop = new AbortController();
  let samples: Sample[] = [];

  async function look(): Promise<void> {
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
    seen(lags, passed?.taken_ms ?? null);
  }

  async function watch(): Promise<void> {
    while (!stop.signal.aborted) {
      await look().catch((error: unknown) => log.debug({ err: error, group }, "the bus did not tell its ends"));
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
