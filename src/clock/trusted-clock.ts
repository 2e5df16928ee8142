import type { PostClock, RemovalClock } from "../events/clock.ts";

/**
 * The time that the service believes. It advances no faster than the monotonic clock since it was
 * last known, and is never ahead of the host's clock: so a host's clock that jumps forward removes
 * nothing before its time.
 */
export type TrustedClock = RemovalClock &
  PostClock & {
    /** What the host's clock shows, right or wrong. */
    readonly host: () => number;
  };

/**
 * Monotonic milliseconds, also while the machine sleeps. Where somebody wants it exactly, it looks
 * whether the machine has slept just now.
 */
export type Elapsed = (exactly?: boolean) => number;

export type TrustedClockOptions = {
  readonly host?: () => number;
  /** See {@link Elapsed}. */
  readonly elapsed?: Elapsed;
  /** What is believed to be the time as this is called. Default: the host's */
  readonly start?: number;
  /** Called when the host's clock is found to contradict what is believed, or to agree again. */
  readonly changed?: (ahead_ms: number) => void;
};

/** The fastest that a host's clock is slewed by NTP, as a share of the time. */
const SLEW = 0.0005;
/** A host's clock that is so far ahead was set, or the machine has slept. */
export const NOTABLE_MS = 60_000;
/** A host's clock that is farther off contradicts what is believed. */
export const DOUBT_MS = 3_600_000;

/** See {@link TrustedClock}. */
export class BelievedTime implements TrustedClock {
  readonly #host: () => number;
  readonly #elapsed: Elapsed;
  readonly #changed: (ahead_ms: number) => void;
  /** The time that was believed when {@link #elapsed} showed `#since_ms`. */
  #base_ms: number;
  #since_ms: number;
  #isDoubtful = false;

  constructor({
    host = () => Date.now(),
    elapsed = () => performance.now(),
    start,
    changed,
  }: TrustedClockOptions = {}) {
    this.#host = host;
    this.#elapsed = elapsed;
    this.#changed = changed ?? (() => {});
    this.#base_ms = start ?? host();
    this.#since_ms = elapsed();
  }

  readonly now = (): number => {
    this.check();
    return Math.floor(Math.min(this.#host(), this.#latest()));
  };

  readonly host = (): number => this.#host();

  readonly latest = (): number => Math.floor(Math.max(this.#host(), this.#latest()));

  readonly mayRemove = (): boolean => {
    this.check();
    return !this.#isDoubtful;
  };

  /**
   * How far the host's clock is ahead of the latest time that is possible, in milliseconds;
   * negative: behind.
   */
  ahead(): number {
    return this.#host() - this.#latest();
  }

  /** The time as it is without the host's clock: what another life of the service goes on from. */
  believed(): number {
    return Math.floor(this.#base_ms + this.#elapsed() - this.#since_ms);
  }

  /** From now on the time is `ms`. */
  trust(ms: number): void {
    this.#base_ms = ms;
    this.#since_ms = this.#elapsed();
    this.check();
  }

  /**
   * Holds both clocks against each other. The base follows a host's clock that is behind, within
   * bounds, and none that is ahead.
   */
  check(): void {
    let ahead_ms = this.ahead();
    if (ahead_ms > NOTABLE_MS) {
      this.#elapsed(true);
      ahead_ms = this.ahead();
    }
    if (ahead_ms <= 0 && ahead_ms >= -DOUBT_MS) this.#follow();
    const isDoubtful = Math.abs(ahead_ms) > DOUBT_MS;
    if (isDoubtful === this.#isDoubtful) return;
    this.#isDoubtful = isDoubtful;
    this.#changed(ahead_ms);
  }

  #follow(): void {
    this.#base_ms = this.#host();
    this.#since_ms = this.#elapsed();
  }

  #latest(): number {
    const passed_ms = this.#elapsed() - this.#since_ms;
    return this.#base_ms + passed_ms * (1 + SLEW);
  }
}
