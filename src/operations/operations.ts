import type { Holds } from "../monitoring/holds.ts";
import type { RebuildProgress } from "../store/store.ts";

/**
 * What an operator can ask of a running service, as the management API offers it: the bus and the
 * embedded files belong to the running processes alone, so whatever is done with them is done by
 * one of these.
 */
export type Operations = {
  readonly deadLetters: DeadLetters;
  /** What waits for a person, see `src/monitoring/holds.ts`. */
  readonly holds: Pick<Holds, "list" | "accept">;
  /** Reads the bus once more, see `pipelines/replay/`. */
  readonly replay: Job<ReplayOrder, ReplayProgress>;
  /** Whether a replay can go into a new store. */
  readonly rebuilds: boolean;
  /** Copies the embedded files, see `backup.ts`; null on a cluster, whose engines have their own ways. */
  readonly backup: Job<{ readonly to: string }, BackupProgress> | null;
};

/** Something that takes a while and runs at most once at a time. */
export type Job<Order, Progress> = {
  /**
   * Begins, and does not wait for the end. The same order once more, while it is under way, begins nothing.
   * @throws LoggiaError `conflict` where it is still at another order
   */
  start(order: Order): JobRecord<Order, Progress>;
  /** The last order since this process began, or null. */
  last(): JobRecord<Order, Progress> | null;
};

export type JobRecord<Order, Progress> = {
  readonly state: "running" | "done" | "failed";
  readonly order: Order;
  /** Milliseconds since the Unix epoch; `ended` is null while it runs. */
  readonly started: number;
  readonly ended: number | null;
  readonly progress: Progress;
  /** Why it failed, for a person to read. */
  readonly reason: string | null;
};

export type ReplayOrder = {
  /** Milliseconds since the Unix epoch, 0 for all that the bus holds. */
  readonly since: number;
  /** `old`: what the store lacks is added. `new`: it is built anew beside the old one, which it then replaces. */
  readonly into: "old" | "new";
};

/** `rebuild` is null where the replay went into the old store, and before a new one is begun. */
export type ReplayProgress = BusProgress & { readonly rebuild: RebuildProgress | null };

export type BusProgress = {
  /** Read from the bus. */
  readonly records: number;
  readonly events: number;
  readonly visits: number;
  /** Of these, those that are older than their logs keep them: they were not written. */
  readonly expired: number;
  /** Lines that the pipeline could not take. They stay on the bus, and make no new dead letters. */
  readonly refused: number;
};

export type BackupProgress = {
  /** Copied so far, in order. */
  readonly files: readonly { readonly name: string; readonly size_bytes: number }[];
};

export type DeadLetters = {
  /**
   * Dead letters in the order in which they were written.
   * @param page.after the id of the last letter of the page before
   * @param page.state `open`: those that nobody has sent through again since
   */
  list(page: { after: string | null; limit: number; state: "open" | "all" }): Promise<LetterPage>;
  /** Sends letters through the pipeline again: those of some ids, or all that are open. */
  redrive(which: "all" | readonly string[]): Promise<Redriven>;
};

export type LetterPage = {
  readonly letters: readonly Letter[];
  /** Pass it as `after` for the next page; null: there is none. */
  readonly next: string | null;
  readonly open: number;
  readonly total: number;
};

export type Letter = {
  /** Where the letter lies on its topic: `17`, or `1-17` in another partition than the first. */
  readonly id: string;
  /** When the pipeline gave up, and when it was sent through again; milliseconds since the Unix epoch. */
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
  /** The key of the record that it came from: as a rule the log's. */
  readonly key: string;
  /** The first characters. */
  readonly content: string;
};

export type Redriven = {
  readonly redriven: number;
  /** Ids that no letter has, or not all of whose parts are there. */
  readonly missing: readonly string[];
};
