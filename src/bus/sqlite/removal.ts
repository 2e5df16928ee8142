import type { Logger } from "pino";
import type { RemovalClock } from "../../events/clock.ts";
import { TOPICS, type Topic } from "../bus.ts";
import type { BusFileClient } from "./client.ts";
import type { GroupOffsets } from "./file.ts";

const NOTES_PER_GRACE = 24;
const SWEEP_INTERVAL_MS = 60_000;
const SWEEP_STEP_MS = 100;
/** Bounds of one step. Removed bytes are overwritten, and so pass through the write-ahead log. */
const SWEEP_STEP = { records: 1000, bytes: 2 * 1024 * 1024 } as const;

export type RemovalOptions = {
  readonly file: BusFileClient;
  /** The acknowledged offset of each group, by `<topic> <group>`. */
  readonly offsets: GroupOffsets;
  /** Whether removal is suspended. */
  readonly isHeld: () => boolean;
  readonly log: Logger;
  readonly clock: RemovalClock;
  readonly retention_ms: number;
  readonly grace_ms: number;
};

/** Removes old records from the file of the embedded bus, in steps. */
export class Removal {
  readonly #options: RemovalOptions;
  /** Whether the write-ahead log may hold bytes of removed records. */
  #isLogStale = true;
  #timer: NodeJS.Timeout;
  #running: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: RemovalOptions) {
    this.#options = options;
    this.#timer = this.#after(SWEEP_STEP_MS);
  }

  /** Resolves once a running step has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #after(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#running = this.#sweep();
    }, ms).unref();
  }

  /** Starts a step now. */
  soon(): void {
    clearTimeout(this.#timer);
    this.#timer = this.#after(0);
  }

  /** Runs one step, and schedules the next one sooner if there is more to remove. */
  async #sweep(): Promise<void> {
    let busy = false;
    const { file, clock, retention_ms, grace_ms } = this.#options;
    if (this.#options.isHeld() || !clock.mayRemove()) {
      this.#timer = this.#after(SWEEP_INTERVAL_MS);
      return;
    }
    try {
      const now_ms = clock.now();
      const time_ms = now_ms - retention_ms;
      for (const topic of TOPICS) {
        await file.call("dateBack", topic, now_ms);
        const taken = this.#removableBefore(topic);
        const isAtOnce = taken === Infinity || grace_ms === 0;
        const offset = isAtOnce ? taken : Math.min(taken, await file.call("takenBy", topic, now_ms - grace_ms));
        const step = await file.call("remove", topic, { offset, time_ms }, SWEEP_STEP);
        busy ||= step.isMore;
        this.#isLogStale ||= step.removed > 0;
        if (!isAtOnce) await file.call("noteTaken", topic, taken, now_ms - grace_ms / NOTES_PER_GRACE, now_ms);
      }
      if (!busy) {
        busy = await file.call("giveBack");
        this.#isLogStale ||= busy;
      }
      if (this.#isLogStale && !busy) await file.call("truncateLog");
      this.#isLogStale &&= busy;
    } catch (error) {
      this.#options.log.warn({ err: error }, "old records could not be removed from the bus");
    }
    if (this.#closed) return;
    this.#timer = this.#after(busy ? SWEEP_STEP_MS : SWEEP_INTERVAL_MS);
  }

  /**
   * The offset before which records of a topic may go. Events stay until a first group has read
   * them. Dead letters may never have a group. Alerts go read or unread.
   */
  #removableBefore(topic: Topic): number {
    if (topic === "alerts") return Infinity;
    return this.#acknowledged(topic) ?? (topic === "dead-letters" ? Infinity : 0);
  }

  /** The smallest acknowledged offset of a topic's groups, or null if it has no group. */
  #acknowledged(topic: Topic): number | null {
    const nexts = [...this.#options.offsets].filter(([name]) => name.startsWith(`${topic} `)).map(([, next]) => next);
    return nexts.length === 0 ? null : Math.min(...nexts);
  }
}
