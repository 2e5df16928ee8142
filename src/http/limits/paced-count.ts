/** Counts occurrences for a log line: the first at once, then one line an interval at most. */
export class PacedCount {
  readonly #interval_ms: number;
  readonly #now: () => number;
  #taken_ms = -Infinity;
  #count = 0;

  constructor(interval_ms: number, now: () => number = () => performance.now()) {
    this.#interval_ms = interval_ms;
    this.#now = now;
  }

  /** Counts one. Returns the occurrences that a line is due for; null if none is due yet. */
  add(): number | null {
    this.#count += 1;
    const now_ms = this.#now();
    if (now_ms - this.#taken_ms < this.#interval_ms) return null;
    this.#taken_ms = now_ms;
    const count = this.#count;
    this.#count = 0;
    return count;
  }
}
