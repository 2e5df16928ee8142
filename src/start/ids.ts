import type { Logger } from "pino";

import { createDeletionLog, type DeletionLog } from "../bus/deletions.ts";
import type { PersistentClock } from "../clock/persistent-clock.ts";
import { MISMATCH_MS } from "../clock/trusted-clock.ts";
import type { Engines } from "../engines/engines.ts";
import { createSteadyClock } from "../events/clock.ts";
import { createIdSource } from "../events/id.ts";

/** Time after which a post that the bus has not stored gets a 503. */
export const POST_DEADLINE_MS = 5_000;
/** Timeout of one append to the bus. The read watermark of a cluster lags at least this much. */
export const APPEND_TIMEOUT_MS = 2_000;
/** How far the clocks of the machines of a cluster may differ. */
const CLOCK_SKEW_MS = 500;
/** Longest time until an accepted event of another process is visible on the bus. */
export const ACCEPT_MS = APPEND_TIMEOUT_MS + CLOCK_SKEW_MS;

/** Opens the log of deletions. Its ids have their own source, which continues after earlier ids. */
export function openDeletionLog({ ports: { bus }, clock }: Engines, accepted_ms: number, log: Logger): DeletionLog {
  if (accepted_ms - clock.now() > MISMATCH_MS) {
    const last = new Date(accepted_ms).toISOString();
    log.warn(
      { last },
      "the last id on the bus is in the future: ids continue from it, while created is the host's time",
    );
  }
  const ids = createIdSource({
    now: createSteadyClock({ now: clock.now, from: firstMoment(accepted_ms, clock) }),
    host: clock.host,
  });
  return createDeletionLog({ bus, ids, deadline_ms: POST_DEADLINE_MS });
}

/**
 * Returns the first time of new ids, which keep ascending if the clock was set back since the last
 * run. Other processes may still be running and have assigned ids beyond those on the bus: a reader
 * that has read past those must not miss new ids of this process.
 */
export function firstMoment(accepted_ms: number, { now }: PersistentClock): number {
  const isSetBack = accepted_ms - now() > CLOCK_SKEW_MS;
  return accepted_ms + (isSetBack ? ACCEPT_MS : 1);
}
