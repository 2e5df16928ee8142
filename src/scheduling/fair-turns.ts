import { FairPool } from "./fair-pool.ts";

/** Longest wait for a turn, in milliseconds. */
const WAIT_MS = 20_000;
const REFUSAL = Object.freeze({
  own: "Your other large requests are still being read; wait until they end before sending more",
  others: "Too many large requests are being read; try again shortly",
  retryAfter_s: 2,
});

export type TurnOptions = {
  /** Fires when the client has disconnected; ends the wait. */
  readonly gone?: AbortSignal | undefined;
  /** Longest wait. Default: 20 s */
  readonly wait_ms?: number;
};

/**
 * Runs long tasks that yield one after the other, each from start to end; owners take turns.
 * Otherwise many such tasks would fill each other's pauses, and block everything else as if none
 * had yielded.
 */
export class FairTurns {
  readonly #pool = new FairPool([null], REFUSAL);

  /** @throws LoggiaError `too_many_requests`, `overloaded` after too long a wait; ClientGone */
  async run<T>(owner: string, work: () => Promise<T>, { gone, wait_ms = WAIT_MS }: TurnOptions = {}): Promise<T> {
    const turn = await this.#pool.take(owner, gone, wait_ms);
    try {
      return await work();
    } finally {
      this.#pool.give(turn, owner);
    }
  }
}
