import type { Body, Cursor, Documents, Version } from "../catalog/documents/documents.ts";
import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import type { ClassifiedUpTo } from "../store/store.ts";

/**
 * The order to give stored events of a log the classes of today's filters, and how far it is. There is one document a
 * log, which the processes that play the pipeline carry out: see `pipelines/reclassify/`.
 */
export type Reclassification = {
  readonly log: LogKey;
  /** `waiting`: no process has begun yet. */
  readonly state: "waiting" | "running" | "done" | "failed";
  /** Events created earlier stay as they are; null: none. All moments are milliseconds since the Unix epoch. */
  readonly from: number | null;
  readonly started: number;
  readonly finished: number | null;
  /** Events that there were as it began; null until they are counted. */
  readonly total: number | null;
  /** Of these, those that were looked at since it began, or began again as the filters had changed. */
  readonly done: number;
  /** How often an event got another class. */
  readonly changed: number;
  /** Why it failed, for a person to read. */
  readonly reason: string | null;
};

/** What only those who carry it out need to know. */
export type StoredReclassification = Reclassification & {
  /** Tells the filters that are applied from others; null until it has begun. */
  readonly filters: string | null;
  readonly upTo: ClassifiedUpTo | null;
  /** Whether all that was classified by earlier filters was in the store as it began. */
  readonly isSettled: boolean;
  /** The process that is at it. */
  readonly holder: string | null;
  /** How often it was ordered while it was under way. */
  readonly asked: number;
};

/** Where orders lie, for those who carry them out: what is needed of the document store beneath the catalog. */
export type OrderDocuments = Pick<Documents, "read" | "replace" | "changes">;
export type OrderVersion = Version;
export type OrderCursor = Cursor;

/** What the API does with such orders. */
export type Reclassifications = {
  /**
   * Orders it. The same order once more, while that is under way, begins nothing.
   * @throws LoggiaError `conflict` where one with another `from` is under way; `store_unavailable`
   */
  order(log: LogKey, from: number | null): Promise<Reclassification>;
  /** The last order, or null. @throws LoggiaError `store_unavailable` */
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
        const current = found === null ? null : reclassificationOf(found.body);
        const ordered = current !== null && isUnderWay(current) ? again(current, from) : fresh(log, from, now());
        const written = found === null ? documents.create(log, ordered) : replace(documents, ordered, found.version);
        // Else whoever carries it out has just written, or somebody else has ordered it.
        if ((await written).kind === "done") return ordered;
      }
    },
    async last(log) {
      const found = await documents.read(log);
      return found === null ? null : reclassificationOf(found.body);
    },
  };
}

function replace(documents: Pick<Documents, "replace">, record: StoredReclassification, version: Version) {
  return documents.replace(record.log, record, version);
}

function fresh(log: LogKey, from: number | null, started: number): StoredReclassification {
  const none = { finished: null, total: null, done: 0, changed: 0, reason: null };
  const nobody = { filters: null, upTo: null, isSettled: false, holder: null, asked: 1 };
  return { log, state: "waiting", from, started, ...none, ...nobody };
}

/** Noted, so that one which is about to end looks once more whether the filters have changed. */
function again(current: StoredReclassification, from: number | null): StoredReclassification {
  if (current.from === from) return { ...current, asked: current.asked + 1 };
  const which = current.from === null ? "all its events" : `events from ${new Date(current.from).toISOString()} on`;
  throw new LoggiaError(
    "conflict",
    `The log ${current.log} is being reclassified, ${which}: wait for its end, then order another range`,
  );
}

export function isUnderWay({ state }: Pick<Reclassification, "state">): boolean {
  return state === "waiting" || state === "running";
}

/** What a document holds that this module wrote; null where it was removed. */
export function reclassificationOf(body: Body | null): StoredReclassification | null {
  return body as StoredReclassification | null;
}
