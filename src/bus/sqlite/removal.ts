import type { Logger } from "pino";
import type { RemovalClock } from "../../events/clock.ts";
import { TOPICS, type Topic } from "../bus.ts";
import type { BusFileClient } from "./client.ts";
import type { GroupOffsets } from "./file.ts";

const NOTES_PER_GRACE = 24;
const ROUND_INTERVAL_MS = 60_000;
/** Interval at which the size is compared with its bound: a flood appends some megabytes in it. */
const SIZE_INTERVAL_MS = 1_000;
const STEP_INTERVAL_MS = 100;
/** Bounds of one step. Removed bytes are overwritten, and so pass through the write-ahead log. */
const STEP = { records: 1000, bytes: 2 * 1024 * 1024 } as const;
const WARNING_INTERVAL_MS = 600_000;

/** A read that is under way: it still wants the records from `next` on. */
export type BusReader = { readonly topic: Topic; next: number };

/** When records may go. Infinity: no bound. */
export type RemovalBounds = {
  /** The age of records. */
  readonly keep_ms: number;
  /** The size of all records on disk. Events beyond it go, the oldest first. */
  readonly keep_bytes: number;
  /** The age of alerts, and of dead letters without a group, which go by age alone. */
  readonly news_ms: number;
  /** Minimum time that records stay by age after every group has acknowledged them. */
  readonly grace_ms: number;
};

export type RemovalOptions = RemovalBounds & {
  readonly file: BusFileClient;
  /** The acknowledged offset of each group, by `<topic> <group>`. */
  readonly offsets: GroupOffsets;
  /** The first offset of each group that has subscribed since the bus was opened. */
  readonly starts: GroupOffsets;
  readonly readers: ReadonlySet<BusReader>;
  /** Whether removal is suspended. */
  readonly isHeld: () => boolean;
  /** Whether the store may lack acknowledged records. While true, no record is removed by size. */
  readonly isStoreInDoubt: () => boolean;
  readonly log: Logger;
  readonly clock: RemovalClock;
};

/**
 * Removes old records from the file of the embedded bus, in steps: by age once a minute, by size once
 * a second.
 *
 * Invariant: no record of `events` goes before every group has acknowledged it. By size, these are the
 * groups as they have subscribed since the bus was opened, so that a store which was replaced by an
 * older one meanwhile has said where it stands.
 */
export class Removal {
  readonly #options: RemovalOptions;
  /** Whether the write-ahead log may hold bytes of removed records. */
  #isLogStale = true;
  #nextRound_ms = -Infinity;
  #nextWarning_ms = -Infinity;
  #nextFailure_ms = -Infinity;
  #timer: NodeJS.Timeout;
  #running: Promise<void> = Promise.resolve();
  #isRunning = false;
  #isSoon = false;
  #closed = false;

  constructor(options: RemovalOptions) {
    this.#options = options;
    this.#timer = this.#after(STEP_INTERVAL_MS);
  }

  /** Resolves once a running step has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #after(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#running = this.#run();
    }, ms).unref();
  }

  /** Starts a round now, or after a running step. */
  soon(): void {
    if (this.#closed) return;
    this.#isSoon = true;
    clearTimeout(this.#timer);
    if (!this.#isRunning) this.#timer = this.#after(0);
  }

  /** Runs one step, and schedules the next one sooner if there is more to remove. */
  async #run(): Promise<void> {
    if (this.#isSoon) this.#nextRound_ms = -Infinity;
    this.#isSoon = false;
    this.#isRunning = true;
    let isMore = false;
    try {
      if (!this.#options.isHeld()) isMore = await this.#step();
    } catch (error) {
      this.#logFailure(error);
    }
    this.#isRunning = false;
    if (this.#closed) return;
    const rest_ms = this.#options.keep_bytes < Infinity ? SIZE_INTERVAL_MS : ROUND_INTERVAL_MS;
    this.#timer = this.#after(this.#isSoon ? 0 : isMore ? STEP_INTERVAL_MS : rest_ms);
  }

  /** On a full disk each step fails, and the size is compared once a second. */
  #logFailure(error: unknown): void {
    if (performance.now() < this.#nextFailure_ms) return;
    this.#nextFailure_ms = performance.now() + ROUND_INTERVAL_MS;
    this.#options.log.warn({ err: error }, "old records could not be removed from the bus");
  }

  /** @returns whether there is more to remove or to give back */
  async #step(): Promise<boolean> {
    const { file, clock, keep_bytes } = this.#options;
    const isLarge = keep_bytes < Infinity && (await this.#removeBeyondSize());
    const isDue = performance.now() >= this.#nextRound_ms;
    const isOld = isDue && clock.mayRemove() && (await this.#removeOld());
    if (isLarge || isOld) return true;
    if (await file.call("freePages")) {
      // The file itself becomes smaller when its log is emptied.
      this.#isLogStale = true;
      this.#nextRound_ms = -Infinity;
      return true;
    }
    if (!isDue) return false;
    if (this.#isLogStale) await file.call("truncateLog");
    this.#isLogStale = false;
    this.#nextRound_ms = performance.now() + ROUND_INTERVAL_MS;
    return false;
  }

  async #removeOld(): Promise<boolean> {
    const { file, clock, keep_ms, news_ms, grace_ms } = this.#options;
    let isMore = false;
    const now_ms = clock.now();
    for (const topic of TOPICS) {
      await file.call("clampFutureTimes", topic, now_ms);
      const taken = this.#removableBefore(topic);
      const isAtOnce = taken === Infinity || grace_ms === 0;
      const known = isAtOnce ? taken : Math.min(taken, await file.call("acknowledgedAt", topic, now_ms - grace_ms));
      const offset = Math.min(known, this.#readBefore(topic));
      const time_ms = now_ms - (topic === "events" ? keep_ms : news_ms);
      const step = await file.call("remove", topic, { offset, time_ms }, STEP);
      isMore ||= step.isMore;
      this.#isLogStale ||= step.removed > 0;
      if (!isAtOnce) await file.call("noteAcknowledged", topic, taken, now_ms - grace_ms / NOTES_PER_GRACE, now_ms);
    }
    return isMore;
  }

  /** Removes a step of the oldest events while all records take more bytes than they may. */
  async #removeBeyondSize(): Promise<boolean> {
    const { file, keep_bytes, isStoreInDoubt } = this.#options;
    const stored = this.#storedBefore();
    if (stored === null || isStoreInDoubt()) return false;
    const { used_bytes } = await file.call("disk");
    const excess_bytes = used_bytes - keep_bytes;
    if (excess_bytes <= 0) return false;
    const offset = Math.min(stored, this.#readBefore("events"));
    const limit = { records: STEP.records, bytes: Math.min(excess_bytes, STEP.bytes) };
    const { removed } = await file.call("remove", "events", { offset, time_ms: Infinity }, limit);
    if (removed === 0) this.#warn({ used_bytes, keep_bytes });
    this.#isLogStale ||= removed > 0;
    return removed > 0;
  }

  #warn(sizes: { readonly used_bytes: number; readonly keep_bytes: number }): void {
    if (performance.now() < this.#nextWarning_ms) return;
    this.#nextWarning_ms = performance.now() + WARNING_INTERVAL_MS;
    this.#options.log.warn(
      sizes,
      "the bus is larger than its size in LOGGIA_BUS_KEEP: the rest is not in the store yet, is still read by a " +
        "replay, or goes by age alone (alerts, dead letters)",
    );
  }

  /**
   * The offset before which records of a topic may go. Events stay until a first group has read
   * them. Dead letters may never have a group. Alerts go read or unread.
   */
  #removableBefore(topic: Topic): number {
    if (topic === "alerts") return Infinity;
    const nexts = ofTopic(this.#options.offsets, topic).map(([, next]) => next);
    if (nexts.length > 0) return Math.min(...nexts);
    return topic === "dead-letters" ? Infinity : 0;
  }

  /**
   * The offset before which every group is known to need no event any more; null until each of them
   * has subscribed.
   */
  #storedBefore(): number | null {
    const { offsets, starts } = this.#options;
    const groups = ofTopic(new Map([...starts, ...offsets]), "events");
    if (groups.length === 0 || groups.some(([name]) => !starts.has(name))) return null;
    return Math.min(...groups.map(([, next]) => next));
  }

  /** The smallest offset that a read of a topic still wants. */
  #readBefore(wanted: Topic): number {
    const nexts = [...this.#options.readers].filter(({ topic }) => topic === wanted).map(({ next }) => next);
    return Math.min(Infinity, ...nexts);
  }
}

function ofTopic(offsets: GroupOffsets, topic: Topic): [name: string, next: number][] {
  return [...offsets].filter(([name]) => name.startsWith(`${topic} `));
}
