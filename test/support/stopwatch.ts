/** Longest step counted, in milliseconds. What a step takes beyond that is a stall of the machine. */
const STEP_MS = 50;

/**
 * Measures how long a condition takes to be met, without the time in which the machine, not the
 * code under test, was late: a stall of this process, or of work that `isHeld` reports.
 */
export class Stopwatch {
  readonly #isHeld: () => boolean;
  #last_ms = performance.now();
  #time_ms = 0;

  constructor(isHeld: () => boolean = () => false) {
    this.#isHeld = isHeld;
  }

  /** Counts the time since the previous step. Called every few milliseconds. */
  step(): void {
    const now_ms = performance.now();
    if (!this.#isHeld()) this.#time_ms += Math.min(STEP_MS, now_ms - this.#last_ms);
    this.#last_ms = now_ms;
  }

  get time_ms(): number {
    return this.#time_ms;
  }
}
