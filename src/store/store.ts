import type { Deletion } from "../events/deletion.ts";
import type { EventRow, LogKey, StoredEvent, UserId } from "../events/event.ts";
import type { EventId } from "../events/id.ts";
import type { Visit } from "../events/visit.ts";
import type { Position } from "../bus/bus.ts";
import type { EventField, GroupPlan, ListPlan, Source, UsersPlan } from "../query/plan.ts";

/**
 * The store port: events, what people did with them (bookmarks, alerts, deletions), and visits of
 * the producer's users. Adapters: `duckdb/` (embedded) and `elasticsearch/` (cluster). Both pass
 * `test/contract/store.test.ts`.
 *
 * Invariant: writes of the pipeline are create-only. What is there stays; what was deleted left a
 * marker, and stays deleted. The class of an event is all that is ever changed, by {@link
 * Store.reclassify}.
 */
export type Store = AsyncDisposable & {
  /** None yet: what is added to them is made ready to be written by this store. */
  prepareEvents(): PreparedEvents;
  /**
   * Writes events. Writing one again, or one that was deleted, is `done` and changes nothing. An
   * outcome for each event, in order.
   * @param events of {@link Store.prepareEvents} of the same store, or picked from them. Once each
   * of them is `done` or `rejected` they may not be written again.
   * @param position the last bus position that this batch covers; a store that keeps offsets
   * commits it in the same transaction. May come with no events. It is committed only where every
   * outcome is `done`: otherwise the caller still owes something of the batch, and sends the
   * position again later.
   */
  writeEvents(events: PreparedEvents, position?: Position): Promise<WriteOutcome[]>;
  /**
   * Writes an alert for each pair; the same rules. An alert holds what it needs of the event, which
   * may be written later.
   */
  writeAlerts(alerts: readonly Alert[]): Promise<WriteOutcome[]>;
  /** Writes visits, each once by its id. An outcome for each, in order. */
  writeVisits(visits: readonly Visit[]): Promise<WriteOutcome[]>;
  /**
   * Carries out deletions, each with a marker that later writes of the same run into, whether or
   * not what was deleted is there. Doing it again changes nothing. An outcome for each, in order.
   */
  writeDeletions(deletions: readonly Deletion[]): Promise<WriteOutcome[]>;
  /**
   * The first offset not yet covered by a `position`, for a store that keeps offsets; null where
   * the bus keeps them, or none was written.
   */
  nextOffset(topic: Position["topic"], partition: number): Promise<number | null>;

  /** A page and the count of all that the plan finds without `skip` and `take`. */
  list(plan: ListPlan, options?: ListOptions): Promise<Page>;
  /**
   * The records of a page, without counting those of all pages. `skip` and `take` together are at
   * most 10,000.
   */
  rows(plan: ListPlan): Promise<readonly EventRow[]>;
  /**
   * The groups of a plan, sorted, after `skip` and `take`. @throws LoggiaError `unsupported` where
   * these are more than `MAX_GROUPS` of groups.ts; on some stores those count that `skip` leaves
   * out
   */
  group(plan: GroupPlan): Promise<Group[]>;
  /** The tracked users that a plan finds, one for each log and user, and the count of all without `skip` and `take`. */
  users(plan: UsersPlan): Promise<UsersPage>;
  /**
   * The fields and attributes that events of a log have, exact over the range: fields of events in the order of
   * {@link LISTED_FIELDS}, then attributes by code point of their names. What no event of the range has is left out.
   */
  fields(question: FieldsQuestion): Promise<readonly FieldFacts[]>;
  /**
   * The names of attributes, without `@`, that events of a log have; some that only events had that are gone may be
   * among them. It is asked beside queries, and has to be far cheaper than {@link Store.fields}.
   */
  attributeNames(log: LogKey): Promise<readonly string[]>;
  /** One record of one log, or null. */
  find(from: Source, log: LogKey, id: EventId): Promise<EventRow | null>;
  /** The data of an event: undefined where there is no such event, null where it carries none. */
  data(log: LogKey, id: EventId): Promise<string | null | undefined>;
  /** Who bookmarked and who was alerted, for the events of a page. Events without marks may be left out of the map. */
  marks(ids: readonly EventId[]): Promise<ReadonlyMap<EventId, Marks>>;

  /** Deletes an event with its bookmarks and alerts, for good. False where there is none. */
  deleteEvent(log: LogKey, id: EventId): Promise<boolean>;
  /** False where the log has no such event. Bookmarking twice is the same as once. */
  addBookmark(user: UserId, log: LogKey, id: EventId): Promise<boolean>;
  deleteBookmark(user: UserId, log: LogKey, id: EventId): Promise<boolean>;
  deleteAlert(user: UserId, log: LogKey, id: EventId): Promise<boolean>;
  /** Marks one alert as seen by its person, or not seen. False where there is no such alert. */
  setAlertSeen(
    alert: { readonly user: UserId; readonly log: LogKey; readonly id: EventId },
    seen: boolean,
  ): Promise<boolean>;
  /**
   * Marks the alerts of a user that are not seen, of events accepted up to and with `until` (null:
   * all). @returns how many
   */
  markAlertsSeen(alerts: AlertsSeen & { readonly until: EventId | null }): Promise<number>;
  /** Takes back exactly what is still marked of what {@link Store.markAlertsSeen} marked. @returns how many */
  unmarkAlertsSeen(alerts: AlertsSeen): Promise<number>;
  /** The deletion of each alert that a user has now, in all logs: for {@link writeDeletions}. */
  deletionsOfAlerts(user: UserId): Promise<Deletion[]>;
  /**
   * The deletions that are known of these events of a log. A store that marks no people's alerts
   * leaves those out.
   */
  deletionsAmong(log: LogKey, ids: readonly EventId[]): Promise<Deletion[]>;

  /**
   * Deletes what its log keeps no longer: events, their bookmarks and alerts, and visits. No marker
   * stays, so that one of them that is written again is there again. In steps with rests between
   * them, so that writing and reading go on beside it; any number of processes may do it at once.
   * @param signal ends it between two steps
   * @returns how many events and visits went
   */
  deleteExpired(expiry: Expiry, signal?: AbortSignal): Promise<number>;

  /**
   * Gives the next events of a log, and what people have of them, the class that `classOf` returns.
   * Changes nothing else. An event that was changed or deleted meanwhile is read again, so that no
   * other change is lost. In pieces of bounded size, without a state between them: any later call
   * can go on where an earlier one ended.
   * @throws LoggiaError `store_unavailable`, also while somebody rebuilds the store; the piece can
   * be repeated
   */
  reclassify(piece: ReclassifyPiece): Promise<Reclassified>;

  /**
   * Builds all that was accepted from a moment on anew, and all that people did, beside what is
   * there; and then puts it in its place in one step. Readers and writers go on meanwhile. Whatever
   * ends it before that step leaves everything as it was. Absent where the engine can't.
   * @throws LoggiaError `conflict` where another process is at it; `store_unavailable`; the reason
   * of `signal`
   */
  readonly rebuild?: (options: RebuildOptions) => Promise<RebuildProgress>;

  /** How often this process has written events; absent where others write to the store as well. */
  readonly writes?: () => number;

  /** The parts that can be lost one by one. Absent where the store is a single file. */
  readonly parts?: () => Promise<readonly StorePart[]>;

  /**
   * Makes all that was written before visible to `list`, `group` and `users` (a cluster store shows
   * it within a second unasked).
   */
  refresh(): Promise<void>;
  /** @throws LoggiaError `store_unavailable` that says which engine could not be reached. */
  ping(): Promise<void>;
};

/**
 * Events in the form in which one store writes them: bytes outside of what JavaScript collects, a
 * fraction of what the events themselves take. So these need not live until they are written.
 */
export type PreparedEvents = {
  /** How many they are. */
  readonly length: number;
  /** Of the events, in order. */
  ids(): EventId[];
  /**
   * What is wrong with one of them is told when they are written. Where it throws all the same, the
   * first of them may have been added: `length` tells. Until it has settled nothing else may be
   * asked of them.
   * @throws TypeError or RangeError where an event is at fault; LoggiaError `store_unavailable`
   */
  add(events: readonly StoredEvent[]): Promise<void>;
  /** Some of them, by their places, which rise. Nothing may be added to those. */
  pick(places: readonly number[]): Promise<PreparedEvents>;
};

/** A part of a store, such as an index, which may be replaced by one of a later generation. */
export type StorePart = {
  readonly place: string;
  /** Tells it from others that were in its place. */
  readonly id: string;
  readonly generation: number;
  /** Whether a replay brings back its contents, as far as the bus holds them. */
  readonly isReplayed: boolean;
};

/** What may go. Moments are milliseconds since the Unix epoch. */
export type Expiry = {
  /** For each log that keeps nothing for ever: what was `created` before that moment has expired. */
  readonly before: ReadonlyMap<LogKey, number>;
  /**
   * No log keeps what was created before this moment, nor the markers of what was deleted of it;
   * null: some log keeps everything.
   */
  readonly markersBefore: number | null;
};

/** The order in which events are given their class: by `created`, then by id. */
export type ClassifiedUpTo = { readonly created: number; readonly id: EventId };

/** What the class of an event depends on, and the class that it has. */
export type Classifiable = Pick<StoredEvent, "log" | "text" | "link" | "tags" | "source" | "class">;

export type ReclassifyPiece = {
  readonly log: LogKey;
  /** Events created earlier stay as they are: milliseconds since the Unix epoch; null: none. */
  readonly from: number | null;
  /** Where the piece before ended; null: at the first event. */
  readonly after: ClassifiedUpTo | null;
  /** A class for each of the events, in order. Called after they were read, and again for those that have changed. */
  readonly classOf: (events: readonly Classifiable[]) => Promise<readonly (string | null)[]>;
};

/** `looked` events of the piece, of which `changed` have another class now. `last` is null where no more follow. */
export type Reclassified = {
  readonly looked: number;
  readonly changed: number;
  readonly last: ClassifiedUpTo | null;
};

export type RebuildOptions = {
  /** What was accepted in earlier months may stay as it is: milliseconds since the Unix epoch. */
  readonly since: number;
  /**
   * Writes what the bus holds into what is being built, by the rules of `writeEvents` and
   * `writeVisits`. All that it leaves out is copied from what is there; of the same event, its
   * document stays, unless the event was deleted.
   * @param signal ends it, with its reason: nothing will come of what is being built
   */
  readonly fill: (
    anew: Pick<Store, "prepareEvents" | "writeEvents" | "writeVisits">,
    signal: AbortSignal,
  ) => Promise<void>;
  /** Makes of an event that is copied what `fill` would write of it today. */
  readonly revise: (event: StoredEvent) => StoredEvent | Promise<StoredEvent>;
  readonly report?: (progress: RebuildProgress) => void;
  readonly signal: AbortSignal;
};

export type RebuildProgress = {
  /** `reading` the bus, `copying` what it does not tell, `switching` to what was built. */
  readonly stage: "reading" | "copying" | "switching" | "done";
  /** Events and visits that `fill` wrote. */
  readonly rebuilt: number;
  /** Documents that were there and have been looked at, again for each time that they changed meanwhile. */
  readonly compared: number;
  /** Of these, those that were copied. */
  readonly copied: number;
  /** Markers of what people deleted, which went along. */
  readonly markers: number;
};

/** A change of many alerts of one user, under a name of its own. */
export type AlertsSeen = { readonly user: UserId; readonly logs: readonly LogKey[]; readonly mark: string };

/** `event` matched a class for which `user` wants alerts. */
export type Alert = { readonly user: UserId; readonly event: StoredEvent };

export type ListOptions = {
  /**
   * Counting may stop at this many records; a greater total may be less than all. More than `skip`
   * and `take` together. Without it all are counted.
   */
  readonly countUpTo?: number;
};

export type Page = {
  readonly rows: readonly EventRow[];
  /** How many records all pages have. From `countUpTo` on, at least so many. */
  readonly total: number;
  /** Of the rows, where the store found it out along the way: what {@link Store.marks} would say. */
  readonly marks?: ReadonlyMap<EventId, Marks>;
};

/** Sorted ids of the users concerned. */
export type Marks = { readonly bookmarks: readonly UserId[]; readonly alerts: readonly UserId[] };

/**
 * A group: a key for each of the plan's `by`, a value for each of its `aggregates`, in their order.
 * Keys: of a period where it begins, see `keyOfPeriod` of `src/query/calendar.ts`; the index of a
 * band, null where the number is absent; of a text field its exact (not folded) value, "" where
 * absent; of `value` a number, null where absent; of an attribute its text, null where absent ("" is
 * a value). Aggregates are null where there is nothing to compute them of; counts never are.
 */
export type Group = { readonly keys: readonly GroupValue[]; readonly values: readonly GroupValue[] };
export type GroupValue = number | string | null;

/**
 * A user of the producer's application, as all visits of one log with an equal folded `user` tell:
 * the last in the order of ids decides. "" where no visit told an e-mail or a page.
 */
export type TrackedUser = {
  readonly log: LogKey;
  /** As last spelt. */
  readonly user: string;
  /** The last that was told. */
  readonly email: string;
  readonly page: string;
  /** When first and last seen, in milliseconds since the Unix epoch. */
  readonly created: number;
  readonly seen: number;
  /** How many visits. */
  readonly count: number;
};

export type UsersPage = { readonly rows: readonly TrackedUser[]; readonly total: number };

/** The fields of an event that {@link Store.fields} lists. */
export const LISTED_FIELDS = [
  "created",
  "text",
  "link",
  "tags",
  "source",
  "class",
  "data",
  "geo",
  "value",
  "user",
  "pattern",
] as const satisfies readonly (EventField | "pattern")[];

export type FieldsQuestion = {
  readonly log: LogKey;
  /** Of events created from (inclusive) to (exclusive), in milliseconds since the Unix epoch; null: whenever. */
  readonly from: number | null;
  readonly to: number | null;
  /** Names that begin so, case and all; those of attributes with their `@`. "": all. */
  readonly prefix: string;
  /** The most values of each field or attribute. */
  readonly values: number;
};

/** What a field or attribute holds. */
export type FieldFacts = {
  /** An attribute's with `@` before it, and nothing quoted. */
  readonly name: string;
  /**
   * Of an attribute: `number` where each of its values is or spells one (`numberOfValue`), `boolean` where each has the
   * text of one, `text` where none does either, else `mixed`. `created` is `time`, `geo` is `place`, `value` is
   * `number`, and all other fields are `text`.
   */
  readonly kind: "text" | "number" | "boolean" | "mixed" | "time" | "place";
  /** How many events have it. */
  readonly count: number;
  /**
   * The values that most events have, as posted, by count and then by code point. An event counts
   * once for each different text. None of `created`, `text`, `data` and `geo`, which hardly repeat.
   */
  readonly values: readonly { readonly value: string; readonly count: number }[];
};

/** What became of one item of a write: judged item by item, never for the batch as a whole. */
export type WriteOutcome =
  | { readonly kind: "done" }
  /** Try again later: the engine is busy or away. */
  | { readonly kind: "retry"; readonly reason: string }
  /** It will never be taken: a dead letter. */
  | { readonly kind: "rejected"; readonly reason: string };
