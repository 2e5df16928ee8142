import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import type { DeletionLog } from "../bus/deletions.ts";
import type { Engines } from "../engines/engines.ts";
import { DocumentReservations } from "../ingest/idempotency/document-reservations.ts";
import { createIdempotency, type Idempotency } from "../ingest/idempotency/idempotency.ts";
import { startKeyRemoval } from "../ingest/idempotency/idempotency-store.ts";
import { JournalReservations } from "../ingest/idempotency/keys/journal-reservations.ts";
import { KeyLog } from "../ingest/idempotency/keys/key-log.ts";
import type { Reservations } from "../ingest/idempotency/reservations.ts";
import type { Metrics } from "../monitoring/metrics.ts";
import { APPEND_TIMEOUT_MS } from "./ids.ts";
import type { PostTimes } from "./options.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";

/**
 * How long after its start an abandoned append may still reach Kafka: the client's own attempts
 * with their timeouts.
 */
const APPEND_SETTLE_MS = APPEND_TIMEOUT_MS + 3 * 10_000 + 3_000;
/** Longest time a start waits for the keys. Posts with a key are refused until they are known. */
const LOAD_WAIT_MS = 5_000;

export type IdempotencyStart = Pick<Engines, "ports" | "clock" | "batches"> & {
  readonly deletions: DeletionLog;
  readonly metrics: Pick<Metrics, "watchKeys">;
  readonly postTimes: PostTimes;
  readonly scheduler: Scheduler;
  readonly log: Logger;
};

/**
 * Opens the idempotency check of a posting process: with keys in documents on embedded engines, and
 * on the bus on a cluster, where posts must not need the store.
 */
export async function openIdempotency(start: IdempotencyStart, closing: AsyncDisposableStack): Promise<Idempotency> {
  const { ports, clock, deletions, batches, log } = start;
  const options = { bus: ports.bus, store: ports.store, deletions, now: clock.now };
  if (batches === null) {
    const reservations = await openJournal(start, closing);
    return createIdempotency({ ...options, reservations, settle_ms: APPEND_SETTLE_MS });
  }
  const documents = closing.use(await batches());
  const keyRemoval = startKeyRemoval(documents, { clock, log });
  closing.defer(() => keyRemoval.close());
  const reservations = new DocumentReservations(documents, { log });
  return createIdempotency({ ...options, reservations, settle_ms: 0 });
}

async function openJournal(
  { ports: { bus }, clock, metrics, postTimes, scheduler, log }: IdempotencyStart,
  closing: AsyncDisposableStack,
): Promise<Reservations> {
  const keyLog = closing.use(
    new KeyLog({ keys: bus.journal!("keys"), index: bus.journal!("keys-index"), scheduler, log }),
  );
  metrics.watchKeys(() => keyLog.counts());
  await Promise.race([keyLog.loaded, sleep(LOAD_WAIT_MS, undefined, { ref: false })]);
  return new JournalReservations({ keyLog, claim_ms: postTimes.append_ms / 2, now: clock.now });
}
