import type { Logger } from "pino";

import type { Bus } from "../bus/bus.ts";
import { watchProgress } from "../bus/progress.ts";
import type { SteadyClock } from "../events/clock.ts";
import { type EventId, firstIdAt } from "../events/id.ts";

/**
 * The id up to which logs are complete: every event that any process accepted before it can be seen.
 * A list with `sinceid` ends there, so that a poller that passes the last id it saw never steps over
 * an event that becomes visible later.
 */
export type ReadWatermark = AsyncDisposable & { current(): EventId };

export type ReadWatermarkOptions = {
  readonly bus: Pick<Bus, "lag">;
  /** The group whose offsets tell what has been indexed. */
  readonly group: string;
  /** The time of day, as those tell it who give ids. */
  readonly now: SteadyClock;
  /**
   * The longest time from an event's id to its place on the bus, plus the largest difference between
   * the clocks of two processes.
   */
  readonly accept_ms: number;
  /**
   * A moment before which the events of all ids are on the bus, as posting processes state it at a
   * time; null: none states one.
   */
  readonly settledBefore: (now_ms: number) => Promise<number | null>;
  /** How long, at the most, an indexed event stays invisible by itself. */
  readonly refresh_ms: number;
  /** Makes what was indexed before visible. */
  readonly refresh: () => Promise<void>;
  readonly log: Logger;
};

/** While nobody follows a log, looks are few and make nothing visible. */
const IDLE_MS = 10_000;
const LOOK_EVERY_MS = { idle: 250, followed: 50 } as const;
/** From the start of a refresh to that of the next, which is also so many times as long as one takes. */
const REFRESH_EVERY_MS = 300;
const REFRESH_SHARE = 2;

/**
 * The read watermark of a cluster. Once the pipeline has passed the ends that the topic had at a moment,
 * all events that were on the bus at that moment are indexed. Posting processes state which events
 * were on the bus; one that got its id `accept_ms` earlier was there, or was refused.
 */
export function watchReadWatermark(options: ReadWatermarkOptions): ReadWatermark {
  const { bus, group, now, accept_ms, settledBefore, refresh_ms, refresh, log } = options;
  /** Moments before which everything is indexed, and since when: soon it is visible too. */
  let indexed: { readonly before_ms: number; readonly seen_ms: number }[] = [];
  let complete_ms = 0;
  let asked_ms = -Infinity;
  let isRefreshing = false;
  let nextRefresh_ms = 0;
  const isFollowed = (): boolean => performance.now() - asked_ms < IDLE_MS;

  async function onBus(): Promise<number> {
    const now_ms = now();
    if (!isFollowed()) return now_ms - accept_ms;
    const settled_ms = await settledBefore(now_ms).catch((error: unknown) => {
      log.debug({ err: error }, "the watermarks of posting processes could not be read");
      return null;
    });
    return Math.max(now_ms - accept_ms, settled_ms ?? 0);
  }

  /** All that was seen to be indexed by a time is visible. */
  function show(seen_ms: number): void {
    complete_ms = Math.max(
      complete_ms,
      ...indexed.filter((each) => each.seen_ms <= seen_ms).map((each) => each.before_ms),
    );
    indexed = indexed.filter((each) => each.seen_ms > seen_ms);
  }

  async function makeVisible(): Promise<void> {
    const start_ms = performance.now();
    if (isRefreshing || indexed.length === 0 || !isFollowed() || start_ms < nextRefresh_ms) return;
    isRefreshing = true;
    try {
      await refresh();
      show(start_ms);
    } catch (error) {
      log.debug({ err: error }, "what is indexed could not be made visible before its time");
    }
    const took_ms = performance.now() - start_ms;
    nextRefresh_ms = start_ms + Math.max(REFRESH_EVERY_MS, REFRESH_SHARE * took_ms);
    isRefreshing = false;
  }

  const progress = watchProgress({
    bus,
    group,
    every_ms: () => LOOK_EVERY_MS[isFollowed() ? "followed" : "idle"],
    now: onBus,
    log,
    seen: (_, passed_ms) => {
      show(performance.now() - refresh_ms);
      if (passed_ms !== null) indexed.push({ before_ms: passed_ms, seen_ms: performance.now() });
      void makeVisible();
    },
  });

  return {
    current() {
      asked_ms = performance.now();
      show(asked_ms - refresh_ms);
      return firstIdAt(Math.max(Math.floor(complete_ms), 0));
    },
    [Symbol.asyncDispose]: () => progress[Symbol.asyncDispose](),
  };
}
