import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import type { Catalog } from "../../src/catalog/catalog.ts";
import { HOST_CLOCK } from "../../src/events/clock.ts";
import type { RemovalClock } from "../../src/events/clock.ts";
import type { Store } from "../../src/store/store.ts";
import { retentionExpiry } from "./expiry.ts";

export type RetentionOptions = {
  readonly store: Pick<Store, "deleteExpired">;
  readonly catalog: Pick<Catalog, "logs" | "refresh">;
  readonly log: Logger;
  /** Trusted clock, and whether removal is allowed now. Default: the host's clock. */
  readonly clock?: RemovalClock;
  /**
   * Delay of the first run after the start, and interval of the others; each is extended by a
   * random part of up to a fifth.
   */
  readonly first_ms?: number;
  readonly interval_ms?: number;
};

export type Retention = {
  /**
   * Deletes expired data, unless the host's clock contradicts the trusted time.
   * @returns the number of events and visits deleted
   */
  removeExpired(): Promise<number>;
  /** Ends a run between two of its steps, and waits for that. */
  close(): Promise<void>;
};

const FIRST_MS = 60_000;
const INTERVAL_MS = 3_600_000;

/**
 * Enforces each log's `retentionDays`, by `created`, once an hour. Any number of processes may run
 * this concurrently. A run that fails or is interrupted leaves the rest to the next one.
 */
export function startRetention(options: RetentionOptions): Retention {
  const { store, catalog, log, clock = HOST_CLOCK, first_ms = FIRST_MS, interval_ms = INTERVAL_MS } = options;
  const closing = new AbortController();
  const { signal } = closing;

  async function removeExpired(): Promise<number> {
    // Picks up settings just changed by another process.
    await catalog.refresh();
    const now_ms = clock.now();
    if (!clock.mayRemove()) return 0;
    return store.deleteExpired(retentionExpiry(catalog.logs(), now_ms), signal);
  }

  async function run(): Promise<void> {
    for (let wait_ms = first_ms; ; wait_ms = interval_ms) {
      await sleep(wait_ms * (1 + Math.random() / 5), undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      const start_ms = performance.now();
      try {
        const deleted = await removeExpired();
        const took_ms = Math.round(performance.now() - start_ms);
        if (deleted > 0) log.info({ deleted, took_ms }, "retention: removed expired events");
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, "retention: a run failed, the next one continues");
      }
    }
  }

  const running = run();
  return {
    removeExpired,
    close: async () => {
      closing.abort(new Error("the retention job is closing"));
      await running;
    },
  };
}
