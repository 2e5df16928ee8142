import type { Holds } from "../monitoring/holds.ts";
import type { RebuildProgress } from "../store/store.ts";

/**
 * Operations on a running service, as offered by the management API. Only its processes can access
 * the bus and the embedded files, so one of them has to perform the operation.
 */
export type Operations = {
  readonly deadLetters: DeadLetters;
  /** Operations that wait for an operator's decision, see `src/monitoring/holds.ts`. */
  readonly holds: Pick<Holds, "list" | "accept">;
  /** Reads the bus again, see `pipelines/replay/`. */
  readonly replay: Job<ReplayOrder, ReplayProgress>;
  /** Whether a replay can build a new store. */
  readonly rebuilds: boolean;
  /** Backup of embedded files, see `backup.ts`; null on a cluster: use its engines' tools. */
  readonly backup: Job<{ readonly to: string }, BackupProgress> | null;
};

/** A long-running operation, of which at most one runs at a time. */
export type Job<Order, Progress> = {
  /**
   * Starts the job without waiting for its end. Repeating the order of a running job starts
   * nothing.
   * @throws LoggiaError `conflict` if another order is running
   */
  start(order: Order): JobRecord<Order, Progress>;
  /** Returns the last order since this process started, or null. */
  last(): JobRecord<Order, Progress> | null;
};

export type JobRecord<Order, Progress> = {
  readonly state: "running" | "done" | "failed";
  readonly order: Order;
  /** Milliseconds since the Unix epoch; `ended` is null while it runs. */
  readonly started: number;
  readonly ended: number | null;
  readonly progress: Progress;
  /** Reason of a failure, for people. */
  readonly reason: string | null;
};

export type ReplayOrder = {
  /** Milliseconds since the Unix epoch; 0: everything that the bus holds. */
  readonly since: number;
  /** `old`: adds missing data to the store. `new`: builds a new store that replaces the old one. */
  readonly into: "old" | "new";
};

/** `rebuild` is null for a replay into the old store, and before a new one is started. */
export type ReplayProgress = BusProgress & { readonly rebuild: RebuildProgress | null };

export type BusProgress = {
  /** Records read from the bus. */
  readonly records: number;
  readonly events: number;
  readonly visits: number;
  /** Of these, items older than their log's retention, which were not written. */
  readonly expired: number;
  /** Lines the pipeline could not process. They stay on the bus and create no new dead letters. */
  readonly refused: number;
  /**
   * Append time of the oldest record read, in milliseconds since the Unix epoch: from the start of
   * the replay until then the bus holds no records. null: none was read.
   */
  readonly oldest: number | null;
};

export type BackupProgress = {
  /** Files copied so far, in order. */
  readonly files: readonly { readonly name: string; readonly size_bytes: number }[];
};

export type DeadLetters = {
  /**
   * Lists dead letters in the order of writing.
   * @param page.after id of the last letter of the previous page
   * @param page.state `open`: only letters that were not redriven
   */
  list(page: { after: string | null; limit: number; state: "open" | "all" }): Promise<DeadLetterPage>;
  /** Sends letters through the pipeline again: those with the given ids, or all open ones. */
  redrive(which: "all" | readonly string[]): Promise<Redriven>;
};

export type DeadLetterPage = {
  readonly letters: readonly DeadLetterSummary[];
  /** Pass it as `after` for the next page; null: this is the last page. */
  readonly next: string | null;
  readonly open: number;
  readonly total: number;
};

export type DeadLetterSummary = {
  /** Position of the letter on its topic: `17`, or `1-17` in a partition other than the first. */
  readonly id: string;
  /** Times of the failure and of the redrive; milliseconds since the Unix epoch. */
  readonly time: number;
  readonly redriven: number | null;
  readonly stage: string;
  readonly reason: string;
  readonly origin: {
    readonly topic: string;
    readonly partition: number;
    readonly offset: number;
    readonly line: number;
  };
  /** Key of the original record: normally the log's. */
  readonly key: string;
  /** The first characters. */
  readonly content: string;
};

export type Redriven = {
  readonly redriven: number;
  /** Ids without a letter, or with a part of the letter missing. */
  readonly missing: readonly string[];
};
