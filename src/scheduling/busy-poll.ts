/** Longest turn of the event loop that counts as idle. A single request takes longer. */
const EMPTY_TURN_MS = 0.01;

let polled_ms = 0;

/**
 * Keeps this thread awake while `isWanted` returns true. If work is about to arrive, sleeping and
 * waking take longer than the wait, also for the thread that would wake this one.
 */
export function busyPoll(isWanted: () => boolean): void {
  const before_ms = performance.now();
  setImmediate(() => {
    const turn_ms = performance.now() - before_ms;
    if (turn_ms < EMPTY_TURN_MS) polled_ms += turn_ms;
    if (isWanted()) busyPoll(isWanted);
  });
}

/**
 * Returns the total time for which this thread was awake and idle, which the event loop's
 * utilization counts as work.
 */
export function busyPolled_ms(): number {
  return polled_ms;
}
