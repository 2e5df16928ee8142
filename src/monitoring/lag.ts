import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";

import type { Bus } from "../bus/bus.ts";

export type Lag = {
  /** Records on the bus that have not been carried into the store. */
  readonly records: number;
  /** For how long the oldest of them has been there, at the most; since this process began to look, where that is longer ago. */
  readonly age_s: number;
};

export type LagWatch = AsyncDisposable & {
  /** null: the bus has not told yet. */
  current(): Lag | null;
};

export type LagOptions = {
  readonly bus: Pick<Bus, "lag">;
  readonly group: string;
  readonly log: Logger;
};

/** A moment, and where the topic's partitions ended in it. */
type Sample = { readonly taken_ms: number; readonly ends: ReadonlyMap<number, number> };

const SAMPLE_EVERY_MS = 1_000;
/** Kept while the pipeline is behind. Beyond, every second one goes: of an old moment nobody needs the second. */
const MAX_SAMPLES = 1_024;

/**
 * Watches how far the pipeline is behind the bus. What lay on the bus at a moment has been carried once the offsets have passed the ends of that
 * moment: so the last such moment tells how old the oldest record is that waits, and no record has to be read for it.
 */
export function watchLag({ bus, group, log }: LagOptions): LagWatch {
  const stop = new AbortController();
  const begun_ms = performance.now();
  let samples: Sample[] = [];
  let done_ms = begun_ms;
  let records: number | null = null;

  async function sample(): Promise<void> {
    const taken_ms = performance.now();
    const lags = await bus.lag("events", group);
    samples.push({ taken_ms, ends: new Map(lags.map(({ partition, end }) => [partition, end])) });
    const next = new Map(lags.map((lag) => [lag.partition, lag.next]));
    const passed = samples.findLast(({ ends }) =>
      ends.entries().every(([partition, end]) => (next.get(partition) ?? 0) >= end),
    );
    if (passed !== undefined) {
      done_ms = passed.taken_ms;
      samples = samples.filter(({ taken_ms }) => taken_ms > passed.taken_ms);
    }
    if (samples.length > MAX_SAMPLES) samples = samples.filter((_, i) => i % 2 === 0);
    records = lags.reduce((sum, { end, next }) => sum + Math.max(0, end - next), 0);
  }

  async function watch(): Promise<void> {
    while (!stop.signal.aborted) {
      await sample().catch((error: unknown) => log.debug({ err: error }, "lag: the bus did not tell its ends"));
      await delay(SAMPLE_EVERY_MS, undefined, { signal: stop.signal }).catch(() => {});
    }
  }

  const watching = watch();
  return {
    current() {
      if (records === null) return null;
      return { records, age_s: records === 0 ? 0 : (performance.now() - done_ms) / 1000 };
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await watching;
    },
  };
}
