import type { Catalog } from "../catalog/catalog.ts";
import type { LogKey } from "../events/event.ts";

/**
 * Returns the owner whose quotas the use of a log counts against: the account that owns it. Limits
 * then hold however many logs and API keys an account creates. A log without an owner counts by
 * itself.
 */
export function quotaOwnerOf(catalog: Pick<Catalog, "ownerOf">, log: LogKey): string {
  return catalog.ownerOf(log) || `log ${log}`;
}
