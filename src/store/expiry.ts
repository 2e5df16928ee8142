import type { LogKey } from "../events/event.ts";
import type { Expiry } from "./store.ts";

/** A producer's own `created` lies at most this far after the acceptance that an id tells. */
export const CREATED_AHEAD_MS = 5 * 60_000;

/** Logs for which the same moment counts. */
export type Expired = { readonly logs: readonly LogKey[]; readonly before: number };

/** An expiry, log by log, as few conditions: so many logs at most in one. */
export function groupExpiry({ before }: Pick<Expiry, "before">, maxLogs: number): Expired[] {
  const groups: Expired[] = [];
  for (const [moment, entries] of Map.groupBy(before, ([, moment]) => moment)) {
    const logs = entries.map(([log]) => log);
    for (let i = 0; i < logs.length; i += maxLogs) groups.push({ logs: logs.slice(i, i + maxLogs), before: moment });
  }
  return groups;
}
