/** A turn of the event loop that is shorter had nothing to do: a single request takes longer. */
const EMPTY_TURN_MS = 0.01;

let awake_ms = 0;

/**
 * Keeps this thread awake for as long as `isWanted` says so: where something comes in a moment,
 * falling asleep until then and being woken takes longer than that, for who wakes it as well.
 */
export function busyPoll(isWanted: () => boolean): void {
  const before_ms = performance.now();
  setImmediate(() => {
    const turn_ms = performance.now() - before_ms;
    if (turn_ms < EMPTY_TURN_MS) awake_ms += turn_ms;
    if (isWanted()) busyPoll(isWanted);
  });
}

/**
 * For how long this thread has been awake with nothing to do, in all: what the utilization of its
 * event loop counts as work.
 */
export function busyPolled_ms(): number {
  return awake_ms;
}
