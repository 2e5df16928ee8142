import type { Logger } from "pino";

import type { Bus } from "../bus/bus.ts";
import { watchProgress } from "../bus/progress.ts";

export type Lag = {
  /** Records on the bus that are not in the store yet. */
  readonly records: number;
  /** Upper bound of the age of the oldest of them, since the start of this process at most. */
  readonly age_s: number;
};

export type LagWatch = AsyncDisposable & {
  /** Returns the current lag; null until the first response of the bus. */
  current(): Lag | null;
};

export type LagOptions = {
  readonly bus: Pick<Bus, "lag">;
  readonly group: string;
  readonly log: Logger;
  /** Monotonic clock, in milliseconds. */
  readonly now?: () => number;
};

const SAMPLE_INTERVAL_MS = 1_000;

/**
 * Watches how far the pipeline is behind the bus. Everything on the bus at a time is stored once
 * the offsets have passed the ends of that time. The latest such time bounds the age of the oldest
 * waiting record, without reading it.
 */
export function watchLag({ bus, group, log, now = () => performance.now() }: LagOptions): LagWatch {
  let done_ms = now();
  let records: number | null = null;
  const progress = watchProgress({
    bus,
    group,
    every_ms: () => SAMPLE_INTERVAL_MS,
    now,
    log,
    sampled: (lags, passed_ms) => {
      done_ms = passed_ms ?? done_ms;
      records = lags.reduce((sum, { end, next }) => sum + Math.max(0, end - next), 0);
    },
  });
  return {
    current() {
      if (records === null) return null;
      return { records, age_s: records === 0 ? 0 : (now() - done_ms) / 1000 };
    },
    [Symbol.asyncDispose]: () => progress[Symbol.asyncDispose](),
  };
}
