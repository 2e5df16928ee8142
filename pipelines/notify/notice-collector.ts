import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import type { Batch } from "../../src/bus/bus.ts";
import { addNotices, readyAt, type Digest, type Timing } from "./digest.ts";
import { decodeNotice, isStale, type Notice } from "./notice.ts";
import { digestId, type DigestId, type NotifierState } from "./state.ts";

/** Number of digests written concurrently. */
const MAX_CONCURRENT_WRITES = 8;
/** Pause between two batches of a partition, so that later notices of a digest share one write. */
const PAUSE_MS = 200;

/** Collects notices from the bus into digests. */
export type NoticeCollector = {
  /** Schedules the pending digests that the partition's previous consumer left. */
  takeOver(partition: number): Promise<void>;
  /** Processes one batch, from its records to its acknowledgement. */
  handle(batch: Batch): Promise<void>;
  /** Returns the numbers of records read and skipped since the start. */
  counts(): { readonly notices: number; readonly skipped: number };
};

export function createNoticeCollector(parts: {
  readonly state: NotifierState;
  readonly timing: Timing;
  readonly log: Logger;
  readonly closing: AbortSignal;
  readonly schedule: (id: DigestId, due_ms: number) => void;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}): NoticeCollector {
  const { state, timing, log, closing, schedule, now } = parts;
  let notices = 0;
  let skipped = 0;

  function scheduleDigest(id: DigestId, digest: Digest): void {
    const ready_ms = readyAt(digest, timing);
    if (ready_ms !== null) schedule(id, ready_ms);
  }

  async function write(digests: readonly (readonly [DigestId, readonly Notice[]])[], batch: Batch): Promise<void> {
    const at = { partition: batch.partition, now_ms: now(), lines: timing.lines };
    for (let first = 0; first < digests.length; first += MAX_CONCURRENT_WRITES) {
      batch.signal.throwIfAborted();
      await batch.heartbeat();
      const group = digests.slice(first, first + MAX_CONCURRENT_WRITES);
      await Promise.all(
        group.map(async ([id, fresh]) => {
          scheduleDigest(id, await state.changeDigest(id, (digest) => addNotices(digest, fresh, at)));
        }),
      );
    }
  }

  return {
    takeOver: async (partition) => {
      for (const { id, digest } of await state.digestsOf(partition)) scheduleDigest(id, digest);
    },
    handle: async (batch) => {
      const now_ms = now();
      const read = batch.records.flatMap(({ value }) => decodeNotice(value) ?? []);
      const fresh = read.filter(({ id }) => !isStale(id, now_ms));
      const skippedNow = batch.records.length - fresh.length;
      if (skippedNow > 0) log.warn({ count: skippedNow }, "skipped notices that are stale or malformed");
      await write([...byDigest(fresh)], batch);
      await batch.ack();
      notices += batch.records.length;
      skipped += skippedNow;
      // An aborted timer rejects; closing is not an error.
      await sleep(PAUSE_MS, undefined, { signal: AbortSignal.any([batch.signal, closing]) }).catch(() => {});
    },
    counts: () => ({ notices, skipped }),
  };
}

/** Groups notices by user and class, in order. */
function byDigest(notices: readonly Notice[]): Map<DigestId, Notice[]> {
  const groups = new Map<DigestId, Notice[]>();
  for (const notice of notices) {
    for (const user of notice.users) {
      const id = digestId({ user, log: notice.log, class: notice.class });
      const group = groups.get(id);
      if (group === undefined) groups.set(id, [notice]);
      else group.push(notice);
    }
  }
  return groups;
}
