import type { Deletion } from "../events/deletion.ts";
import type { EventRow, LogKey, StoredEvent, UserId } from "../events/event.ts";
import type { EventId } from "../events/id.ts";
import type { Visit } from "../events/visit.ts";
import type { Position } from "../bus/bus.ts";
import type { GroupPlan, ListPlan, RecordSource, UsersPlan } from "../query/plan.ts";

/**
 * The store port: events, user data (bookmarks, alerts, deletions) and visits of tracked users.
 * Adapters: `duckdb/` (embedded) and `elasticsearch/` (cluster). Both pass
 * `test/contract/store.test.ts`.
 *
 * Invariant: the pipeline's writes are create-only. An existing item stays as it is; a deleted item
 * has left a marker and stays deleted. Only {@link Store.reclassify} changes an event: its class.
 */
export type Store = AsyncDisposable & {
  /** Returns an empty collection, which encodes the events added to it for this store. */
  prepareEvents(): PreparedEvents;
  /**
   * Writes events and returns an outcome for each, in order. An event that exists or was deleted is
   * `done` and changes nothing.
   * @param events made by {@link Store.prepareEvents} of the same store, or picked from such. Once
   * each of them is `done` or `rejected` they may not be written again.
   * @param position the last bus position that the batch covers; `events` may be empty. A store
   * that keeps offsets commits it in the same transaction, but only if every outcome is `done`.
   * Otherwise the caller must send the position again later.
   */
  writeEvents(events: PreparedEvents, position?: Position): Promise<WriteOutcome[]>;
  /**
   * Writes an alert for each pair, by the rules of {@link Store.writeEvents}. An alert holds the
   * fields of the event that it needs; the event may be written later.
   */
  writeAlerts(alerts: readonly Alert[]): Promise<WriteOutcome[]>;
  /** Writes each visit once, by its id. Returns an outcome for each, in order. */
  writeVisits(visits: readonly Visit[]): Promise<WriteOutcome[]>;
  /**
   * Applies deletions, whether or not their targets exist. Each leaves a marker that blocks later
   * writes of the target. Applying one again changes nothing. Returns an outcome for each, in
   * order.
   */
  writeDeletions(deletions: readonly Deletion[]): Promise<WriteOutcome[]>;
  /**
   * Returns the first offset not yet covered by a `position`, for a store that keeps offsets.
   * Returns null if the bus keeps them, or if none was written.
   */
  nextOffset(topic: Position["topic"], partition: number): Promise<number | null>;

  /** Returns a page, and the count of all records that the plan finds without `skip` and `take`. */
  list(plan: ListPlan, options?: ListOptions): Promise<Page>;
  /**
   * Returns the records of a page, without counting all records. `skip` + `take` is at most 10,000.
   */
  rows(plan: ListPlan): Promise<readonly EventRow[]>;
  /**
   * Returns the groups of a plan, sorted, after `skip` and `take`.
   * @throws LoggiaError `unsupported` for more than `MAX_GROUPS` (groups.ts) groups; on some stores
   * skipped groups count too
   */
  group(plan: GroupPlan): Promise<Group[]>;
  /**
   * Returns the tracked users that a plan finds, one for each log and user, and the count of all
   * without `skip` and `take`.
   */
  users(plan: UsersPlan): Promise<UsersPage>;
  /**
   * Returns the fields of a log's events and their most frequent attributes, at most
   * {@link MAX_LISTED_ATTRIBUTES}, exact over the range. Fields precede, in the order of
   * `LISTED_FIELDS`; attributes follow by code point of their names. Fields that no event of
   * the range has are omitted. A log may have any number of attributes: the store counts them in
   * its own bounded memory and returns no more than these.
   */
  fields(query: FieldsQuery): Promise<FieldsAnswer>;
  /**
   * Returns the names of a log's most frequent attributes, without `@`, at most
   * {@link MAX_LISTED_ATTRIBUTES}. Names that only removed events had may be included.
   */
  attributeNames(log: LogKey): Promise<readonly string[]>;
  /** Returns one record of one log, or null. */
  find(from: RecordSource, log: LogKey, id: EventId): Promise<EventRow | null>;
  /** Returns the data of an event: undefined if there is no such event, null if it has no data. */
  data(log: LogKey, id: EventId): Promise<string | null | undefined>;
  /**
   * Returns the users with bookmarks and alerts of the events of a page. Events with neither may be
   * missing from the map.
   */
  annotations(ids: readonly EventId[]): Promise<ReadonlyMap<EventId, Annotations>>;

  /** Deletes an event with its bookmarks and alerts for good. Returns false if there is none. */
  deleteEvent(log: LogKey, id: EventId): Promise<boolean>;
  /**
   * Adds a bookmark; adding it again changes nothing. Returns false if the log has no such event.
   */
  addBookmark(user: UserId, log: LogKey, id: EventId): Promise<boolean>;
  deleteBookmark(user: UserId, log: LogKey, id: EventId): Promise<boolean>;
  deleteAlert(user: UserId, log: LogKey, id: EventId): Promise<boolean>;
  /** Marks one alert as seen or unseen by its user. Returns false if there is no such alert. */
  setAlertSeen(
    alert: { readonly user: UserId; readonly log: LogKey; readonly id: EventId },
    seen: boolean,
  ): Promise<boolean>;
  /**
   * Marks a user's unseen alerts as seen, for events accepted up to and including `until` (null:
   * all).
   * @returns how many alerts it marked
   */
  markAlertsSeen(alerts: AlertsSeen & { readonly until: EventId | null }): Promise<number>;
  /**
   * Undoes {@link Store.markAlertsSeen} for the alerts that still carry its mark. @returns how many
   */
  unmarkAlertsSeen(alerts: AlertsSeen): Promise<number>;
  /**
   * Returns a deletion for each alert that a user has now, in all logs, for {@link writeDeletions}.
   */
  deletionsOfAlerts(user: UserId): Promise<Deletion[]>;
  /**
   * Returns the known deletions of these events of a log. A store without markers for alerts omits
   * deletions of alerts.
   */
  deletionsAmong(log: LogKey, ids: readonly EventId[]): Promise<Deletion[]>;

  /**
   * Removes expired events, their bookmarks and alerts, and expired visits. It leaves no markers:
   * an item that is written again is stored again. It works in steps with pauses, so that reads and
   * writes continue; any number of processes may run it at once.
   * @param signal stops it between two steps
   * @returns how many events and visits were removed
   */
  deleteExpired(expiry: Expiry, signal?: AbortSignal): Promise<number>;

  /**
   * Sets the class of a log's next events, and of their bookmarks and alerts, to what `classOf`
   * returns. Changes nothing else: an event that changed or was deleted meanwhile is read again. A
   * piece is bounded in size and keeps no state; any later call can continue from its end.
   * @throws LoggiaError `store_unavailable`, also during a rebuild of the store; the piece can be
   * repeated
   */
  reclassify(piece: ReclassifyPiece): Promise<Reclassified>;

  /**
   * Rebuilds, beside the live data, everything accepted since a moment and all user data, then
   * switches to the result in one step. Reads and writes continue meanwhile. If it ends before the
   * switch, nothing changes. Absent if the engine does not support it.
   * @throws LoggiaError `conflict` if another process is rebuilding; `store_unavailable`; the
   * reason of `signal`
   */
  readonly rebuild?: (options: RebuildOptions) => Promise<RebuildProgress>;

  /** Returns how often events were written. Absent if other processes write to the store too. */
  readonly writes?: () => number;

  /** Returns the parts that can be lost individually. Absent if the store is a single file. */
  readonly parts?: () => Promise<readonly StorePart[]>;

  /**
   * Makes all earlier writes visible to `list`, `group` and `users`. A cluster store does so within
   * a second by itself.
   */
  refresh(): Promise<void>;
  /** @throws LoggiaError `store_unavailable` that names the engine that could not be reached */
  ping(): Promise<void>;
};

/**
 * Events encoded for writing by one store. The bytes lie outside of the JavaScript heap and are a
 * fraction of the size of the events, which need not live until they are written.
 */
export type PreparedEvents = {
  /** Number of events. */
  readonly length: number;
  /** Returns the ids of the events, in order. */
  ids(): EventId[];
  /**
   * Adds events. A fault of a single event is reported when the events are written. If it throws
   * nevertheless, the first events may have been added; see `length`. Until the promise settles, no
   * other member may be used.
   * @throws TypeError or RangeError if an event is at fault; LoggiaError `store_unavailable`
   */
  add(events: readonly StoredEvent[]): Promise<void>;
  /** Returns the events at the given ascending positions. Nothing may be added to the result. */
  pick(places: readonly number[]): Promise<PreparedEvents>;
};

/** A part of a store, such as an index, which a part of a later generation may replace. */
export type StorePart = {
  readonly place: string;
  /** Distinguishes it from other parts that were at its place. */
  readonly id: string;
  readonly generation: number;
  /** Whether a replay restores its contents, as far as the bus holds them. */
  readonly isReplayed: boolean;
  /** Set if it was created in another layout, in which queries do not find its contents. */
  readonly lacksLayout?: true;
};

/** Bounds of the data that may be removed. Times are milliseconds since the Unix epoch. */
export type Expiry = {
  /** By log, the time before which `created` has expired. Logs that keep everything are missing. */
  readonly before: ReadonlyMap<LogKey, number>;
  /**
   * No log keeps events created before this time, nor the markers of their deletions. Null if some
   * log keeps everything.
   */
  readonly markersBefore: number | null;
};

/** A position in the order in which events are reclassified: by `created`, then by id. */
export type ClassifiedUpTo = { readonly created: number; readonly id: EventId };

/** The fields that the class of an event depends on, and its present class. */
export type Classifiable = Pick<StoredEvent, "log" | "text" | "link" | "tags" | "source" | "class">;

export type ReclassifyPiece = {
  readonly log: LogKey;
  /**
   * Events created earlier are left unchanged, in milliseconds since the Unix epoch; null: none.
   */
  readonly from: number | null;
  /** Where the previous piece ended; null: start at the first event. */
  readonly after: ClassifiedUpTo | null;
  /** Returns a class for each event, in order. Called again for events changed since. */
  readonly classOf: (events: readonly Classifiable[]) => Promise<readonly (string | null)[]>;
};

/** `examined` events were read, `changed` of them got another class. `last` null: none follow. */
export type Reclassified = {
  readonly examined: number;
  readonly changed: number;
  readonly last: ClassifiedUpTo | null;
};

export type RebuildOptions = {
  /** Data accepted in earlier months may stay unchanged. Milliseconds since the Unix epoch. */
  readonly since: number;
  /**
   * Writes what the bus holds into the new data, by the rules of `writeEvents` and `writeVisits`.
   * What it does not write is copied from the live data. If both have an event, the document
   * written here is kept, unless the event was deleted.
   * @param signal stops it, with its reason; the new data is then discarded
   */
  readonly fill: (
    target: Pick<Store, "prepareEvents" | "writeEvents" | "writeVisits">,
    signal: AbortSignal,
  ) => Promise<void>;
  /** Returns the event as `fill` would write it now, for an event that is copied. */
  readonly revise: (event: StoredEvent) => StoredEvent | Promise<StoredEvent>;
  readonly report?: (progress: RebuildProgress) => void;
  readonly signal: AbortSignal;
};

export type RebuildProgress = {
  /** `reading` the bus, `copying` what the bus does not hold, `switching` to the new data. */
  readonly stage: "reading" | "copying" | "switching" | "done";
  /** Events and visits written by `fill`. */
  readonly rebuilt: number;
  /** Existing documents examined; a document counts again each time it changes meanwhile. */
  readonly compared: number;
  /** Examined documents that were copied. */
  readonly copied: number;
  /** Markers of users' deletions that were carried over. */
  readonly markers: number;
};

/** A change of many alerts of one user, identified by `mark`. */
export type AlertsSeen = { readonly user: UserId; readonly logs: readonly LogKey[]; readonly mark: string };

/** An alert: `event` matched a class for which `user` wants alerts. */
export type Alert = { readonly user: UserId; readonly event: StoredEvent };

export type ListOptions = {
  /**
   * The count may stop at this many records; a larger total may then be too small. Must exceed
   * `skip` + `take`. Unless given, all records are counted.
   */
  readonly countUpTo?: number;
};

export type Page = {
  readonly rows: readonly EventRow[];
  /** Number of records of all pages. From `countUpTo` on, a lower bound. */
  readonly total: number;
  /** What {@link Store.annotations} would return for the rows, if the store already knows it. */
  readonly annotations?: ReadonlyMap<EventId, Annotations>;
};

/** Sorted ids of the users who bookmarked an event and of those who have an alert of it. */
export type Annotations = { readonly bookmarks: readonly UserId[]; readonly alerts: readonly UserId[] };

/**
 * A group: a key for each of the plan's `by` and a value for each of its `aggregates`, in order.
 * Keys by kind of grouping:
 * - period: its start, see `keyOfPeriod` of `src/query/calendar.ts`
 * - bands: the index of the band, null if the number is absent
 * - text field: its exact (not folded) value, "" if absent; `value`: a number, null if absent
 * - attribute: its text, null if absent ("" is a value)
 *
 * An aggregate without input is null; a count never is.
 */
export type Group = { readonly keys: readonly GroupValue[]; readonly values: readonly GroupValue[] };
export type GroupValue = number | string | null;

/**
 * A user of the producer's application, computed from all visits of one log with an equal folded
 * `user`. The last visit in the order of ids decides. "" if no visit had an e-mail or a page.
 */
export type TrackedUser = {
  readonly log: LogKey;
  /** As spelled in the last visit. */
  readonly user: string;
  /** From the last visit that had one. */
  readonly email: string;
  readonly page: string;
  /** Times of the first and the last visit, in milliseconds since the Unix epoch. */
  readonly created: number;
  readonly seen: number;
  /** Number of visits. */
  readonly count: number;
};

export type UsersPage = { readonly rows: readonly TrackedUser[]; readonly total: number };

/** Most attributes of a log that are listed, unless a store is opened with another number. */
export const MAX_LISTED_ATTRIBUTES = 10_000;
/** Most values that one answer lists, and most characters in them, over all fields. */
export const MAX_LISTED_VALUES = 100_000;
export const MAX_LISTED_VALUES_LENGTH = 4_000_000;

export type FieldsQuery = {
  readonly log: LogKey;
  /**
   * `created` from (inclusive) to (exclusive), milliseconds since the Unix epoch; null: no bound.
   */
  readonly from: number | null;
  readonly to: number | null;
  /** Case-sensitive prefix of the names; attributes have their `@`. "" matches all. */
  readonly prefix: string;
  /** Maximum number of values listed for each field or attribute. */
  readonly values: number;
};

export type FieldsAnswer = {
  readonly fields: readonly FieldSummary[];
  /**
   * Number of attributes that match the query and are not listed, since others are more frequent.
   * Approximate on some stores.
   */
  readonly unlisted: number;
  /**
   * Number of listed fields and attributes that lack values, since all values would exceed
   * {@link MAX_LISTED_VALUES} or {@link MAX_LISTED_VALUES_LENGTH}, or differ in too many events.
   */
  readonly withoutValues: number;
};

/** A field or attribute and its most frequent values. */
export type FieldSummary = {
  /** The name of an attribute begins with `@`; nothing is quoted. */
  readonly name: string;
  /**
   * Kind of the values. `created` is `time`, `geo` is `place`, `value` is `number`, other fields
   * are `text`. An attribute is `number` if each value is or spells a number (`numberOfValue`),
   * `boolean` if each has the text of a boolean, `text` if none is either, otherwise `mixed`.
   */
  readonly kind: "text" | "number" | "boolean" | "mixed" | "time" | "place";
  /** Number of events that have it. */
  readonly count: number;
  /**
   * The most frequent values, as posted, by count and then by code point. An event counts once for
   * each distinct text. Empty for `created`, `text`, `data` and `geo`, whose values rarely repeat.
   */
  readonly values: readonly { readonly value: string; readonly count: number }[];
};

/** Outcome of one item of a write. Each item has an outcome of its own, whatever the others'. */
export type WriteOutcome =
  | { readonly kind: "done" }
  /** The engine is busy or unreachable; try again later. */
  | { readonly kind: "retry"; readonly reason: string }
  /** The item can never be written and becomes a dead letter. */
  | { readonly kind: "rejected"; readonly reason: string };
