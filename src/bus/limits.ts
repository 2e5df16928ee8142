import type { NewRecord } from "./bus.ts";

/** What may wait in one process for the bus to take it; beyond that `append` answers `overloaded`. */
export const QUEUE_RECORDS = 50_000;
export const QUEUE_BYTES = 64 * 1024 * 1024;

/** How long `append` waits where the caller sets no deadline. */
export const APPEND_DEADLINE_MS = 10_000;

/** How long closing a subscription lets the handler in flight go on, and how long after its signal it is waited for. */
export const CLOSE_TIMEOUT_MS = 10_000;
export const ABORT_GRACE_MS = 1000;

const BACKOFF_FIRST_MS = 100;
const BACKOFF_LAST_MS = 5000;

/** What a record counts against limits in bytes. */
export function sizeOf(record: NewRecord): number {
  return record.key.length + record.value.length;
}

/**
 * How long to wait after the `failures`-th failure in a row (from 1): doubles from 100 ms to 5 s,
 * with up to a fifth taken off at random.
 */
export function backoff_ms(failures: number): number {
  const full_ms = Math.min(BACKOFF_FIRST_MS * 2 ** Math.min(failures - 1, 16), BACKOFF_LAST_MS);
  return full_ms * (1 - Math.random() / 5);
}
