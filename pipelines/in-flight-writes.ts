/**
 * Concurrency limit of writes in flight, shared by all partitions. Each partition may always have
 * one, so that none waits for another that is stalled. It may have more only while fewer than
 * `max` are in flight in total.
 */
export class ConcurrencyLimit {
  readonly #max: number;
  #acquired = 0;

  constructor(max: number) {
    this.#max = max;
  }

  acquire(): void {
    this.#acquired += 1;
  }

  tryAcquire(): boolean {
    if (this.#acquired >= this.#max) return false;
    this.#acquired += 1;
    return true;
  }

  release(): void {
    this.#acquired -= 1;
  }
}

/**
 * Writes of one batch that are in flight. The first that fails aborts the others.
 *
 * Invariant: once disposed of, no write is in flight, so that a redelivered batch never runs
 * concurrently with writes of its previous delivery.
 */
export class InFlightWrites implements AsyncDisposable {
  readonly #limit: ConcurrencyLimit;
  readonly #failure = new AbortController();
  readonly #inFlight = new Set<Promise<void>>();
  /** Whether the limit is acquired for the next launch. */
  #isReserved = false;
  /** Resolves when all writes launched so far are done; rejects as soon as one fails. */
  earlier: Promise<void> = Promise.resolve();
  /** Fires when the batch must be abandoned or one of its writes has failed. */
  readonly signal: AbortSignal;

  constructor(limit: ConcurrencyLimit, signal: AbortSignal) {
    this.#limit = limit;
    this.signal = AbortSignal.any([signal, this.#failure.signal]);
  }

  /**
   * Resolves when one more write may be launched.
   * @throws the reason why the batch is abandoned
   */
  async waitForRoom(): Promise<void> {
    this.signal.throwIfAborted();
    while (!this.#isReserved) {
      if (this.#inFlight.size === 0) this.#limit.acquire();
      this.#isReserved = this.#inFlight.size === 0 || this.#limit.tryAcquire();
      if (this.#isReserved) return;
      await Promise.race(this.#inFlight);
      this.signal.throwIfAborted();
    }
  }

  /** Starts tracking a write. Call it only after {@link waitForRoom}. */
  launch(write: Promise<void>): void {
    this.#isReserved = false;
    const settled = write
      .catch((error: unknown) => this.#failure.abort(error))
      .finally(() => {
        this.#inFlight.delete(settled);
        this.#limit.release();
      });
    this.#inFlight.add(settled);
    this.earlier = allOf(this.earlier, write);
    // Prevents an unhandled rejection if nothing awaits `earlier`.
    this.earlier.catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isReserved) this.#limit.release();
    this.#isReserved = false;
    // If the batch is abandoned, the remaining writes end soon.
    this.#failure.abort(new Error("the batch failed and is redelivered"));
    await Promise.all(this.#inFlight);
  }
}

async function allOf(...writes: readonly Promise<void>[]): Promise<void> {
  await Promise.all(writes);
}
