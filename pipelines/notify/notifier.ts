import type { Logger } from "pino";

import type { Bus, PartitionLag } from "../../src/bus/bus.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import type { Mailer } from "../../src/mail/mail.ts";
import type { Rhythm } from "./digest.ts";
import { Dispatcher, type MailCounts } from "./dispatcher.ts";
import { createGathering } from "./gathering.ts";
import { createState, type StateDocuments } from "./state.ts";

export type NotifierOptions = {
  readonly bus: Bus;
  readonly catalog: Catalog;
  readonly mailer: Mailer;
  /** Where it remembers what it gathered and sent. Of the same cluster for all processes; the caller disposes of it. */
  readonly documents: StateDocuments;
  readonly log: Logger;
  /** How long the first event of a mail waits for others: 5 s unless given. */
  readonly gather_ms?: number;
  /** The least time between two mails to one user about one class: a minute. */
  readonly interval_ms?: number;
  /** How many events a mail shows: 20. The others are counted. */
  readonly lines?: number;
  /** How many mails a user gets on a day (UTC): 50; then one more that says so. */
  readonly dailyMost?: number;
  /** The wait after a first failure, which doubles up to the last: from a second to a minute. */
  readonly retryFirst_ms?: number;
  readonly retryLast_ms?: number;
  /** Milliseconds since the Unix epoch; days end by it. */
  readonly now?: () => number;
};

export type Notifier = {
  /**
   * Begins no more mails, and lets those on their way finish, at most so long. What is pending goes
   * out after the next start.
   */
  close(timeout_ms?: number): Promise<void>;
  /** Rejects when it has died for good; resolves when it was closed. */
  readonly done: Promise<void>;
  stats(): NotifierStats;
  lag(): Promise<PartitionLag[]>;
};

export type NotifierStats = {
  /** Notices read from the bus, those that come again included. */
  readonly notices: number;
  /** Of these, what no process of this release can read, or is too old to be news. */
  readonly skipped: number;
  readonly mails: MailCounts;
};

const GROUP = "mail";
const BATCH_MAX_RECORDS = 2_000;
const BATCH_MAX_BYTES = 4 * 1024 * 1024;
const CLOSE_TIMEOUT_MS = 8_000;

/**
 * Gathers what the pipeline tells on the `alerts` topic into digests, one for each user and class,
 * and mails them. Mails go out beside the subscription: however slow or dead the mail server is,
 * notices are gathered, and events are not concerned at all.
 *
 * Invariant: a batch is acknowledged only when all its notices are in durable digests; one that
 * comes again changes nothing.
 *
 * @throws LoggiaError `bus_unavailable` where the bus can't be subscribed to
 */
export async function startNotifier(options: NotifierOptions): Promise<Notifier> {
  const { bus, log, gather_ms = 5_000, interval_ms = 60_000, lines = 20, now = Date.now } = options;
  const rhythm: Rhythm = { gather_ms, interval_ms, lines };
  const state = createState(options.documents);
  const dispatcher = new Dispatcher({
    ...options,
    state,
    rhythm,
    dailyMost: options.dailyMost ?? 50,
    retryFirst_ms: options.retryFirst_ms ?? 1_000,
    retryLast_ms: options.retryLast_ms ?? 60_000,
    now,
  });
  const closing = new AbortController();
  const gathering = createGathering({
    state,
    rhythm,
    log,
    closing: closing.signal,
    now,
    schedule: (id, due_ms) => dispatcher.schedule(id, due_ms),
  });
  const subscription = await bus.subscribe(
    {
      topic: "alerts",
      group: GROUP,
      maxRecords: BATCH_MAX_RECORDS,
      maxBytes: BATCH_MAX_BYTES,
      // The bus keeps the offset; being asked for it says that the partition is ours.
      from: async (partition) => {
        await gathering.takeOver(partition);
        return null;
      },
    },
    (batch) => gathering.handle(batch),
  );
  return {
    close: async (timeout_ms = CLOSE_TIMEOUT_MS) => {
      closing.abort();
      await Promise.all([dispatcher.close(timeout_ms), subscription.close(timeout_ms)]);
    },
    done: subscription.done,
    stats: () => ({ ...gathering.counts(), mails: dispatcher.counts() }),
    lag: () => bus.lag("alerts", GROUP),
  };
}
