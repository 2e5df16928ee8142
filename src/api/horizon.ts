import type { Logger } from "pino";

import type { Bus } from "../bus/bus.ts";
import { watchPassage } from "../bus/passage.ts";
import type { SteadyClock } from "../events/clock.ts";
import { type EventId, firstIdAt } from "../events/id.ts";

/**
 * Up to which id logs are complete: every event accepted before it, by whichever process, can be seen. A list with `sinceid` ends there,
 * so that a poller that passes the last id it saw never steps over an event that becomes visible later.
 */
export type Horizon = AsyncDisposable & { current(): EventId };

export type HorizonOptions = {
  readonly bus: Pick<Bus, "lag">;
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

const LOOK_EVERY_MS = 250;

/**
 * The horizon of a cluster, from the bus alone: where the topic ended at a moment, and that the pipeline has passed those ends since.
 * Then all that was on the bus at that moment is indexed; and what got its id `accept_ms` earlier was on the bus, or was refused.
 */
export function watchHorizon({ bus, group, now, accept_ms, refresh_ms, log }: HorizonOptions): Horizon {
  /** Moments of which everything is indexed, and since when: soon it is visible too. */
  let indexed: { readonly taken_ms: number; readonly seen_ms: number }[] = [];
  let complete_ms = 0;
  const passage = watchPassage({
    bus,
    group,
    every_ms: LOOK_EVERY_MS,
    now,
    log,
    seen: (_, passed_ms) => {
      advance();
      if (passed_ms !== null) indexed.push({ taken_ms: passed_ms, seen_ms: performance.now() });
    },
  });

  function advance(): void {
    const visible = indexed.findLast(({ seen_ms }) => performance.now() - seen_ms >= refresh_ms);
    if (visible === undefined) return;
    complete_ms = Math.max(complete_ms, visible.taken_ms);
    indexed = indexed.filter(({ seen_ms }) => seen_ms > visible.seen_ms);
  }

  return {
    current() {
      advance();
      return firstIdAt(Math.max(complete_ms - accept_ms, 0));
    },
    [Symbol.asyncDispose]: () => passage[Symbol.asyncDispose](),
  };
}
