import type { Logger } from "pino";
import type { LoggiaError } from "../../errors.ts";
import { QUEUE_BYTES, QUEUE_RECORDS } from "../limits.ts";
import type { BusFileClient } from "./client.ts";
import { toBusError, isFull, deadlineError } from "./errors.ts";
import type { Commit } from "./file.ts";
import { turn } from "../wait.ts";

/** Bounds of one commit, so that requests for the next one do not wait for long. */
const COMMIT_RECORDS = 5000;
const COMMIT_BYTES = 8 * 1024 * 1024;

const NOT_STORED = Promise.resolve(false);

/** A request for the next commit: appends or acknowledgements, never both. */
export type CommitRequest = Commit & {
  readonly records: number;
  readonly size_bytes: number;
  /** On the clock of `performance.now()`. */
  readonly deadline_ms: number;
  /** Called after the commit is durable. */
  done(): void;
};

type Pending = CommitRequest & { failed(error: LoggiaError): void };

export type GroupCommitOptions = {
  readonly file: BusFileClient;
  readonly log: Logger;
  readonly now: () => number;
  /** Called for each acknowledgement that is durable. */
  readonly acknowledged: (ack: Commit["acks"][number]) => void;
  /** Called when the disk has no room for a commit. */
  readonly full: () => void;
};

/**
 * Group commit: requests that arrive during one commit share the next transaction and its fsync.
 * Commits grow with the load. Without load, a request is committed at once.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  #pending: Pending[] = [];
  #pendingRecords = 0;
  #pending_bytes = 0;
  /** Settles when no request is pending. */
  #committing: Promise<void> | null = null;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /** Whether the queue has room for an append. An empty queue takes an append of any size. */
  hasRoom(records: number, size_bytes: number): boolean {
    if (this.#pendingRecords === 0) return true;
    return this.#pendingRecords + records <= QUEUE_RECORDS && this.#pending_bytes + size_bytes <= QUEUE_BYTES;
  }

  /** Resolves when no request is pending. */
  async settled(): Promise<void> {
    await this.#committing;
  }

  /** Resolves once the request is durable. @throws LoggiaError `bus_unavailable` */
  add(request: CommitRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      const { deadline_ms } = request;
      const outcome = Promise.withResolvers<boolean>();
      const fail = (): void => reject(deadlineError(outcome.promise));
      const timer = deadline_ms === Infinity ? null : setTimeout(fail, Math.max(0, deadline_ms - performance.now()));
      this.#pending.push({
        ...request,
        done() {
          if (timer !== null) clearTimeout(timer);
          request.done();
          outcome.resolve(true);
          resolve();
        },
        failed(error) {
          if (timer !== null) clearTimeout(timer);
          outcome.resolve(false);
          reject(error);
        },
      });
      this.#pendingRecords += request.records;
      this.#pending_bytes += request.size_bytes;
      this.#committing ??= this.#commitAll();
    });
  }

  async #commitAll(): Promise<void> {
    // Requests of the same turn of the event loop share the commit.
    await turn();
    while (this.#pending.length > 0) await this.#commit();
    this.#committing = null;
  }

  async #commit(): Promise<void> {
    const now_ms = performance.now();
    const group = this.#takeGroup();
    for (const pending of group) if (pending.deadline_ms <= now_ms) pending.failed(deadlineError(NOT_STORED));
    await this.#write(group.filter(({ deadline_ms }) => deadline_ms > now_ms));
  }

  async #write(group: readonly Pending[]): Promise<void> {
    if (group.length === 0) return;
    const appends = group.flatMap((pending) => pending.appends);
    const acks = group.flatMap((pending) => pending.acks);
    try {
      await this.#options.file.commit({ appends, acks }, this.#options.now());
    } catch (error) {
      const failed = appends.length > 0 ? group.filter(({ records }) => records > 0) : group;
      this.#options.log.error({ err: error, appends: appends.length, acks: acks.length }, "the bus could not commit");
      const busError = toBusError(error);
      for (const pending of failed) pending.failed(busError);
      // Acknowledgements need no room, and let removal free some.
      if (appends.length > 0) await this.#write(group.filter(({ records }) => records === 0));
      if (isFull(error)) this.#options.full();
      return;
    }
    for (const ack of acks) this.#options.acknowledged(ack);
    for (const pending of group) pending.done();
  }

  #takeGroup(): Pending[] {
    let count = 0;
    let records = 0;
    let size_bytes = 0;
    for (const pending of this.#pending) {
      records += pending.records;
      size_bytes += pending.size_bytes;
      if (count > 0 && (records > COMMIT_RECORDS || size_bytes > COMMIT_BYTES)) break;
      count += 1;
      this.#pendingRecords -= pending.records;
      this.#pending_bytes -= pending.size_bytes;
    }
    return this.#pending.splice(0, count);
  }
}
