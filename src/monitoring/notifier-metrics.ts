import type { Registry } from "@prometheus-io/client";

import { readCounter, readCounters } from "./families.ts";

/** Counts of a notifier since it started; see `pipelines/notify/notifier.ts`. */
export type NotifierCounts = {
  readonly notices: number;
  readonly skipped: number;
  readonly sends: Readonly<Record<string, number>>;
};

/** Registers the counts of a channel's notifier as metrics, read when metrics are collected. */
export function notifierMetrics(registry: Registry, kind: string, read: () => NotifierCounts): void {
  const taken = `Notices taken from the bus about events to be sent as ${kind}, including redelivered ones`;
  readCounter(registry, `loggia_${kind}_notices_total`, taken, () => read().notices);
  const skipped = "Notices skipped because they are too old or malformed";
  readCounter(registry, `loggia_${kind}_notices_skipped_total`, skipped, () => read().skipped);
  const help = `Attempts to send a ${kind}, by outcome`;
  readCounters(registry, `loggia_${kind}s_total`, help, "outcome", () => Object.entries(read().sends));
}
