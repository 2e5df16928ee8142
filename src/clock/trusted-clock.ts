import type { PostClock, RemovalClock } from "../events/clock.ts";

/**
 * The trusted time of the service. It advances no faster than the monotonic clock and is never ahead
 * of the host's clock, so a host's clock that jumps forward removes no data early.
 */
export type TrustedClock = RemovalClock &
  PostClock & {
    /** The time of the host's clock, which may be wrong. */
    readonly host: () => number;
  };

/**
 * Monotonic clock in milliseconds that advances while the machine is suspended. With `exactly` it
 * checks for a suspend now, otherwise at intervals.
 */
export type Elapsed = (exactly?: boolean) => number;

export type TrustedClockOptions = {
  readonly host?: () => number;
  /** See {@link Elapsed}. */
  readonly elapsed?: Elapsed;
  /** The trusted time at the start. Default: the host's */
  readonly start?: number;
  /** Called when the host's clock starts to contradict the trusted time, or agrees again. */
  readonly changed?: (ahead_ms: number) => void;
};

/** Highest rate at which NTP slews a host's clock. */
const SLEW = 0.0005;
/** A host's clock that is farther ahead was set, or the machine was suspended. */
export const STEP_MS = 60_000;
/** A host's clock that differs by more contradicts the trusted time. */
export const MISMATCH_MS = 3_600_000;

/** See {@link TrustedClock}. */
export class TrustedTime implements TrustedClock {
  readonly #host: () => number;
  readonly #elapsed: Elapsed;
  readonly #changed: (ahead_ms: number) => void;
  /** The trusted time when {@link #elapsed} returned `#since_ms`. */
  #base_ms: number;
  #since_ms: number;
  #isMismatch = false;

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
    return !this.#isMismatch;
  };

  /**
   * Returns how far the host's clock is ahead of the latest possible time, in milliseconds;
   * negative: behind.
   */
  ahead(): number {
    return this.#host() - this.#latest();
  }

  /** Returns the trusted time, whatever the host's clock shows: the time that marks store. */
  trusted(): number {
    return Math.floor(this.#base_ms + this.#elapsed() - this.#since_ms);
  }

  /** Sets the trusted time to `ms`. */
  trust(ms: number): void {
    this.#base_ms = ms;
    this.#since_ms = this.#elapsed();
    this.check();
  }

  /**
   * Compares both clocks. The trusted time follows a host's clock that is behind by less than
   * {@link MISMATCH_MS}, and never one that is ahead.
   */
  check(): void {
    let ahead_ms = this.ahead();
    if (ahead_ms > STEP_MS) {
      this.#elapsed(true);
      ahead_ms = this.ahead();
    }
    if (ahead_ms <= 0 && ahead_ms >= -MISMATCH_MS) this.#follow();
    const isMismatch = Math.abs(ahead_ms) > MISMATCH_MS;
    if (isMismatch === this.#isMismatch) return;
    this.#isMismatch = isMismatch;
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
