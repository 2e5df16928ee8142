import type { Catalog } from "../catalog/catalog.ts";
import type { LogKey } from "../events/event.ts";

/**
 * Returns the person to whom the use of a log is counted: the account that owns it. Limits by
 * person then hold however many logs and API keys a person creates. A log without an owner counts
 * by itself.
 */
export function personOf(catalog: Pick<Catalog, "ownerOf">, log: LogKey): string {
  return catalog.ownerOf(log) || `log ${log}`;
}
