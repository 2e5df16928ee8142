import type { Registry } from "@prometheus-io/client";

import { readCounter, readCounters } from "./families.ts";

/** Counts of a notifier since it started; see `pipelines/notify/notifier.ts`. */
export type MailCounts = {
  readonly notices: number;
  readonly skipped: number;
  readonly mails: Readonly<Record<string, number>>;
};

/** Registers the counts of a notifier as metrics, read when metrics are collected. */
export function mailMetrics(registry: Registry, read: () => MailCounts): void {
  const taken = "Notices taken from the bus about events to be mailed, including redelivered ones";
  readCounter(registry, "loggia_mail_notices_total", taken, () => read().notices);
  const skipped = "Notices skipped because they are too old or malformed";
  readCounter(registry, "loggia_mail_notices_skipped_total", skipped, () => read().skipped);
  const help = "Attempts to send a mail, by outcome";
  readCounters(registry, "loggia_mails_total", help, "outcome", () => Object.entries(read().mails));
}
