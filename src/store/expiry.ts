import type { LogKey } from "../events/event.ts";
import type { Expiry } from "./store.ts";

/**
 * Longest time by which a producer's `created` may follow the acceptance in the id, in
 * milliseconds.
 */
export const CREATED_AHEAD_MS = 5 * 60_000;

/** Logs with the same expiry time. */
export type Expired = { readonly logs: readonly LogKey[]; readonly before: number };

/** Groups an expiry by time into as few conditions as possible, of at most `maxLogs` logs each. */
export function groupExpiry({ before }: Pick<Expiry, "before">, maxLogs: number): Expired[] {
  const groups: Expired[] = [];
  for (const [moment, entries] of Map.groupBy(before, ([, moment]) => moment)) {
    const logs = entries.map(([log]) => log);
    for (let i = 0; i < logs.length; i += maxLogs) groups.push({ logs: logs.slice(i, i + maxLogs), before: moment });
  }
  return groups;
}
