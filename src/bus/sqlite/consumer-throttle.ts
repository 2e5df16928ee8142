/**
 * Ratio of rest to work of a subscription's handler while producers append in the same process.
 * Both share a processor, and producers wait for an answer. Records that gather during a rest make
 * the next batch larger, and so cheaper per record. Without producers the handler does not rest.
 */
const REST_RATIO = 2;
const MAX_REST_MS = 300;
/**
 * Share of busy time of the thread in a burst. The handler would then take its time from
 * producers, so it rests while the bus holds the burst.
 */
const BURST_BUSY = 0.6;
/** Some 2,500 events a second. Below, other work keeps the thread busy: a rest gains nothing. */
const BURST_BYTES_S = 500_000;
/** Some 60,000 events a second: more than the handler can keep up with on any thread. */
const FLOOD_BYTES_S = 15_000_000;
/** Interval at which a rest in a burst is reconsidered, unless producers fall silent before. */
const BURST_CHECK_MS = 100;
/** Producers have stopped if nothing is appended for this long and the thread is not busy. */
export const SILENCE_MS = 25;
/** Longest rest in a burst, since readers wait for the events. */
const BURST_MS = 5_000;
/** Averaging time of the load: a single query may fill a shorter one. */
const LOAD_WINDOW_MS = 200;

/** Other work on this thread during recent rests of the handler. */
export type ThreadLoad = {
  /** Part of its time that the thread was busy, from 0 to 1. */
  readonly busy: number;
  /** Bytes that producers appended per second. */
  readonly appended_bytes_s: number;
};

export const NO_LOAD: ThreadLoad = Object.freeze({ busy: 0, appended_bytes_s: 0 });

export type Load = ThreadLoad & {
  /** Duration of the handler's last batch. */
  readonly worked_ms: number;
  /** Rest since then. */
  readonly rested_ms: number;
  /** Age of the batch's last record, by a clock that may have been set back. */
  readonly behind_ms: number;
};

/** Remaining rest before this is called again, in milliseconds. 0 ends the rest. */
export function throttleLeft_ms({ worked_ms, rested_ms, busy, appended_bytes_s, behind_ms }: Load): number {
  const usual_ms = Math.min(REST_RATIO * worked_ms, MAX_REST_MS);
  if (rested_ms < usual_ms) return usual_ms - rested_ms;
  const isBurst = appended_bytes_s > (busy > BURST_BUSY ? BURST_BYTES_S : FLOOD_BYTES_S);
  return isBurst && Math.max(behind_ms, rested_ms) < BURST_MS ? BURST_CHECK_MS : 0;
}

/**
 * Moving average of the load over the last 200 ms of rest, updated by a rest of `over_ms`. Silence
 * of producers replaces the average at once.
 */
export function averageLoad(before: ThreadLoad, seen: ThreadLoad, over_ms: number): ThreadLoad {
  if (seen.appended_bytes_s === 0 && seen.busy < BURST_BUSY && over_ms >= SILENCE_MS) return seen;
  const weight = Math.min(1, over_ms / LOAD_WINDOW_MS);
  return {
    busy: before.busy + (seen.busy - before.busy) * weight,
    appended_bytes_s: before.appended_bytes_s + (seen.appended_bytes_s - before.appended_bytes_s) * weight,
  };
}
