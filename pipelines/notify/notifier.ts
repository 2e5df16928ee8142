import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import type { Batch, Bus, PartitionLag } from "../../src/bus/bus.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import type { Mailer } from "../../src/mail/mail.ts";
import { gather, readyAt, type Rhythm } from "./digest.ts";
import { Dispatcher, type MailCounts } from "./dispatcher.ts";
import { decodeNotice, isStale, type Notice } from "./notice.ts";
import { createState, digestIdOf, type DigestId, type StateDocuments } from "./state.ts";

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
};

export type Notifier = {
  /** Begins no more mails, and lets those on their way finish, at most so long. What is pending goes out after the next start. */
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
/** How many digests are written at a time. */
const WRITES = 8;
/** Between two batches of a partition: what comes meanwhile is gathered by one write for each digest. */
const PAUSE_MS = 200;
const CLOSE_TIMEOUT_MS = 8_000;

/**
 * Gathers what the pipeline tells on the `alerts` topic into digests, one for each user and class, and mails them. Mails go out beside the subscription:
 * however slow or dead the mail server is, notices are gathered, and events are not concerned at all.
 *
 * Invariant: a batch is acknowledged only when all its notices are in durable digests; one that comes again changes nothing.
 *
 * @throws LoggiaError `bus_unavailable` where the bus can't be subscribed to
 */
export async function startNotifier(options: NotifierOptions): Promise<Notifier> {
  const { bus, log, gather_ms = 5_000, interval_ms = 60_000, lines = 20 } = options;
  const rhythm: Rhythm = { gather_ms, interval_ms, lines };
  const state = createState(options.documents);
  const dispatcher = new Dispatcher({
    ...options,
    state,
    rhythm,
    dailyMost: options.dailyMost ?? 50,
    retryFirst_ms: options.retryFirst_ms ?? 1_000,
    retryLast_ms: options.retryLast_ms ?? 60_000,
  });
  const closing = new AbortController();
  const counts = { notices: 0, skipped: 0 };

  /** What an earlier owner of the partition left to be mailed. */
  async function takeOver(partition: number): Promise<void> {
    for (const { id, digest } of await state.digestsOf(partition)) {
      const ready_ms = readyAt(digest, rhythm);
      if (ready_ms !== null) dispatcher.schedule(id, ready_ms);
    }
  }

  async function gatherInto(id: DigestId, notices: readonly Notice[], at: Parameters<typeof gather>[2]): Promise<void> {
    const digest = await state.changeDigest(id, (before) => gather(before, notices, at));
    const ready_ms = readyAt(digest, rhythm);
    if (ready_ms !== null) dispatcher.schedule(id, ready_ms);
  }

  async function handle(batch: Batch): Promise<void> {
    const notices = batch.records.flatMap(({ value }) => decodeNotice(value) ?? []);
    const now_ms = Date.now();
    const news = notices.filter(({ id }) => !isStale(id, now_ms));
    const skipped = batch.records.length - news.length;
    if (skipped > 0) log.warn({ count: skipped }, "notices that are old or cannot be read are left out");
    const at = { partition: batch.partition, now_ms, lines };
    const digests = [...byDigest(news)];
    for (let first = 0; first < digests.length; first += WRITES) {
      batch.signal.throwIfAborted();
      await batch.heartbeat();
      await Promise.all(digests.slice(first, first + WRITES).map(([id, some]) => gatherInto(id, some, at)));
    }
    await batch.ack();
    counts.notices += batch.records.length;
    counts.skipped += skipped;
    await sleep(PAUSE_MS, undefined, { signal: AbortSignal.any([batch.signal, closing.signal]) }).catch(() => {});
  }

  const subscription = await bus.subscribe(
    {
      topic: "alerts",
      group: GROUP,
      maxRecords: BATCH_MAX_RECORDS,
      maxBytes: BATCH_MAX_BYTES,
      // The bus keeps the offset; being asked for it says that the partition is ours.
      from: async (partition) => {
        await takeOver(partition);
        return null;
      },
    },
    handle,
  );
  return {
    close: async (timeout_ms = CLOSE_TIMEOUT_MS) => {
      closing.abort();
      await Promise.all([dispatcher.close(timeout_ms), subscription.close(timeout_ms)]);
    },
    done: subscription.done,
    stats: () => ({ ...counts, mails: dispatcher.counts() }),
    lag: () => bus.lag("alerts", GROUP),
  };
}

/** Notices in their order, for each user and class. */
function byDigest(notices: readonly Notice[]): Map<DigestId, Notice[]> {
  const groups = new Map<DigestId, Notice[]>();
  for (const notice of notices) {
    for (const user of notice.users) {
      const id = digestIdOf({ user, log: notice.log, class: notice.class });
      const group = groups.get(id);
      if (group === undefined) groups.set(id, [notice]);
      else group.push(notice);
    }
  }
  return groups;
}
