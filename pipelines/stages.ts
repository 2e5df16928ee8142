import type { Catalog } from "../src/catalog/catalog.ts";
import type { Store } from "../src/store/store.ts";
import { createAlert } from "./alert/alert.ts";
import { createClassify } from "./classify/classify.ts";
import { createEnrich } from "./enrich/enrich.ts";
import type { Locate } from "./enrich/enrich.ts";
import { createIndex } from "./index/index-events.ts";
import type { Stage } from "./stage.ts";

/**
 * What happens to an event between bus and store, in order.
 *
 * Invariant: derived writes come before the event itself, so that whatever a list shows is complete.
 */
export function createStages({
  catalog,
  store,
  locate,
  maxEvents,
  maxBytes,
}: {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly locate: Locate | null;
  readonly maxEvents: number;
  readonly maxBytes: number;
}): readonly Stage[] {
  return [
    createEnrich({ locate }),
    createClassify({ catalog }),
    createAlert({ catalog, store, maxAlerts: maxEvents, maxBytes }),
    createIndex({ store }),
  ];
}
