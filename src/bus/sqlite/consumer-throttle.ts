/**
 * How long the handler of a subscription rests, while producers append to the bus of its own
 * process. Both share a processor, and who waits for an answer comes first. What gathers meanwhile
 * makes the next batch larger, and so cheaper for each record. Without producers nothing rests.
 */
const SHARE = 2;
const MOST_MS = 300;
/**
 * Where producers keep the thread busy, every moment of the handler is taken from them: what they
 * send in a burst waits on the bus, which is made for that.
 */
const BURST_BUSY = 0.6;
/** Some 2,500 events a second. Where less comes it is others who keep the thread busy, and a rest would help nobody. */
const BURST_BYTES_S = 500_000;
/** Some 60,000 events a second: more than the handler could carry beside them, however busy the thread is. */
const FLOOD_BYTES_S = 15_000_000;
/** How long it rests in a burst until this is asked again, unless producers fall silent before. */
const BURST_LOOK_MS = 100;
/** Where nothing was appended for so long, by a thread that had time for it, producers are done for now. */
export const SILENCE_MS = 25;
/** A burst that lasts longer is none: from there on readers are waited for as well. */
const BURST_MS = 5_000;
/** A shorter time than this says little about a crowd: one question may take all of it. */
const LOAD_OVER_MS = 200;

/** Who else was at work on this thread while the handler rested lately. */
export type ThreadLoad = {
  /** Which part of its time the thread was busy, from 0 to 1. */
  readonly busy: number;
  /** What producers appended, in bytes a second. */
  readonly appended_bytes_s: number;
};

export const NO_LOAD: ThreadLoad = Object.freeze({ busy: 0, appended_bytes_s: 0 });

export type Load = ThreadLoad & {
  /** How long the handler worked on its last batch. */
  readonly worked_ms: number;
  /** How long it has rested since. */
  readonly rested_ms: number;
  /** How long ago the last record of the batch was appended, by a clock that may have been set back. */
  readonly behind_ms: number;
};

/** How much longer it rests before this is asked again, in milliseconds; 0: no longer. */
export function throttleLeft_ms({ worked_ms, rested_ms, busy, appended_bytes_s, behind_ms }: Load): number {
  const usual_ms = Math.min(SHARE * worked_ms, MOST_MS);
  if (rested_ms < usual_ms) return usual_ms - rested_ms;
  const isBurst = appended_bytes_s > (busy > BURST_BUSY ? BURST_BYTES_S : FLOOD_BYTES_S);
  return isBurst && Math.max(behind_ms, rested_ms) < BURST_MS ? BURST_LOOK_MS : 0;
}

/**
 * What `before` becomes by what was seen in a rest of `over_ms`: as if over the last 200 ms of
 * rest, but where producers have fallen silent.
 */
export function averageLoad(before: ThreadLoad, seen: ThreadLoad, over_ms: number): ThreadLoad {
  if (seen.appended_bytes_s === 0 && seen.busy < BURST_BUSY && over_ms >= SILENCE_MS) return seen;
  const weight = Math.min(1, over_ms / LOAD_OVER_MS);
  return {
    busy: before.busy + (seen.busy - before.busy) * weight,
    appended_bytes_s: before.appended_bytes_s + (seen.appended_bytes_s - before.appended_bytes_s) * weight,
  };
}
