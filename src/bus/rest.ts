/**
 * How long the handler of a subscription rests, while producers append to the bus of its own process. Both share a processor, and who waits for an answer comes
 * first. What gathers meanwhile makes the next batch larger, and so cheaper for each record. Without producers nothing rests.
 */
const USUAL: Rest = { share: 2, most_ms: 300 };
/** Where producers alone keep the thread busy, every moment of the handler is taken from them: what they send in a burst waits on the bus, which is made for that. */
const BURST: Rest = { share: 10, most_ms: 2_000 };
const BURST_BUSY = 0.75;
/** A burst that lasts longer is none: from there on readers are waited for as well. */
const BURST_BEHIND_MS = 5_000;

/** As many times as long as the handler worked, and at most so long. */
type Rest = { readonly share: number; readonly most_ms: number };

export type Load = {
  /** How long the handler worked on its last batch. */
  readonly worked_ms: number;
  /** Which part of its time the thread was busy while the handler last rested, from 0 to 1. */
  readonly busy: number;
  /** How long ago the last record of the batch was appended. */
  readonly behind_ms: number;
};

/** In milliseconds. */
export function restAfter({ worked_ms, busy, behind_ms }: Load): number {
  const { share, most_ms } = busy > BURST_BUSY && behind_ms < BURST_BEHIND_MS ? BURST : USUAL;
  return Math.min(share * worked_ms, most_ms);
}
