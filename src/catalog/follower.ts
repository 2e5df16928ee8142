import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import { LoggiaError } from "../errors.ts";
import type { DocumentCursor, Documents } from "./documents/documents.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";

/** Minimum time between reads caused by unknown secrets, in milliseconds, however many arrive. */
const THROTTLE_MS = 200;

/** After this time without a successful read, the catalog is not ready. */
const STALE_MS = 15_000;

/** Documents applied between two yields to requests. */
const STEP_DOCUMENTS = 64;

/** Keeps a snapshot up to date with the writes of other processes. */
export type Follower = AsyncDisposable & {
  /** Reads everything written before the call. Overlapping calls share one read. */
  readonly refresh: () => Promise<void>;
  /** Like `refresh`, but rate-limited, for look-ups that clients can trigger at any rate. */
  readonly refreshThrottled: () => Promise<void>;
  /** @throws LoggiaError `store_unavailable` if changes could not be read for 15 s */
  checkFresh(): void;
};

/**
 * Reads the whole store once, then polls every `poll_ms`. @throws LoggiaError `store_unavailable`
 * if the first read fails
 */
export async function createFollower(options: {
  documents: Documents;
  snapshot: Snapshot;
  log: Logger;
  poll_ms: number;
  scheduler: Scheduler;
}): Promise<Follower> {
  const { documents, snapshot, log, poll_ms, scheduler } = options;
  let cursor: DocumentCursor | null = null;
  let read_ms = performance.now();
  let failing = false;
  let running: Promise<void> | null = null;
  let waiting: Promise<void> | null = null;
  let scheduled: Promise<void> | null = null;
  let lastThrottled_ms = -Infinity;

  const read = async (): Promise<void> => {
    const began_ms = performance.now();
    const changes = await documents.changes(cursor);
    for (const [i, document] of changes.documents.entries()) {
      if (i % STEP_DOCUMENTS === STEP_DOCUMENTS - 1) await scheduler.yieldToRequests();
      snapshot.apply(document);
    }
    cursor = changes.cursor;
    read_ms = began_ms;
  };
  const refresh = (): Promise<void> => {
    // A running read may have started before the caller's write, so wait for the next one.
    if (running !== null) {
      waiting ??= running
        .catch(() => {})
        .then(() => {
          waiting = null;
          return refresh();
        });
      return waiting;
    }
    running = read().finally(() => {
      running = null;
    });
    return running;
  };
  const refreshLater = async (): Promise<void> => {
    await sleep(Math.max(0, lastThrottled_ms + THROTTLE_MS - performance.now()));
    scheduled = null;
    lastThrottled_ms = performance.now();
    await refresh();
  };

  await refresh();
  const poller = startPolling(poll_ms, async () => {
    try {
      await refresh();
      if (failing) log.info("Changes of the catalog are read again");
      failing = false;
    } catch (error) {
      if (!failing) log.error({ err: error }, "Changes of the catalog cannot be read; retrying");
      failing = true;
    }
  });

  return {
    refresh,
    refreshThrottled: () => (scheduled ??= refreshLater()),
    checkFresh() {
      const age_s = Math.round((performance.now() - read_ms) / 1000);
      if (age_s * 1000 <= STALE_MS + poll_ms) return;
      throw new LoggiaError("store_unavailable", `Changes of the catalog could not be read for ${age_s} s`);
    },
    async [Symbol.asyncDispose]() {
      poller.stop();
      await running?.catch(() => {});
    },
  };
}

function startPolling(poll_ms: number, work: () => Promise<void>): { stop(): void } {
  let timer: NodeJS.Timeout | null = null;
  let stopped = false;
  const schedule = (): void => {
    if (stopped) return;
    timer = setTimeout(() => void work().finally(schedule), poll_ms);
    timer.unref();
  };
  schedule();
  return {
    stop() {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}
