/**
 * The bus port: durable, ordered topics of records. It is the source of truth for posted events.
 * Adapters: `sqlite/` (embedded) and `kafka/` (cluster). Both pass `test/contract/bus.test.ts`.
 */

/**
 * Topics of the bus.
 * - `events`: records of `src/events/record.ts`, keyed by log.
 * - `dead-letters`: items that the pipeline could not process, with the reason.
 * - `alerts`: events to be mailed, keyed by log. They expire by age, read or not.
 */
export const TOPICS = ["events", "dead-letters", "alerts"] as const;
export type Topic = (typeof TOPICS)[number];

/**
 * Journals of a cluster: topics of one partition, which every posting process reads.
 * - `keys`: idempotency keys, `src/ingest/idempotency/key-record.ts`.
 * - `keys-index`: summaries of `keys`, from which a process that starts learns the older keys.
 */
export const JOURNALS = ["keys", "keys-index"] as const;
export type JournalName = (typeof JOURNALS)[number];

export type JournalRecord = {
  readonly offset: number;
  readonly value: Buffer;
  /** When the record was appended, in milliseconds since the Unix epoch. */
  readonly appended: number;
};

export type JournalReadOptions = {
  /** The first offset to read. If its record has been removed, reading begins at the oldest one. */
  readonly from: number;
  /** Approximate bound of one read. A larger record is read alone. */
  readonly maxBytes: number;
  /** How long to wait for a record if there is none. Default: 0 */
  readonly wait_ms?: number;
};

/** Records in one order that is the same for all processes. They expire by age, after 26 hours. */
export type Journal = {
  /**
   * Appends records, in order. Resolves once they are durable.
   * @throws LoggiaError like `Bus.append`
   */
  append(values: readonly Buffer[], options?: { deadline_ms?: number }): Promise<void>;
  /**
   * Reads records in order, none twice and none skipped if each read begins after the last record
   * of the one before. Returns none at the end of the journal.
   * @throws JournalCut if the journal ends before `from`; LoggiaError `bus_unavailable`
   */
  read(options: JournalReadOptions): Promise<readonly JournalRecord[]>;
  /** Returns the offset of the oldest record, and the one that the next record will get. */
  bounds(): Promise<{ readonly first: number; readonly end: number }>;
  /** Returns the offset of the first record appended at `moment` or later, or the end. */
  offsetAt(moment: number): Promise<number>;
};

/** A journal lost its newest records, or was created anew. */
export class JournalCut extends Error {}

export type NewRecord = {
  /** Records with equal keys stay in order. */
  readonly key: string;
  readonly value: Buffer;
};

/** Position of a record. Offsets rise within a partition and fit a double exactly. */
export type Position = { readonly topic: Topic; readonly partition: number; readonly offset: number };

export type BusRecord = NewRecord & {
  readonly position: Position;
  /** When the record was appended, in milliseconds since the Unix epoch. */
  readonly appended: number;
};

/**
 * Records of one partition, in order, with their acknowledgement. Until `ack` resolves, the records
 * are delivered again: to this subscription if its handler throws, or to the partition's next
 * consumer.
 */
export type Batch = {
  readonly topic: Topic;
  readonly partition: number;
  /** Never empty. Within `maxRecords` and `maxBytes`; a larger record is a batch of its own. */
  readonly records: readonly BusRecord[];
  /**
   * Fires when the partition is revoked or the subscription closes. The handler must then stop
   * without `ack`.
   */
  readonly signal: AbortSignal;
  /** Reports that the handler is still working. Call it at least every 3 s while retrying. */
  heartbeat(): Promise<void>;
  /** Moves the group's offset past this batch. */
  ack(): Promise<void>;
};

export type SubscribeOptions = {
  readonly topic: Topic;
  /** Consumers of one group share the partitions. */
  readonly group: string;
  readonly maxRecords: number;
  readonly maxBytes: number;
  /**
   * Returns the first offset to deliver, for a store that commits its offset together with its
   * rows. Called once for each partition, when it is assigned. null means the group's offset, or
   * the start of the partition if the group has none.
   */
  readonly from?: (partition: number) => Promise<number | null>;
  /**
   * Whether the values of a batch are unused once its handler has settled. The bus may then free
   * their memory and leave the values empty. Records outlive the young generation; freeing them
   * explicitly delays the next full garbage collection.
   */
  readonly transient?: boolean;
};

export type Subscription = {
  /**
   * Leaves the group. The handler in flight may finish within `timeout_ms`; then its signal fires.
   */
  close(timeout_ms?: number): Promise<void>;
  /** Rejects when the subscription has failed permanently. Otherwise resolves once it is closed. */
  readonly done: Promise<void>;
  /**
   * Why nothing is delivered at the moment although the bus may be reachable, in words for
   * operators; null if there is no such reason.
   */
  fault(): string | null;
};

export type ReadOptions = {
  readonly topic: Topic;
  /** Bounds of one batch. A larger record is a batch of its own. */
  readonly maxRecords: number;
  readonly maxBytes: number;
  /** Skips records appended earlier: milliseconds since the Unix epoch. */
  readonly since?: number;
  /** First offset to read in each partition named here. */
  readonly from?: readonly { readonly partition: number; readonly offset: number }[];
  /** Ends the read early, with the signal's reason. */
  readonly signal?: AbortSignal;
};

export type PartitionLag = {
  readonly partition: number;
  /** The offset of the oldest record, or `end` if the partition is empty. */
  readonly first: number;
  /** The offset that the next record will get. */
  readonly end: number;
  /** The offset that the group reads next. */
  readonly next: number;
};

/** Disk usage of the embedded bus. */
export type BusDisk = {
  /** Pages of its file in use: all records and a few kilobytes of overhead. */
  readonly used_bytes: number;
  /** Free pages of its file, which new records use. */
  readonly free_bytes: number;
  /** Append time of the oldest record of `events`, in ms since the Unix epoch; null: none. */
  readonly oldest: number | null;
};

export type Bus = AsyncDisposable & {
  /**
   * Appends records, in order for each key. Resolves once they are durable (fsync, or acks from all
   * in-sync replicas).
   * @throws LoggiaError `bus_unavailable` if the records are not durable within `deadline_ms`
   *   (from now). They may or may not have been appended; a {@link LateAppend} tells once it is
   *   known.
   */
  append(topic: Topic, records: readonly NewRecord[], options?: { deadline_ms?: number }): Promise<void>;
  /**
   * Delivers batches to `handler`, one at a time for each partition. After a handler throws, the
   * same records are delivered again with a back-off. After a handler returns without `ack`, the
   * next batch follows; the unacknowledged records are delivered again after a restart.
   */
  subscribe(options: SubscribeOptions, handler: (batch: Batch) => Promise<void>): Promise<Subscription>;
  /**
   * Reads the records that a topic holds at the time of the call, once, in batches of one partition
   * each, in order within a partition. It uses no group and moves no offset. Records appended later
   * are not read. Records that a cluster removes meanwhile may be missing; the embedded bus removes
   * none ahead of a reader.
   * @throws LoggiaError `bus_unavailable`
   */
  read(options: ReadOptions): AsyncIterable<readonly BusRecord[]>;
  /** Returns how far a group is behind in each partition. */
  lag(topic: Topic, group: string): Promise<PartitionLag[]>;
  /**
   * Returns, for each partition, the offset of the first record appended at `moment` or later, or
   * the end. Absent if no other process uses the bus. For one topic and moment these offsets never
   * decrease, unless the topic is recreated.
   * @param moment milliseconds since the Unix epoch
   */
  readonly offsetsAt?: (topic: Topic, moment: number) => Promise<ReadonlyMap<number, number>>;
  /** Returns a journal. Absent if no other process uses the bus. */
  readonly journal?: (name: JournalName) => Journal;
  /**
   * Returns the last record of each non-empty partition of a topic, from which a new process learns
   * the largest id assigned before it started.
   * @throws LoggiaError `bus_unavailable`
   */
  last(topic: Topic): Promise<readonly BusRecord[]>;
  /**
   * Returns damage to the bus file that the engine has reported since this process started, or
   * null. Absent if the engine maintains its files itself.
   */
  readonly damage?: () => string | null;
  /** Absent if the engine maintains its files itself. @throws LoggiaError `bus_unavailable` */
  readonly disk?: () => Promise<BusDisk>;
  /** @throws LoggiaError `bus_unavailable`, naming the engine that could not be reached. */
  ping(): Promise<void>;
};
