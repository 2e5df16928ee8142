/**
 * How long the handler of a subscription rests, while producers append to the bus of its own process. Both share a processor, and who waits for an answer comes
 * first. What gathers meanwhile makes the next batch larger, and so cheaper for each record. Without producers nothing rests.
 */
const SHARE = 2;
const MOST_MS = 300;
/** Where producers alone keep the thread busy, every moment of the handler is taken from them: what they send in a burst waits on the bus, which is made for that. */
const BURST_BUSY = 0.6;
/** How soon it is seen that a burst is over. */
const BURST_LOOK_MS = 100;
/** A shorter time than this says little about how busy a thread is: one question may take all of it. */
const BUSY_OVER_MS = 200;
/** A burst that lasts longer is none: from there on readers are waited for as well. */
const BURST_BEHIND_MS = 5_000;

export type Load = {
  /** How long the handler worked on its last batch. */
  readonly worked_ms: number;
  /** How long it has rested since. */
  readonly rested_ms: number;
  /** Which part of its time the thread was busy while the handler rested lately, from 0 to 1; see {@link busySince}. */
  readonly busy: number;
  /** How long ago the last record of the batch was appended. */
  readonly behind_ms: number;
};

/** How much longer it rests before this is asked again, in milliseconds; 0: no longer. */
export function restLeft({ worked_ms, rested_ms, busy, behind_ms }: Load): number {
  const usual_ms = Math.min(SHARE * worked_ms, MOST_MS);
  if (rested_ms < usual_ms) return usual_ms - rested_ms;
  return busy > BURST_BUSY && behind_ms < BURST_BEHIND_MS ? BURST_LOOK_MS : 0;
}

/** What `busy` becomes after a rest of `rested_ms` in which the thread was busy for `measured` of the time: as if over the last 200 ms of rest. */
export function busySince(busy: number, measured: number, rested_ms: number): number {
  return busy + (measured - busy) * Math.min(1, rested_ms / BUSY_OVER_MS);
}
