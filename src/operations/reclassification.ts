import type { Body, DocumentCursor, Documents, Version } from "../catalog/documents/documents.ts";
import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import type { ClassifiedUpTo } from "../store/store.ts";

/**
 * Order to reclassify stored events of a log by the current filters, with its progress. Each log
 * has one document, which the pipeline processes carry out: see `pipelines/reclassify/`. Times are
 * milliseconds since the Unix epoch.
 */
export type Reclassification = {
  readonly log: LogKey;
  /** `waiting`: no process has started yet. */
  readonly state: "waiting" | "running" | "done" | "failed";
  /** Events created earlier are not reclassified; null: no lower bound. */
  readonly from: number | null;
  readonly started: number;
  readonly finished: number | null;
  /** Number of events at the start; null until they are counted. */
  readonly total: number | null;
  /** Events examined since the start, or since it restarted because the filters changed. */
  readonly done: number;
  /** Number of class changes. */
  readonly changed: number;
  /** Reason of a failure, for people. */
  readonly reason: string | null;
};

/** The parts of an order that only its executors need. */
export type StoredReclassification = Reclassification & {
  /** Identifies the applied filters; null before the start. */
  readonly filters: string | null;
  readonly upTo: ClassifiedUpTo | null;
  /** Whether all events classified by earlier filters were in the store at the start. */
  readonly isSettled: boolean;
  /** The process that carries it out. */
  readonly holder: string | null;
  /** Number of times it was ordered while running. */
  readonly asked: number;
};

/** Storage of orders for their executors: part of the document store beneath the catalog. */
export type OrderDocuments = Pick<Documents, "read" | "replace" | "changes">;
export type OrderVersion = Version;
export type OrderCursor = DocumentCursor;

/** Operations of the API on these orders. */
export type Reclassifications = {
  /**
   * Orders a reclassification. Repeating the order of a running one starts nothing.
   * @throws LoggiaError `conflict` if one with another `from` is running; `store_unavailable`
   */
  order(log: LogKey, from: number | null): Promise<Reclassification>;
  /** Returns the last order, or null. @throws LoggiaError `store_unavailable` */
  last(log: LogKey): Promise<Reclassification | null>;
};

export function createReclassifications(
  documents: Pick<Documents, "create" | "replace" | "read">,
  now: () => number,
): Reclassifications {
  return {
    async order(log, from) {
      for (;;) {
        const found = await documents.read(log);
        const current = found === null ? null : storedReclassification(found.body);
        const ordered = current !== null && isUnderWay(current) ? again(current, from) : fresh(log, from, now());
        const written = found === null ? documents.create(log, ordered) : replace(documents, ordered, found.version);
        // A conflict means that its executor or another caller has just written: read again.
        if ((await written).kind === "done") return ordered;
      }
    },
    async last(log) {
      const found = await documents.read(log);
      return found === null ? null : storedReclassification(found.body);
    },
  };
}

function replace(documents: Pick<Documents, "replace">, record: StoredReclassification, version: Version) {
  return documents.replace(record.log, record, version);
}

function fresh(log: LogKey, from: number | null, started: number): StoredReclassification {
  const none = { finished: null, total: null, done: 0, changed: 0, reason: null };
  const unassigned = { filters: null, upTo: null, isSettled: false, holder: null, asked: 1 };
  return { log, state: "waiting", from, started, ...none, ...unassigned };
}

/** Counts a repeated order, so that one about to finish checks once more for changed filters. */
function again(current: StoredReclassification, from: number | null): StoredReclassification {
  if (current.from === from) return { ...current, asked: current.asked + 1 };
  const which = current.from === null ? "all its events" : `events from ${new Date(current.from).toISOString()} on`;
  throw new LoggiaError(
    "conflict",
    `The log ${current.log} is being reclassified, ${which}: wait until it ends, then order another range`,
  );
}

export function isUnderWay({ state }: Pick<Reclassification, "state">): boolean {
  return state === "waiting" || state === "running";
}

/** Casts a document written by this module; null if it was removed. */
export function storedReclassification(body: Body | null): StoredReclassification | null {
  return body as StoredReclassification | null;
}
