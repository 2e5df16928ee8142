import type { NewRecord } from "./bus.ts";

/**
 * Records and bytes that may be queued in one process for the bus. Beyond that, `append` fails with
 * `overloaded`.
 */
export const QUEUE_RECORDS = 50_000;
export const QUEUE_BYTES = 64 * 1024 * 1024;

/** Deadline of `append` if the caller sets none. */
export const APPEND_DEADLINE_MS = 10_000;

/** How long a closing subscription waits for its handler, before and after the signal. */
export const CLOSE_TIMEOUT_MS = 10_000;
export const ABORT_GRACE_MS = 1000;

const BACKOFF_FIRST_MS = 100;
const BACKOFF_LAST_MS = 5000;

/** Size of a record for limits in bytes. */
export function recordBytes(record: NewRecord): number {
  return record.key.length + record.value.length;
}

/**
 * Returns how long to wait after the `failures`-th failure in a row (from 1), in milliseconds. It
 * doubles from 100 ms to 5 s, with up to a fifth subtracted at random.
 */
export function backoff_ms(failures: number): number {
  const full_ms = Math.min(BACKOFF_FIRST_MS * 2 ** Math.min(failures - 1, 16), BACKOFF_LAST_MS);
  return full_ms * (1 - Math.random() / 5);
}
