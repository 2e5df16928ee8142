import type { Logger } from "pino";

import type { Cut } from "./connections.ts";

const INTERVAL_MS = 60_000;

const WHY: Readonly<Record<Cut, string>> = {
  crowd: "has reached its connection limit; the oldest idle connections were closed for new ones",
  descriptors: "is short of file descriptors (ulimit -n); the oldest idle connections were closed for new ones",
  unread: "has reached its limit of unread responses; connections of clients that do not read were closed",
};

/**
 * Counts evicted connections and logs them by reason: the first at once, then at most once a
 * minute.
 * @param listener as in "the API", for the log
 */
export function reportCuts(
  listener: string,
  log: Pick<Logger, "warn">,
  count: (reason: Cut) => void,
  now: () => number = () => performance.now(),
): (reason: Cut) => void {
  const last = new Map<Cut, { at_ms: number; unsaid: number }>();
  return (reason) => {
    count(reason);
    const at_ms = now();
    const said = last.get(reason);
    const closed = (said?.unsaid ?? 0) + 1;
    if (said !== undefined && at_ms - said.at_ms < INTERVAL_MS) {
      said.unsaid = closed;
      return;
    }
    last.set(reason, { at_ms, unsaid: 0 });
    log.warn({ reason, closed }, `${listener} ${WHY[reason]}`);
  };
}
