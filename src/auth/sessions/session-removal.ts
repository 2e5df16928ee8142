import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import type { RemovalClock } from "../../events/clock.ts";
import type { Sessions } from "./sessions.ts";

const INTERVAL_MS = 3_600_000;

/**
 * Removes the stored data of ended sessions once an hour, unless the host's clock contradicts the
 * trusted time. Any number of processes may do so at the same time.
 * @param options.interval_ms up to a fifth is added at random
 */
export function startSessionRemoval(options: {
  readonly sessions: Pick<Sessions, "removeEndedSessions">;
  readonly clock: Pick<RemovalClock, "mayRemove">;
  readonly log: Logger;
  readonly interval_ms?: number;
}): AsyncDisposable {
  const { sessions, clock, log, interval_ms = INTERVAL_MS } = options;
  const closing = new AbortController();
  const { signal } = closing;

  async function run(): Promise<void> {
    for (;;) {
      await sleep(interval_ms * (1 + Math.random() / 5), undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      if (!clock.mayRemove()) continue;
      try {
        const removed = await sessions.removeEndedSessions();
        if (removed > 0) log.info({ removed }, "ended sessions were removed");
      } catch (error) {
        log.warn({ err: error }, "ended sessions could not be removed; retrying in an hour");
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
