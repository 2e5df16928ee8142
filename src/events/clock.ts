/** Milliseconds since the Unix epoch, whole, never less than before. */
export type SteadyClock = () => number;

/**
 * The time of day as those need it who put events in order: where the host's clock is set back it
 * runs on at its pace, instead of standing still or going back with it. It is the host's clock
 * again when that is ahead, at the latest in the next life of the process.
 *
 * @param options.from never tells less than this
 */
export function createSteadyClock(
  options: { now?: () => number; elapsed?: () => number; from?: number } = {},
): SteadyClock {
  // Read at each call, so that whoever shifts the clock of the process shifts this one too.
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

/** The time that is believed, and whether what is old may be removed now. */
export type RemovalClock = { readonly now: () => number; readonly mayRemove: () => boolean };

/** The time that is believed, and the latest that it may be. */
export type PostClock = { readonly now: () => number; readonly latest: () => number };

/** Believes the host. */
export const HOST_CLOCK: RemovalClock & PostClock = Object.freeze({
  now: () => Date.now(),
  latest: () => Date.now(),
  mayRemove: () => true,
});
