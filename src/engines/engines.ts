import type { Bus } from "../bus/bus.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Documents } from "../catalog/documents/documents.ts";
import type { KeptClock } from "../clock/keeper.ts";
import type { MarksFile } from "../operations/marks.ts";
import type { Decisions } from "../operations/decisions.ts";
import type { BackupProgress } from "../operations/operations.ts";
import type { Settings } from "../settings.ts";
import type { Store } from "../store/store.ts";

export type Ports = { readonly bus: Bus; readonly store: Store; readonly catalog: Catalog };

/** All that a process keeps outside of its memory. */
export type Engines = {
  readonly ports: Ports;
  /** The time that this process believes. */
  readonly clock: KeptClock;
  /** What those who mail remember; null where this process mails nobody. */
  readonly notifications: Documents | null;
  /** Opens what those who take posts remember of batches. */
  readonly batches: () => Promise<Documents>;
  /** Opens the watermarks of posting processes; null where one process accepts and indexes in one order. */
  readonly watermarks: (() => Promise<Documents>) | null;
  /** Orders to reclassify stored events of a log, and how far they are. */
  readonly reclassifications: Documents;
  /** Where it is kept what was last known of the engines. */
  readonly marks: MarksFile;
  /** What operators decided about holds past the API. */
  readonly decisions: Decisions;
  /** The write-ahead logs of the embedded files, by the names of those files. */
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

export function mailsHere({ mail, roles }: Settings): boolean {
  return mail !== null && roles.has("pipeline");
}
