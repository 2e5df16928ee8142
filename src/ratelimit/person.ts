import type { Catalog } from "../catalog/catalog.ts";
import type { LogKey } from "../events/event.ts";

/**
 * The person that the use of a log counts for: the account that owns it. Bounds that count by
 * person hold however many logs and API keys somebody makes. A log without an owner counts for
 * itself.
 */
export function personOf(catalog: Pick<Catalog, "ownerOf">, log: LogKey): string {
  return catalog.ownerOf(log) || `log ${log}`;
}
