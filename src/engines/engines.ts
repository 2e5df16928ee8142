import type { Logger } from "pino";

import type { Bus } from "../bus/bus.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Documents } from "../catalog/documents/documents.ts";
import type { PersistentClock } from "../clock/persistent-clock.ts";
import type { Holds } from "../monitoring/holds.ts";
import type { MarksFile } from "../operations/marks.ts";
import type { Decisions } from "../operations/decisions.ts";
import type { BackupProgress } from "../operations/operations.ts";
import type { Settings } from "../settings.ts";
import type { Store } from "../store/store.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";

export type Ports = { readonly bus: Bus; readonly store: Store; readonly catalog: Catalog };

/** What the engines of a process share with its roles. */
export type EngineParts = { readonly holds: Holds; readonly scheduler: Scheduler; readonly log: Logger };

/** The engines and stored state of a process. */
export type Engines = {
  readonly ports: Ports;
  /** The trusted clock. */
  readonly clock: PersistentClock;
  /** State of the notifiers; null if this process sends no notices. */
  readonly notifications: Documents | null;
  /** Opens the store of idempotency keys; null on a cluster, which has them on the bus. */
  readonly batches: (() => Promise<Documents>) | null;
  /**
   * Opens the watermarks of posting processes; null if one process accepts and indexes events in
   * one order.
   */
  readonly watermarks: (() => Promise<Documents>) | null;
  /** Orders to reclassify the stored events of a log, with their progress. */
  readonly reclassifications: Documents;
  /** The last known state of the engines. */
  readonly marks: MarksFile;
  /** Decisions of operators about holds outside the API. */
  readonly decisions: Decisions;
  /** Paths of the write-ahead logs of the embedded files, by file name. */
  readonly wals: ReadonlyMap<string, string>;
  /** Copies the embedded files to a folder; null on a cluster. */
  readonly backup:
    ((to: string, report: (progress: BackupProgress) => void, signal: AbortSignal) => Promise<BackupProgress>) | null;
};

export const NOTIFICATIONS = "notifications";
export const BATCHES = "batches";
export const WATERMARKS = "posting";
export const RECLASSIFICATIONS = "reclassifications";
export const MARKS = "marks";
export const CLOCK = "clock";
export const DECISIONS = "decisions";

export function notifiesHere({ channels, roles }: Settings): boolean {
  return channels.length > 0 && roles.has("pipeline");
}
