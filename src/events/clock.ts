/** A clock in whole milliseconds since the Unix epoch that never goes back. */
export type SteadyClock = () => number;

/**
 * Creates a clock for ordering events. If the host's clock is set back, it continues at its pace
 * instead of stopping or going back. It equals the host's clock again once that is ahead, or after
 * a restart.
 *
 * @param options.from the earliest time it returns
 */
export function createSteadyClock(
  options: { now?: () => number; elapsed?: () => number; from?: number } = {},
): SteadyClock {
  // Read at each call, so that a shifted process clock shifts this one too.
  const { now = () => Date.now(), elapsed = () => performance.now(), from = 0 } = options;
  let last_ms = Math.max(now(), from);
  let read_ms = elapsed();
  return () => {
    const elapsed_ms = elapsed();
    last_ms = Math.max(now(), last_ms + (elapsed_ms - read_ms));
    read_ms = elapsed_ms;
    return Math.floor(last_ms);
  };
}

/** The trusted time, and whether old data may be removed now. */
export type RemovalClock = { readonly now: () => number; readonly mayRemove: () => boolean };

/** The trusted time, and its upper bound. */
export type PostClock = { readonly now: () => number; readonly latest: () => number };

/** A clock that trusts the host. */
export const HOST_CLOCK: RemovalClock & PostClock = Object.freeze({
  now: () => Date.now(),
  latest: () => Date.now(),
  mayRemove: () => true,
});
