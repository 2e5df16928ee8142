import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import type { Catalog } from "../../src/catalog/catalog.ts";
import { HOST_CLOCK } from "../../src/events/clock.ts";
import type { RemovalClock } from "../../src/events/clock.ts";
import type { Store } from "../../src/store/store.ts";
import { expiryOf } from "./expiry.ts";

export type RetentionOptions = {
  readonly store: Pick<Store, "deleteExpired">;
  readonly catalog: Pick<Catalog, "logs" | "refresh">;
  readonly log: Logger;
  /**
   * The time that is believed, and whether what is old may be removed now. Default: the host's
   * clock
   */
  readonly clock?: RemovalClock;
  /**
   * The first sweep comes so long after the start, the others so long after the one before; each up
   * to a fifth later, at random.
   */
  readonly first_ms?: number;
  readonly interval_ms?: number;
};

export type Retention = {
  /**
   * Deletes what has expired by now, unless the clock is in doubt. @returns how many events and
   * visits went
   */
  sweep(): Promise<number>;
  /** Ends a sweep under way between two of its steps, and waits for that. */
  close(): Promise<void>;
};

const FIRST_MS = 60_000;
const INTERVAL_MS = 3_600_000;

/**
 * Keeps each log to its `retentionDays`, by `created`: sweeps once an hour. Any number of processes
 * may sweep at once; a sweep that fails, or is cut off, leaves the rest to the next one.
 */
export function startRetention(options: RetentionOptions): Retention {
  const { store, catalog, log, clock = HOST_CLOCK, first_ms = FIRST_MS, interval_ms = INTERVAL_MS } = options;
  const closing = new AbortController();
  const { signal } = closing;

  async function sweep(): Promise<number> {
    // What another process has just allowed to stay, stays.
    await catalog.refresh();
    const now_ms = clock.now();
    if (!clock.mayRemove()) return 0;
    return store.deleteExpired(expiryOf(catalog.logs(), now_ms), signal);
  }

  async function run(): Promise<void> {
    for (let wait_ms = first_ms; ; wait_ms = interval_ms) {
      await sleep(wait_ms * (1 + Math.random() / 5), undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      const start_ms = performance.now();
      try {
        const deleted = await sweep();
        const took_ms = Math.round(performance.now() - start_ms);
        if (deleted > 0) log.info({ deleted, took_ms }, "retention: what had expired is gone");
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, "retention: a sweep ended early; the next one goes on");
      }
    }
  }

  const running = run();
  return {
    sweep,
    close: async () => {
      closing.abort(new Error("the retention is closing"));
      await running;
    },
  };
}
