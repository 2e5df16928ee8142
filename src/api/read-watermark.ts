import type { Logger } from "pino";

import type { Bus } from "../bus/bus.ts";
import { watchProgress } from "../bus/progress.ts";
import type { SteadyClock } from "../events/clock.ts";
import { type EventId, firstIdAt } from "../events/id.ts";

/**
 * Id up to which logs are complete: every event that any process accepted before it is visible. A
 * list with `sinceid` ends there, so that a poller that passes the last id it saw never skips an
 * event that becomes visible later.
 */
export type ReadWatermark = AsyncDisposable & { current(): EventId };

export type ReadWatermarkOptions = {
  readonly bus: Pick<Bus, "lag">;
  /** Consumer group whose offsets show what was indexed. */
  readonly group: string;
  /** Time of day, by the clock that also assigns ids. */
  readonly now: SteadyClock;
  /**
   * Longest time from assigning an event's id to appending it to the bus, plus the largest clock
   * difference between processes, in milliseconds.
   */
  readonly accept_ms: number;
  /**
   * Returns the moment before whose ids all events are on the bus, as published by the posting
   * processes; null if none has published one.
   */
  readonly settledBefore: (now_ms: number) => Promise<number | null>;
  /** Longest time until an indexed event becomes visible without a refresh, in milliseconds. */
  readonly refresh_ms: number;
  /** Makes everything indexed so far visible. */
  readonly refresh: () => Promise<void>;
  readonly log: Logger;
};

/** Without readers for this long, checks are rare and nothing is refreshed. */
const IDLE_MS = 10_000;
const CHECK_EVERY_MS = { idle: 250, followed: 50 } as const;
/** Minimum time between the starts of two refreshes: this, or a multiple of the duration of one. */
const REFRESH_EVERY_MS = 300;
const REFRESH_DURATION_FACTOR = 2;

/**
 * Tracks the read watermark of a cluster. Once the pipeline has passed the end offsets of a moment,
 * all events that were on the bus then are indexed. Posting processes publish which events were on
 * the bus. An event whose id was assigned `accept_ms` earlier was there, or was rejected.
 */
export function watchReadWatermark(options: ReadWatermarkOptions): ReadWatermark {
  const { bus, group, now, accept_ms, settledBefore, refresh_ms, refresh, log } = options;
  /** Moments before which everything is indexed, and when that was seen. Visibility follows. */
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

  /** Advances to what was seen indexed by the given time and is therefore visible. */
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
      log.debug({ err: error }, "the store could not be refreshed for the read watermark");
    }
    const took_ms = performance.now() - start_ms;
    nextRefresh_ms = start_ms + Math.max(REFRESH_EVERY_MS, REFRESH_DURATION_FACTOR * took_ms);
    isRefreshing = false;
  }

  const progress = watchProgress({
    bus,
    group,
    every_ms: () => CHECK_EVERY_MS[isFollowed() ? "followed" : "idle"],
    now: onBus,
    log,
    sampled: (_, passed_ms) => {
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
