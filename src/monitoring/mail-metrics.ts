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
  const taken = "Notices about events that somebody wants mail of, those that came again included";
  readCounter(registry, "loggia_mail_notices_total", taken, () => read().notices);
  const left = "Of these, those that are too old to be news, or cannot be read";
  readCounter(registry, "loggia_mail_notices_skipped_total", left, () => read().skipped);
  const help = "Attempts to mail, by what became of them";
  readCounters(registry, "loggia_mails_total", help, "outcome", () => Object.entries(read().mails));
}
