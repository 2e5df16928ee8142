import type { Bus } from "../bus/bus.ts";
import { LoggiaError } from "../errors.ts";

/** How the appends of those who post have gone of late. */
export type AppendWatch = Pick<Bus, "append"> & {
  /**
   * Why the bus did not take what was last appended, in words for callers; null where it did, or
   * where that is too long ago to count.
   */
  fault(): string | null;
};

/** What strangers are told of a reason that may hold anything. */
export const UNFORESEEN = "failed; the log of the service holds the reason";

/**
 * For how long a failed append says that the next one would fail too. A listener that is not ready
 * may be sent no posts, and then nothing is appended that could show otherwise: so the first posts
 * after that time are the probe. A record of our own would be one that nobody posted.
 */
const VERDICT_MS = 10_000;

/**
 * A bus may answer each question and take nothing all the same: its disk is full, too few replicas
 * are in sync, or the account may not write.
 */
export function watchAppends(bus: Pick<Bus, "append">, now_ms: () => number = () => performance.now()): AppendWatch {
  let last: { readonly why: string; readonly until_ms: number } | null = null;
  let begun = 0;
  let newest = 0;
  return {
    async append(topic, records, options) {
      begun += 1;
      const number = begun;
      const tell = (verdict: typeof last): void => {
        // What began before another that has ended is no news.
        if (number < newest) return;
        newest = number;
        last = verdict;
      };
      try {
        await bus.append(topic, records, options);
        tell(null);
      } catch (error) {
        const why = faultOf(error);
        if (why !== null) tell({ why, until_ms: now_ms() + VERDICT_MS });
        throw error;
      }
    },
    fault: () => (last !== null && now_ms() < last.until_ms ? `did not take what was posted last: ${last.why}` : null),
  };
}

/** null where the bus is well, but this was too large for it, or came when too much was waiting. */
function faultOf(error: unknown): string | null {
  if (!(error instanceof LoggiaError)) return UNFORESEEN;
  return error.code === "bus_unavailable" ? error.message : null;
}
