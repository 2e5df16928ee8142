import type { Bus } from "../bus/bus.ts";
import { LoggiaError } from "../errors.ts";

/** The bus as used for posts, with the outcome of recent appends. */
export type AppendWatch = Pick<Bus, "append"> & {
  /**
   * Why the last append failed, in words for callers; null if it succeeded, or failed too long ago
   * to count.
   */
  fault(): string | null;
};

/** Replaces a reason that may contain anything, in messages for callers. */
export const UNEXPECTED_ERROR = "unexpected error; see the log of the service";

/**
 * How long a failed append makes posting not ready. A listener that is not ready may receive no
 * posts, so nothing would show a recovery. After this time the first posts act as the probe; an
 * artificial record would pollute a log.
 */
const OUTCOME_LIFE_MS = 10_000;

/**
 * Watches the appends to a bus. A bus may answer pings and still refuse appends: its disk is full,
 * too few replicas are in sync, or the account may not write.
 */
export function watchAppends(bus: Pick<Bus, "append">, now_ms: () => number = () => performance.now()): AppendWatch {
  let last: { readonly why: string; readonly until_ms: number } | null = null;
  let started = 0;
  let newest = 0;
  return {
    async append(topic, records, options) {
      started += 1;
      const number = started;
      const note = (outcome: typeof last): void => {
        // A newer append has ended already, so this outcome is outdated.
        if (number < newest) return;
        newest = number;
        last = outcome;
      };
      try {
        await bus.append(topic, records, options);
        note(null);
      } catch (error) {
        const why = faultOf(error);
        if (why !== null) note({ why, until_ms: now_ms() + OUTCOME_LIFE_MS });
        throw error;
      }
    },
    fault: () => (last !== null && now_ms() < last.until_ms ? `failed the last append: ${last.why}` : null),
  };
}

/**
 * Returns null for errors that say nothing about the health of the bus: a record too large, or a
 * full queue.
 */
function faultOf(error: unknown): string | null {
  if (!(error instanceof LoggiaError)) return UNEXPECTED_ERROR;
  return error.code === "bus_unavailable" ? error.message : null;
}
