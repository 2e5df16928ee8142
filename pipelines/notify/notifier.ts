import type { Logger } from "pino";

import type { Bus, PartitionLag } from "../../src/bus/bus.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import type { OpenChannel } from "./channels/open-channel.ts";
import type { Timing } from "./digest.ts";
import { Dispatcher, type SendCounts } from "./dispatcher.ts";
import { createNoticeCollector } from "./notice-collector.ts";
import { createState, type StateDocuments } from "./state.ts";

export type NotifierOptions = {
  readonly bus: Bus;
  readonly catalog: Catalog;
  readonly channel: OpenChannel;
  /** State of all channels, shared by all processes; the caller disposes of it. */
  readonly documents: StateDocuments;
  readonly log: Logger;
  /** How long the first event of a message waits for others. Default: 5 s. */
  readonly collect_ms?: number;
  /** Least time between two messages to one user about one class. Default: 1 minute. */
  readonly interval_ms?: number;
  /** Maximum number of events that a message shows; the others are counted. Default: 20. */
  readonly lines?: number;
  /** Maximum number of messages to a user per day (UTC), and one that says so. Default: 50. */
  readonly dailyLimit?: number;
  /** Wait after the first failure, doubling up to the last. Defaults: a second and a minute. */
  readonly retryFirst_ms?: number;
  readonly retryLast_ms?: number;
  /** Milliseconds since the Unix epoch. Determines when a day ends. */
  readonly now?: () => number;
};

export type Notifier = {
  /**
   * Starts no more messages and waits for those in progress, at most `timeout_ms`. Pending digests
   * go out after the next start.
   */
  close(timeout_ms?: number): Promise<void>;
  /** Rejects on a failure that it cannot recover from; resolves when it has closed. */
  readonly done: Promise<void>;
  stats(): NotifierStats;
  lag(): Promise<PartitionLag[]>;
};

export type NotifierStats = {
  /** Notices read from the bus, redelivered ones included. */
  readonly notices: number;
  /** Notices skipped because they are malformed, of an unknown version, or too old. */
  readonly skipped: number;
  readonly sends: SendCounts;
};

const BATCH_MAX_RECORDS = 2_000;
const BATCH_MAX_BYTES = 4 * 1024 * 1024;
const CLOSE_TIMEOUT_MS = 8_000;

/**
 * Starts the notifier of a channel, which collects notices of topic `alerts` into digests, one per
 * user and class, and sends them. Each channel reads all notices in a consumer group of its own, so
 * none delays another. Messages are sent independently of the subscription: a slow or unavailable
 * server delays neither the collecting nor any event.
 *
 * Invariant: a batch is acknowledged only when all its notices are in durable digests; a
 * redelivered batch changes nothing.
 *
 * @throws LoggiaError `bus_unavailable` if the subscription to the bus fails
 */
export async function startNotifier(options: NotifierOptions): Promise<Notifier> {
  const { bus, log, channel, collect_ms = 5_000, interval_ms = 60_000, lines = 20, now = Date.now } = options;
  const timing: Timing = { collect_ms, interval_ms, lines };
  const state = createState(options.documents, channel.kind);
  const dispatcher = new Dispatcher({
    ...options,
    state,
    timing,
    dailyLimit: options.dailyLimit ?? 50,
    retryFirst_ms: options.retryFirst_ms ?? 1_000,
    retryLast_ms: options.retryLast_ms ?? 60_000,
    now,
  });
  const closing = new AbortController();
  const collector = createNoticeCollector({
    state,
    timing,
    log,
    closing: closing.signal,
    now,
    schedule: (id, due_ms) => dispatcher.schedule(id, due_ms),
  });
  const subscription = await bus.subscribe(
    {
      topic: "alerts",
      group: channel.kind,
      maxRecords: BATCH_MAX_RECORDS,
      maxBytes: BATCH_MAX_BYTES,
      // The bus keeps the offset; this call says that the partition was assigned to this process.
      from: async (partition) => {
        await collector.takeOver(partition);
        return null;
      },
    },
    (batch) => collector.handle(batch),
  );
  return {
    close: async (timeout_ms = CLOSE_TIMEOUT_MS) => {
      closing.abort();
      await Promise.all([dispatcher.close(timeout_ms), subscription.close(timeout_ms)]);
    },
    done: subscription.done,
    stats: () => ({ ...collector.counts(), sends: dispatcher.counts() }),
    lag: () => bus.lag("alerts", channel.kind),
  };
}
