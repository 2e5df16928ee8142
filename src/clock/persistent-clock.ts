import type { Logger } from "pino";

import type { Holds } from "../monitoring/holds.ts";
import { type BootTime, readBootTime, createElapsed } from "./boot.ts";
import type { ClockMark, ClockMarks } from "./marks.ts";
import { TrustedTime, MISMATCH_MS, STEP_MS } from "./trusted-clock.ts";
import type { Elapsed, TrustedClock } from "./trusted-clock.ts";

export type PersistentClock = TrustedClock &
  AsyncDisposable & {
    /** The trusted time, whatever the host's clock shows. */
    readonly trusted: () => number;
    /** How far the host's clock is ahead of the trusted time, in milliseconds; negative: behind. */
    ahead(): number;
  };

export type ClockOptions = {
  readonly marks: ClockMarks;
  /** Whether processes on several machines share the marks. */
  readonly shared: boolean;
  readonly holds: Pick<Holds, "set" | "clear">;
  readonly log: Logger;
  readonly host?: () => number;
  readonly elapsed?: Elapsed;
  readonly boot?: () => BootTime | null;
  readonly check_ms?: number;
  /** Reads the time from another machine if there is no mark; null: unknown. Default: unknown */
  readonly reference?: () => Promise<number | null>;
};

const CHECK_MS = 10_000;
/** Number of checks between two writes of the mark. */
const CHECKS_PER_MARK = 6;

/**
 * Opens the trusted clock. It continues from the last mark and writes marks for the next start and
 * for other processes. If the host's clock contradicts it, a hold remains until both agree again or
 * an operator accepts the host's clock.
 */
export async function openClock(options: ClockOptions): Promise<PersistentClock> {
  const { marks, log } = options;
  const mark = await marks.read();
  const reference_ms = mark === null ? await readReference(options) : null;
  const clock = new MarkedClock(options, mark, reference_ms);
  await clock.save().catch((error: unknown) => log.warn({ err: error }, "the clock's mark could not be written"));
  return clock;
}

async function readReference({ reference = async () => null, log }: ClockOptions): Promise<number | null> {
  try {
    return await reference();
  } catch (error) {
    log.warn({ err: error }, "the time could not be read from another machine; the host's clock is trusted");
    return null;
  }
}

class MarkedClock implements PersistentClock {
  readonly #options: ClockOptions;
  readonly #time: TrustedTime;
  readonly #boot: () => BootTime | null;
  readonly #timer: NodeJS.Timeout;
  #accepted: number;
  #checks = 0;
  #isStepLogged = false;
  #saving: Promise<void> = Promise.resolve();

  constructor(options: ClockOptions, mark: ClockMark | null, reference_ms: number | null) {
    const { host = () => Date.now(), elapsed = createElapsed(), boot = readBootTime, check_ms = CHECK_MS } = options;
    this.#options = options;
    this.#boot = boot;
    this.#accepted = mark?.accepted ?? 0;
    const start = mark === null ? hostUnlessOff(host(), reference_ms ?? host()) : this.#timeAfter(mark, host());
    this.#time = new TrustedTime({ host, elapsed, start, changed: () => this.#report() });
    this.#time.check();
    this.#timer = setInterval(() => this.#check(), check_ms).unref();
  }

  readonly now = (): number => this.#time.now();
  readonly host = (): number => this.#time.host();
  readonly latest = (): number => this.#time.latest();
  readonly mayRemove = (): boolean => this.#time.mayRemove();

  readonly trusted = (): number => {
    this.#time.check();
    return this.#time.trusted();
  };

  ahead(): number {
    return this.#time.ahead();
  }

  /**
   * Writes a mark, unless another process has written a later one, or an operator has accepted the
   * clock of another process.
   * @param force writes an earlier mark too
   */
  async save(force = false): Promise<void> {
    const { marks, shared } = this.#options;
    const found = shared ? await marks.read() : null;
    if (found !== null && found.accepted > this.#accepted) {
      this.#accepted = found.accepted;
      this.#time.trust(this.#timeAfter(found, this.#time.host()));
      return;
    }
    const time_ms = this.#time.trusted();
    if (found !== null && found.time_ms > time_ms && !force) return;
    await marks.write({ time_ms, accepted: this.#accepted, boot: shared ? null : this.#boot() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#saving;
    await this.#save();
  }

  /**
   * Returns the time that follows from a mark. After a mark of the same boot, the boot clock gives
   * the exact time since. Otherwise the downtime is unknown, and the host's clock is trusted if it
   * is close to the mark.
   */
  #timeAfter(mark: ClockMark, host_ms: number): number {
    const boot = this.#options.shared ? null : this.#boot();
    if (boot !== null && mark.boot?.boot === boot.boot && boot.uptime_ms >= mark.boot.uptime_ms) {
      return mark.time_ms + boot.uptime_ms - mark.boot.uptime_ms;
    }
    return hostUnlessOff(host_ms, mark.time_ms);
  }

  #check(): void {
    this.#time.check();
    this.#report();
    this.#checks += 1;
    if (this.#checks % CHECKS_PER_MARK === 0) this.#saving = this.#save();
  }

  async #save(): Promise<void> {
    await this.save().catch((error: unknown) =>
      this.#options.log.warn({ err: error }, "the clock's mark could not be written; retrying in a minute"),
    );
  }

  /** Logs a step of the host's clock, and sets or clears the hold. */
  #report(): void {
    const { holds, log } = this.#options;
    const ahead_ms = this.ahead();
    const isStep = ahead_ms > STEP_MS;
    if (isStep && !this.#isStepLogged) {
      log.warn(
        { ahead_ms: Math.round(ahead_ms) },
        "the host's clock was set forward; data is removed by age according to the trusted time",
      );
    }
    this.#isStepLogged = isStep;
    if (Math.abs(ahead_ms) <= MISMATCH_MS) return holds.clear("clock");
    holds.set({
      name: "clock",
      why:
        `the clock of this machine shows ${show(this.host())}, but the trusted time is ` +
        `${show(this.#time.trusted())}: no data is removed by age`,
      todo:
        "correct the clock; " +
        "if it is correct (the machine was off, or its clock was wrong before), run `loggia clock accept`",
      blocks: null,
      accept: () => this.#accept(),
    });
  }

  async #accept(): Promise<void> {
    this.#time.trust(this.#time.host());
    this.#accepted += 1;
    await this.save(true);
  }
}

/** Returns the host's time, or `other_ms` if they contradict each other. */
function hostUnlessOff(host_ms: number, other_ms: number): number {
  return Math.abs(host_ms - other_ms) <= MISMATCH_MS ? host_ms : other_ms;
}

function show(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : `${date.toISOString().slice(0, 19)}Z`;
}
