import type { Bus } from "../src/bus/bus.ts";
import type { Catalog } from "../src/catalog/catalog.ts";
import type { Store } from "../src/store/store.ts";
import { createAlert } from "./alert/alert.ts";
import { createClassify } from "./classify/classify.ts";
import { createEnrich } from "./enrich/enrich.ts";
import type { Locate } from "./enrich/enrich.ts";
import { createIndex } from "./index/index-events.ts";
import { createNotify } from "./notify/publish.ts";
import type { Transform, Writer } from "./stage.ts";
import type { Scheduler } from "../src/scheduling/scheduler.ts";

export type Stages = { readonly transforms: readonly Transform[]; readonly writers: readonly Writer[] };

/**
 * Creates the stages between bus and store, in order.
 *
 * Invariant: derived writes precede the event itself, so that any event a list shows is complete.
 */
export function createStages({
  bus,
  catalog,
  store,
  locate,
  notices,
  now,
  maxEvents,
  maxBytes,
  scheduler,
}: {
  readonly bus: Bus;
  readonly catalog: Catalog;
  readonly store: Store;
  readonly locate: Locate | null;
  /** Whether events to be mailed are published to the notifier. */
  readonly notices: boolean;
  /** Trusted clock. Default: the host's. */
  readonly now?: (() => number) | undefined;
  readonly maxEvents: number;
  readonly maxBytes: number;
  readonly scheduler: Scheduler;
}): Stages {
  return {
    transforms: [createEnrich({ locate }), createClassify({ catalog, scheduler })],
    writers: [
      createAlert({ catalog, store, maxAlerts: maxEvents, maxBytes }),
      ...(notices ? [createNotify({ catalog, bus, now })] : []),
      createIndex({ store }),
    ],
  };
}
