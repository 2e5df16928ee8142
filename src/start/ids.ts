import type { Logger } from "pino";

import { createDeletionLog, type DeletionLog } from "../bus/deletions.ts";
import type { KeptClock } from "../clock/keeper.ts";
import { DOUBT_MS } from "../clock/trusted-clock.ts";
import type { Engines } from "../engines/engines.ts";
import { createSteadyClock } from "../events/clock.ts";
import { createIdSource } from "../events/id.ts";

/** A post that the bus has not taken by then gets a 503. */
export const POST_DEADLINE_MS = 5_000;
/** How long one append to the bus may take: pollers of a cluster stay at least so far behind. */
export const APPEND_TIMEOUT_MS = 2_000;
/** How far the clocks of the machines of a cluster may differ. */
const CLOCK_SKEW_MS = 500;
/** How far the last event that can be seen on the bus may be behind those of other processes. */
export const ACCEPT_MS = APPEND_TIMEOUT_MS + CLOCK_SKEW_MS;

/** Deletions have ids of their own source, which goes on after the largest of earlier lives. */
export function openDeletionLog({ ports: { bus }, clock }: Engines, accepted_ms: number, log: Logger): DeletionLog {
  if (accepted_ms - clock.now() > DOUBT_MS) {
    const last = new Date(accepted_ms).toISOString();
    log.warn(
      { last },
      "the last id on the bus is of a time to come: ids run on from there, created is the host's time",
    );
  }
  const ids = createIdSource({
    now: createSteadyClock({ now: clock.now, from: firstMoment(accepted_ms, clock) }),
    host: clock.host,
  });
  return createDeletionLog({ bus, ids, deadline_ms: POST_DEADLINE_MS });
}

/**
 * Ids keep rising where the clock was set back between two lives. Other processes may have run on
 * meanwhile, and be ahead of what they had on the bus: pollers that have seen theirs must not step
 * over ours.
 */
export function firstMoment(accepted_ms: number, { now }: KeptClock): number {
  const isSetBack = accepted_ms - now() > CLOCK_SKEW_MS;
  return accepted_ms + (isSetBack ? ACCEPT_MS : 1);
}
