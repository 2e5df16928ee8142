import type { Log } from "../../src/catalog/catalog.ts";
import type { Expiry } from "../../src/store/store.ts";

const DAY_MS = 86_400_000;

/** Returns the time before which a log keeps no events, by `created`, or null if it keeps all. */
export function expiresBefore({ retentionDays }: Pick<Log, "retentionDays">, now_ms: number): number | null {
  return retentionDays === null ? null : now_ms - retentionDays * DAY_MS;
}

/** Returns the bounds of removal now. Logs unknown to the catalog keep all events. */
export function retentionExpiry(logs: readonly Log[], now_ms: number): Expiry {
  const moments = logs.map((log) => [log.key, expiresBefore(log, now_ms)] as const);
  const before = new Map(moments.flatMap(([key, moment]) => (moment === null ? [] : [[key, moment] as const])));
  const isBounded = logs.length > 0 && before.size === logs.length;
  return { before, markersBefore: isBounded ? Math.min(...before.values()) : null };
}
