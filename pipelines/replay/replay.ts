import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import type { Batch, Bus, BusRecord, Subscription } from "../../src/bus/bus.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import type { OpenLines } from "../../src/events/lines.ts";
import type { BusProgress } from "../../src/operations/operations.ts";
import type { Store } from "../../src/store/store.ts";
import type { Locate } from "../enrich/enrich.ts";
import { withRetentionFilter } from "../retention/filter.ts";
import { startPipeline } from "../runner.ts";
import type { Scheduler } from "../../src/scheduling/scheduler.ts";

export type ReplayOptions = {
  readonly bus: Bus;
  readonly store: Store;
  readonly catalog: Catalog;
  readonly log: Logger;
  readonly scheduler: Scheduler;
  /** Trusted clock, by which events expire. */
  readonly now: () => number;
  /** As in the pipeline's options. */
  readonly locate?: Locate;
  readonly openLines?: OpenLines;
  /** Records appended before this time are skipped, in milliseconds since the Unix epoch. */
  readonly since: number;
  readonly report?: (progress: BusProgress) => void;
  /** Ends the replay between two batches, with the signal's reason. */
  readonly signal: AbortSignal;
};

/** Smaller than the pipeline's bounds, so that it never waits long for a write of the replay. */
const BATCH = { maxEvents: 2_000, maxBytes: 2_000_000 } as const;
const RETRY_FIRST_MS = 100;
const RETRY_LAST_MS = 10_000;
const CLOSE_TIMEOUT_MS = 5_000;

export const NOTHING_READ: BusProgress = { records: 0, events: 0, visits: 0, expired: 0, refused: 0, oldest: null };

/**
 * Sends the content of the bus through the pipeline again, throttled, beside the running one. As
 * all writes are create-only, this restores what the store has lost and changes nothing else:
 * deletions and bookmarks stay, and so does what the bus no longer holds. No mail is sent, no
 * consumer group's offset moves, and a refused line makes no new dead letter, since it stays on the
 * bus.
 *
 * @throws LoggiaError `bus_unavailable`; the reason of `signal`
 */
export async function replay(options: ReplayOptions): Promise<BusProgress> {
  const { bus, store, catalog, now, since, signal, report } = options;
  let expired = 0;
  let refused = 0;
  let oldest: number | null = null;
  const replayBus = createReplayBus(bus, since, signal, {
    deadLettered: (letters) => (refused += letters),
    read: (appended) => (oldest = Math.min(oldest ?? appended, appended)),
  });
  const filteredStore = withRetentionFilter({
    // The replay must not move the pipeline's position.
    store: { ...store, nextOffset: async () => null, writeEvents: (events) => store.writeEvents(events) },
    catalog,
    now,
    onExpired: (count) => (expired += count),
  });
  const pipeline = await startPipeline({ ...options, ...BATCH, bus: replayBus, store: filteredStore, group: "replay" });
  const progress = (): BusProgress => {
    const { records, events, visits } = pipeline.stats();
    return { records, events: events.done, visits, expired, refused, oldest };
  };
  const timer = setInterval(() => report?.(progress()), 500);
  try {
    await pipeline.done;
  } finally {
    clearInterval(timer);
    await pipeline.close(CLOSE_TIMEOUT_MS);
  }
  await store.refresh();
  return progress();
}

type Observer = {
  deadLettered(letters: number): void;
  /** Called with the time of append of the first record of each batch. */
  read(appended: number): void;
};

/**
 * Wraps the bus for a replay: a subscription reads the present content once and ends, and appends
 * have no effect.
 */
function createReplayBus(bus: Bus, since: number, signal: AbortSignal, observer: Observer): Bus {
  return {
    append: async (topic, records) => {
      if (topic === "dead-letters") observer.deadLettered(records.length);
    },
    subscribe: async ({ topic, maxRecords, maxBytes }, handler): Promise<Subscription> => {
      const closing = new AbortController();
      const stopSignal = AbortSignal.any([signal, closing.signal]);
      const run = async (): Promise<void> => {
        for await (const records of bus.read({ topic, maxRecords, maxBytes, since, signal: stopSignal })) {
          const start_ms = performance.now();
          observer.read(records[0]!.appended);
          await deliver(records, handler, stopSignal);
          // Pauses for as long as the batch took, to leave the store to others.
          await sleep(performance.now() - start_ms, undefined, { signal: stopSignal });
        }
      };
      const done = run().catch((error: unknown) => {
        throw stopSignal.aborted ? stopSignal.reason : error;
      });
      done.catch(() => {});
      return {
        done,
        fault: () => null,
        close: async () => {
          closing.abort(new Error("the replay has ended"));
          await done.catch(() => {});
        },
      };
    },
    read: (read) => bus.read(read),
    lag: async () => [],
    last: async () => [],
    ping: () => bus.ping(),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Delivers records to the handler until it acknowledges them. */
async function deliver(
  records: readonly BusRecord[],
  handler: (batch: Batch) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { topic, partition } = records[0]!.position;
  let isAcked = false;
  const batch: Batch = {
    topic,
    partition,
    records,
    signal,
    heartbeat: async () => {},
    ack: async () => void (isAcked = true),
  };
  for (let wait_ms = RETRY_FIRST_MS; ; wait_ms = Math.min(2 * wait_ms, RETRY_LAST_MS)) {
    signal.throwIfAborted();
    // The pipeline logs the reason itself.
    await handler(batch).catch(() => {});
    if (isAcked) return;
    await sleep(wait_ms, undefined, { signal });
  }
}
