import type { Logger } from "pino";

import type { Holds } from "../monitoring/holds.ts";
import { type BootMoment, bootMoment, createElapsed } from "./boot.ts";
import type { ClockMark, ClockMarks } from "./marks.ts";
import { BelievedTime, DOUBT_MS, NOTABLE_MS } from "./trusted-clock.ts";
import type { Elapsed, TrustedClock } from "./trusted-clock.ts";

export type KeptClock = TrustedClock &
  AsyncDisposable & {
    /** The time without the host's clock, set forward or back. */
    readonly believed: () => number;
    /** How far the host's clock is ahead of what is possible, in milliseconds; negative: behind. */
    ahead(): number;
  };

export type ClockOptions = {
  readonly marks: ClockMarks;
  /** Whether processes of several machines share the marks. */
  readonly shared: boolean;
  readonly holds: Pick<Holds, "set" | "clear">;
  readonly log: Logger;
  readonly host?: () => number;
  readonly elapsed?: Elapsed;
  readonly boot?: () => BootMoment | null;
  readonly check_ms?: number;
  /** Asked for the time where there is no mark; null: it can't tell. Default: the host */
  readonly witness?: () => Promise<number | null>;
};

const CHECK_MS = 10_000;
/** A mark is written at each so many checks. */
const CHECKS_PER_MARK = 6;

/**
 * Opens the time that the service believes: it goes on from the last mark, and leaves marks for the
 * next life and for others. Where the host's clock contradicts it, a hold says so until both agree
 * again or a person accepts the host's clock.
 */
export async function openClock(options: ClockOptions): Promise<KeptClock> {
  const { marks, log } = options;
  const mark = await marks.read();
  const witnessed = mark === null ? await askWitness(options) : null;
  const keeper = new Keeper(options, mark, witnessed);
  await keeper.save().catch((error: unknown) => log.warn({ err: error }, "the clock's mark could not be written"));
  return keeper;
}

async function askWitness({ witness = async () => null, log }: ClockOptions): Promise<number | null> {
  try {
    return await witness();
  } catch (error) {
    log.warn({ err: error }, "no other clock could be asked for the time; the host's is believed");
    return null;
  }
}

class Keeper implements KeptClock {
  readonly #options: ClockOptions;
  readonly #time: BelievedTime;
  readonly #boot: () => BootMoment | null;
  readonly #timer: NodeJS.Timeout;
  #accepted: number;
  #checks = 0;
  #saidStep = false;
  #saving: Promise<void> = Promise.resolve();

  constructor(options: ClockOptions, mark: ClockMark | null, witnessed_ms: number | null) {
    const { host = () => Date.now(), elapsed = createElapsed(), boot = bootMoment, check_ms = CHECK_MS } = options;
    this.#options = options;
    this.#boot = boot;
    this.#accepted = mark?.accepted ?? 0;
    const start = mark === null ? nearest(host(), witnessed_ms ?? host()) : this.#timeAfter(mark, host());
    this.#time = new BelievedTime({ host, elapsed, start, changed: () => this.#say() });
    this.#time.check();
    this.#timer = setInterval(() => this.#check(), check_ms).unref();
  }

  readonly now = (): number => this.#time.now();
  readonly host = (): number => this.#time.host();
  readonly latest = (): number => this.#time.latest();
  readonly mayRemove = (): boolean => this.#time.mayRemove();

  readonly believed = (): number => {
    this.#time.check();
    return this.#time.believed();
  };

  ahead(): number {
    return this.#time.ahead();
  }

  /**
   * Leaves a mark, unless another process has left a later one, or a person has accepted a clock
   * elsewhere.
   */
  async save(force = false): Promise<void> {
    const { marks, shared } = this.#options;
    const found = shared ? await marks.read() : null;
    if (found !== null && found.accepted > this.#accepted) {
      this.#accepted = found.accepted;
      this.#time.trust(this.#timeAfter(found, this.#time.host()));
      return;
    }
    const time_ms = this.#time.believed();
    if (found !== null && found.time_ms > time_ms && !force) return;
    await marks.write({ time_ms, accepted: this.#accepted, boot: shared ? null : this.#boot() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#saving;
    await this.#save();
  }

  /**
   * What time it is after a mark. Since a mark of the same boot, exactly the system's own clock has
   * passed; otherwise nothing tells how long the service was down, and the host's clock is believed
   * where that is short.
   */
  #timeAfter(mark: ClockMark, host_ms: number): number {
    const boot = this.#options.shared ? null : this.#boot();
    if (boot !== null && mark.boot?.boot === boot.boot && boot.uptime_ms >= mark.boot.uptime_ms) {
      return mark.time_ms + boot.uptime_ms - mark.boot.uptime_ms;
    }
    return nearest(host_ms, mark.time_ms);
  }

  #check(): void {
    this.#time.check();
    this.#say();
    this.#checks += 1;
    if (this.#checks % CHECKS_PER_MARK === 0) this.#saving = this.#save();
  }

  async #save(): Promise<void> {
    await this.save().catch((error: unknown) =>
      this.#options.log.warn({ err: error }, "the clock's mark could not be written; the next try comes in a minute"),
    );
  }

  #say(): void {
    const { holds, log } = this.#options;
    const ahead_ms = this.ahead();
    const isNotable = ahead_ms > NOTABLE_MS;
    if (isNotable && !this.#saidStep) {
      log.warn(
        { ahead_ms: Math.round(ahead_ms) },
        "the host's clock was set forward; what is old is removed by the time before",
      );
    }
    this.#saidStep = isNotable;
    if (Math.abs(ahead_ms) <= DOUBT_MS) return holds.clear("clock");
    holds.set({
      name: "clock",
      why:
        `the clock of this machine shows ${show(this.host())}, and by all that the service knows it is ` +
        `${show(this.#time.believed())}: nothing is removed by age`,
      todo:
        "set the clock right; " +
        "where it is right (the machine was off, or its clock was wrong before), loggia clock accept",
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

/** The host's time, where it is not in doubt by the other. */
function nearest(host_ms: number, other_ms: number): number {
  return Math.abs(host_ms - other_ms) <= DOUBT_MS ? host_ms : other_ms;
}

function show(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : `${date.toISOString().slice(0, 19)}Z`;
}
