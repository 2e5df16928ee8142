import type { LogKey, UserId } from "../events/event.ts";

/** Returns the account that created a log; null if there is no such log. */
export type LogOwners = { ownerOf(log: LogKey): UserId | null };

/**
 * Returns the owner whose quotas the use of a log counts against: the account that owns it. Limits
 * then hold however many logs and API keys an account creates. A log that this process does not
 * know counts by itself.
 */
export function quotaOwner(logs: LogOwners, log: LogKey): string {
  return logs.ownerOf(log) ?? `log ${log}`;
}
