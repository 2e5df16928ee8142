/**
 * Concurrency limit of slices in flight, shared by all partitions. Each partition may always have
 * one, so that none waits for another that is held up. It may have more only while fewer than
 * `most` are in flight in all.
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
 * Slices of one batch that are in flight. The first that fails aborts the others.
 *
 * Invariant: once disposed of, no slice is in flight, so that a redelivered batch never runs
 * concurrently with writes of its previous delivery.
 */
export class InFlightWrites implements AsyncDisposable {
  readonly #slots: Slots;
  readonly #failure = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  /** Whether a slot is held for the next launch. */
  #isReserved = false;
  /** Resolves when all slices launched so far are done; rejects as soon as one fails. */
  earlier: Promise<void> = Promise.resolve();
  /** Fires when the batch must be abandoned or one of its slices has failed. */
  readonly signal: AbortSignal;

  constructor(slots: Slots, signal: AbortSignal) {
    this.#slots = slots;
    this.signal = AbortSignal.any([signal, this.#failure.signal]);
  }

  /**
   * Resolves when one more slice may be launched.
   * @throws the reason why the batch is abandoned
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

  /** Starts tracking a slice. Call it only after {@link room}. */
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
    // Prevents an unhandled rejection if nothing awaits `earlier`.
    this.earlier.catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isReserved) this.#slots.giveBack();
    this.#isReserved = false;
    // If the batch is abandoned, the remaining slices end soon.
    this.#failure.abort(new Error("the batch failed and is redelivered"));
    await Promise.all(this.#underWay);
  }
}

async function through(...slices: readonly Promise<void>[]): Promise<void> {
  await Promise.all(slices);
}
