/**
 * The bus port: durable, ordered topics of records. What was appended is the truth of what was posted.
 * Adapters: `sqlite.ts` (embedded) and `kafka.ts` (cluster). Both pass `test/contract/bus.test.ts`.
 */

/**
 * `events`: records of `src/events/record.ts`, keyed by log. `dead-letters`: what the pipeline
 * could not take, with the reason. `alerts`: events that somebody wants mail about, keyed by log;
 * they are news, so they go by age, read or not.
 */
export const TOPICS = ["events", "dead-letters", "alerts"] as const;
export type Topic = (typeof TOPICS)[number];

export type NewRecord = {
  /** Records with equal keys stay in order. */
  readonly key: string;
  readonly value: Buffer;
};

/** Where a record lies. Offsets rise within a partition and fit a double exactly. */
export type Position = { readonly topic: Topic; readonly partition: number; readonly offset: number };

export type BusRecord = NewRecord & {
  readonly position: Position;
  /** When it was appended, in milliseconds since the Unix epoch. */
  readonly appended: number;
};

/**
 * Records of one partition, in order, with their acknowledgement. Until `ack` has resolved they are delivered again:
 * to this subscription when its handler throws, or to whoever consumes the partition next.
 */
export type Batch = {
  readonly topic: Topic;
  readonly partition: number;
  /** Never empty; bounded by the subscription's `maxRecords` and `maxBytes` (one larger record comes alone). */
  readonly records: readonly BusRecord[];
  /** Fires when the partition is taken away or the subscription closes: stop early, without `ack`. */
  readonly signal: AbortSignal;
  /** Tells the bus that work is still going on. Call it at least every 3 s while retrying. */
  heartbeat(): Promise<void>;
  /** Moves the group's offset past this batch. */
  ack(): Promise<void>;
};

export type SubscribeOptions = {
  readonly topic: Topic;
  /** Consumers that share a group share the partitions. */
  readonly group: string;
  readonly maxRecords: number;
  readonly maxBytes: number;
  /**
   * Asked once for each partition when it is assigned: the first offset to deliver, for a store
   * that keeps its own offset together with its rows. null: the group's offset, or the start of the
   * partition where there is none.
   */
  readonly from?: (partition: number) => Promise<number | null>;
  /**
   * Whether the values of a batch are no longer needed once its handler has settled: then a bus may
   * take their memory back, and they are empty. Records live too long to be collected with what is
   * young, and each of them would have the collector look at all there is the sooner.
   */
  readonly transient?: boolean;
};

export type Subscription = {
  /** Lets the handler in flight finish (at most `timeout_ms`, then its signal fires) and leaves the group. */
  close(timeout_ms?: number): Promise<void>;
  /** Rejects when the subscription has died for good and cannot mend itself; never resolves otherwise, until closed. */
  readonly done: Promise<void>;
  /**
   * Why nothing is delivered at the moment although the bus may answer, in words for operators;
   * null where nothing is in the way.
   */
  fault(): string | null;
};

export type ReadOptions = {
  readonly topic: Topic;
  /** Bounds of one batch; one larger record comes alone. */
  readonly maxRecords: number;
  readonly maxBytes: number;
  /** Leaves out what was appended before: milliseconds since the Unix epoch. */
  readonly since?: number;
  /** Leaves out what lies before, in each partition that it names. */
  readonly from?: readonly { readonly partition: number; readonly offset: number }[];
  /** Ends it early, with the signal's reason. */
  readonly signal?: AbortSignal;
};

export type PartitionLag = {
  readonly partition: number;
  /** The offset of the oldest record, or `end` where there is none. */
  readonly first: number;
  /** The offset that the next record will get. */
  readonly end: number;
  /** The offset that the group will be given next. */
  readonly next: number;
};

export type Bus = AsyncDisposable & {
  /**
   * Appends records, in order for each key. Resolves once they are durable (fsync, or acks from all
   * in-sync replicas).
   * @throws LoggiaError `bus_unavailable` where that did not happen before `deadline_ms` (from
   * now); then they may or may not have been appended.
   */
  append(topic: Topic, records: readonly NewRecord[], options?: { deadline_ms?: number }): Promise<void>;
  /**
   * Delivers batches to `handler`, one at a time for each partition. A handler that throws sees the
   * same records again after a back-off; a handler that returns without `ack` goes on with the next
   * batch, and what it left is delivered after a restart.
   */
  subscribe(options: SubscribeOptions, handler: (batch: Batch) => Promise<void>): Promise<Subscription>;
  /**
   * Reads what a topic holds as it begins, once, in batches of one partition each, in order within
   * a partition. No group is asked and none is moved; what was appended later does not come, and
   * what the bus removes meanwhile may not.
   * @throws LoggiaError `bus_unavailable`
   */
  read(options: ReadOptions): AsyncIterable<readonly BusRecord[]>;
  /** How far a group is behind, for each partition. */
  lag(topic: Topic, group: string): Promise<PartitionLag[]>;
  /**
   * For each partition, the offset of the first record that was appended at a moment or later, or
   * the end. Absent where no other process uses the bus. Of one topic and moment these offsets
   * never fall, as long as the topic is not made anew.
   * @param moment milliseconds since the Unix epoch
   */
  readonly offsetsAt?: (topic: Topic, moment: number) => Promise<ReadonlyMap<number, number>>;
  /**
   * The last record of each partition of a topic that holds one: to go on after the largest id of an earlier life.
   * @throws LoggiaError `bus_unavailable`
   */
  last(topic: Topic): Promise<readonly BusRecord[]>;
  /**
   * What the engine said of damage to its file, since this process started; null where it met none.
   * Absent where the engine looks after its files by itself.
   */
  readonly damage?: () => string | null;
  /** @throws LoggiaError `bus_unavailable` that says which engine could not be reached. */
  ping(): Promise<void>;
};
