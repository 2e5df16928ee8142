/**
 * How many slices of all partitions may be under way at a time. Each partition may have one in any
 * case, so that none waits for another that is held up; more than one only while there are fewer
 * than `most` in all.
 */
export class Slots {
  readonly #most: number;
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  take(): void {
    this.#taken += 1;
  }

  tryTake(): boolean {
    if (this.#taken >= this.#most) return false;
    this.#taken += 1;
    return true;
  }

  giveBack(): void {
    this.#taken -= 1;
  }
}

/**
 * The slices of one batch that are under way. The first that fails stops the others.
 *
 * Invariant: when it is disposed of, none is under way any more; a batch that is delivered again
 * meets no writes of its former delivery.
 */
export class InFlightWrites implements AsyncDisposable {
  readonly #slots: Slots;
  readonly #failure = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  /** Whether a slot is held for the next launch. */
  #isReserved = false;
  /** Resolves when all slices that were launched so far are through, rejects as soon as one has failed. */
  earlier: Promise<void> = Promise.resolve();
  /** Fires when the batch must be left as it is, or one of its slices has failed. */
  readonly signal: AbortSignal;

  constructor(slots: Slots, signal: AbortSignal) {
    this.#slots = slots;
    this.signal = AbortSignal.any([signal, this.#failure.signal]);
  }

  /**
   * Resolves when one more slice may be launched.
   * @throws why the batch is to be left
   */
  async room(): Promise<void> {
    this.signal.throwIfAborted();
    while (!this.#isReserved) {
      if (this.#underWay.size === 0) this.#slots.take();
      this.#isReserved = this.#underWay.size === 0 || this.#slots.tryTake();
      if (this.#isReserved) return;
      await Promise.race(this.#underWay);
      this.signal.throwIfAborted();
    }
  }

  /** Only after {@link room}. */
  launch(slice: Promise<void>): void {
    this.#isReserved = false;
    const settled = slice
      .catch((error: unknown) => this.#failure.abort(error))
      .finally(() => {
        this.#underWay.delete(settled);
        this.#slots.giveBack();
      });
    this.#underWay.add(settled);
    this.earlier = through(this.earlier, slice);
    // Whoever waits for it is told; nobody need.
    this.earlier.catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isReserved) this.#slots.giveBack();
    this.#isReserved = false;
    // Where the batch is left early, what is still under way ends soon.
    this.#failure.abort(new Error("the batch is left as it is"));
    await Promise.all(this.#underWay);
  }
}

async function through(...slices: readonly Promise<void>[]): Promise<void> {
  await Promise.all(slices);
}
