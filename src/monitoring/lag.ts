import type { Logger } from "pino";

import type { Bus } from "../bus/bus.ts";
import { watchProgress } from "../bus/progress.ts";

export type Lag = {
  /** Records on the bus that have not been carried into the store. */
  readonly records: number;
  /**
   * For how long the oldest of them has been there, at the most; since this process began to look,
   * where that is longer ago.
   */
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

const LOOK_EVERY_MS = 1_000;

/**
 * Watches how far the pipeline is behind the bus. What lay on the bus at a moment has been carried
 * once the offsets have passed the ends of that moment: so the last such moment tells how old the
 * oldest record is that waits, and no record has to be read for it.
 */
export function watchLag({ bus, group, log }: LagOptions): LagWatch {
  let done_ms = performance.now();
  let records: number | null = null;
  const progress = watchProgress({
    bus,
    group,
    every_ms: () => LOOK_EVERY_MS,
    now: () => performance.now(),
    log,
    seen: (lags, passed_ms) => {
      done_ms = passed_ms ?? done_ms;
      records = lags.reduce((sum, { end, next }) => sum + Math.max(0, end - next), 0);
    },
  });
  return {
    current() {
      if (records === null) return null;
      return { records, age_s: records === 0 ? 0 : (performance.now() - done_ms) / 1000 };
    },
    [Symbol.asyncDispose]: () => progress[Symbol.asyncDispose](),
  };
}
