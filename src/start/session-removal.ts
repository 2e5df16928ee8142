import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import type { Catalog } from "../catalog/catalog.ts";
import type { RemovalClock } from "../events/clock.ts";

const INTERVAL_MS = 3_600_000;

/**
 * Removes what is stored of sessions that are over, once an hour, unless the clock is in doubt. Any
 * number of processes may do so at once.
 * @param options.interval_ms each wait is up to a fifth longer, at random
 */
export function startSessionRemoval(options: {
  readonly catalog: Pick<Catalog, "removeEndedSessions">;
  readonly clock: Pick<RemovalClock, "mayRemove">;
  readonly log: Logger;
  readonly interval_ms?: number;
}): AsyncDisposable {
  const { catalog, clock, log, interval_ms = INTERVAL_MS } = options;
  const closing = new AbortController();
  const { signal } = closing;

  async function run(): Promise<void> {
    for (;;) {
      await sleep(interval_ms * (1 + Math.random() / 5), undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      if (!clock.mayRemove()) continue;
      try {
        const removed = await catalog.removeEndedSessions();
        if (removed > 0) log.info({ removed }, "sessions that had ended are removed");
      } catch (error) {
        log.warn({ err: error }, "sessions that have ended could not be removed; the next try comes in an hour");
      }
    }
  }

  const running = run();
  return {
    async [Symbol.asyncDispose]() {
      closing.abort();
      await running;
    },
  };
}
