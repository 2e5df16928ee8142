import type { Logger } from "pino";

import type { EvictionReason } from "./connections.ts";
import { PacedCount } from "./paced-count.ts";

const INTERVAL_MS = 60_000;

const MESSAGES: Readonly<Record<EvictionReason, string>> = {
  crowd: "has reached its connection limit; the oldest idle connections were closed for new ones",
  descriptors: "is short of file descriptors (ulimit -n); the oldest idle connections were closed for new ones",
  unread: "has reached its limit of unread responses; connections of clients that do not read were closed",
  slow: "has closed connections of clients that read their responses too slowly",
  chunks: "has closed connections of clients that sent bodies in chunks of a few bytes",
};

/**
 * Counts evicted connections and logs them by reason: the first at once, then at most once a
 * minute.
 * @param listener as in "the API", for the log
 */
export function reportEvictions(
  listener: string,
  log: Pick<Logger, "warn">,
  count: (reason: EvictionReason) => void,
  now: () => number = () => performance.now(),
): (reason: EvictionReason) => void {
  const counts = new Map<EvictionReason, PacedCount>();
  return (reason) => {
    count(reason);
    const paced = counts.get(reason) ?? new PacedCount(INTERVAL_MS, now);
    counts.set(reason, paced);
    const closed = paced.add();
    if (closed !== null) log.warn({ reason, closed }, `${listener} ${MESSAGES[reason]}`);
  };
}
