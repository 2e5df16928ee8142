import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";

import type { Bus } from "../bus/bus.ts";
import type { SteadyClock } from "../events/clock.ts";
import { type EventId, firstIdAt } from "../events/id.ts";

/**
 * Up to which id logs are complete: every event accepted before it, by whichever process, can be seen. A list with `sinceid` ends there,
 * so that a poller that passes the last id it saw never steps over an event that becomes visible later.
 */
export type Horizon = AsyncDisposable & { current(): EventId };

export type HorizonOptions = {
  readonly bus: Bus;
  /** The group whose offsets tell what has been indexed. */
  readonly group: string;
  /** The time of day, as those tell it who give ids. */
  readonly now: SteadyClock;
  /** How long, at the most, an event is on its way from its id to the bus, plus how far the clocks of processes may differ. */
  readonly accept_ms: number;
  /** How long, at the most, an indexed event stays invisible. */
  readonly refresh_ms: number;
  readonly log: Logger;
};

/** A moment, and where the topic's partitions ended in it. */
type Sample = { readonly taken_ms: number; readonly ends: ReadonlyMap<number, number> };

const SAMPLE_EVERY_MS = 250;
/** Kept while the pipeline is behind. Beyond, every second one goes: of an old moment nobody needs the quarter second. */
const MAX_SAMPLES = 512;

/**
 * The horizon of a cluster, from the bus alone: where the topic ended at a moment, and that the pipeline has passed those ends since.
 * Then all that was on the bus at that moment is indexed; and what got its id `accept_ms` earlier was on the bus, or was refused.
 */
export function watchHorizon({ bus, group, now, accept_ms, refresh_ms, log }: HorizonOptions): Horizon {
  const stop = new AbortController();
  let samples: Sample[] = [];
  /** Moments of which everything is indexed, and since when: soon it is visible too. */
  let indexed: { readonly taken_ms: number; readonly seen_ms: number }[] = [];
  let complete_ms = 0;

  async function sample(): Promise<void> {
    const taken_ms = now();
    const lags = await bus.lag("events", group);
    samples.push({ taken_ms, ends: new Map(lags.map(({ partition, end }) => [partition, end])) });
    const next = new Map(lags.map((lag) => [lag.partition, lag.next]));
    const passed = samples.findLast(({ ends }) =>
      ends.entries().every(([partition, end]) => (next.get(partition) ?? 0) >= end),
    );
    if (passed !== undefined) {
      indexed.push({ taken_ms: passed.taken_ms, seen_ms: performance.now() });
      samples = samples.filter((other) => other.taken_ms > passed.taken_ms);
    }
    if (samples.length > MAX_SAMPLES) samples = samples.filter((_, i) => i % 2 === 0);
  }

  async function watch(): Promise<void> {
    while (!stop.signal.aborted) {
      await sample().catch((error: unknown) => log.debug({ err: error }, "horizon: the bus did not tell its ends"));
      await delay(SAMPLE_EVERY_MS, undefined, { signal: stop.signal }).catch(() => {});
    }
  }

  const watching = watch();
  return {
    current() {
      const visible = indexed.findLast(({ seen_ms }) => performance.now() - seen_ms >= refresh_ms);
      if (visible !== undefined) {
        complete_ms = Math.max(complete_ms, visible.taken_ms);
        indexed = indexed.filter(({ seen_ms }) => seen_ms > visible.seen_ms);
      }
      return firstIdAt(Math.max(complete_ms - accept_ms, 0));
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await watching;
    },
  };
}
