import type { DuckDBConnection } from "@duckdb/node-api";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { Logger } from "pino";

import { currentCaller, callerGone, timeLeft_ms } from "../../../caller-context.ts";
import { ClientGone, LoggiaError } from "../../../errors.ts";
import { isFatal, isHalfWritten, isOutOfMemory, QueryTooSlow, tooLarge } from "./errors.ts";
import { closeFile, copyFile, openFile } from "./file.ts";
import type { FileOptions, OpenFile } from "./file.ts";
import { DiskRoom, hasRoom } from "./room.ts";
import { keepByteOrderMarks } from "./text-decoder.ts";
import { transaction, withoutTransaction } from "./transaction.ts";
import type { Scheduler } from "../../../scheduling/scheduler.ts";

keepByteOrderMarks();

/**
 * Idle time after the last write until a checkpoint, even of a small log. Rows that are only in the
 * log are kept in memory uncompressed and without dictionaries, which slows down queries.
 */
const IDLE_MS = 1_000;
/** Smallest log that is worth such a checkpoint. */
const MIN_CHECKPOINT_BYTES = 4_000_000;

const INTERRUPT_AGAIN_MS = 20;

/** How often a read is run again after the file was reopened under it. */
const MAX_READ_REPEATS = 10;

/** Longest time that reads wait for the next write after the file was reopened. */
const REOPEN_PAUSE_MS = 2_000;

/** Longest time that a query waits for a reader. */
const READER_WAIT_MS = 20_000;

/**
 * Effect of a write on events: `adds` some, with ids above all earlier ones; `marks` some, without
 * adding or removing any or changing a time or value; or `anything`.
 */
export type Effect = "adds" | "marks" | "anything";

export type DatabaseOptions = FileOptions & {
  readonly log: Logger;
  readonly scheduler: Scheduler;
  /** Timeout of one read. */
  readonly readTimeout_ms: number;
  /** Longest wait of reads for the next write after the file was reopened. 2 s by default. */
  readonly reopenPause_ms?: number;
};

type RunningRead = { readonly connection: DuckDBConnection; readonly ended: Promise<void> };

/**
 * One open file: a writing connection, used by one caller at a time, and a few reading ones. The
 * file is reopened after an error that DuckDB calls fatal, such as a full disk, as DuckDB then
 * refuses all work; and after a write without memory, as uncommitted rows may then be visible.
 */
export class Database implements AsyncDisposable {
  readonly #options: DatabaseOptions;
  /** null after a permanent failure, until the file could be reopened. */
  #open: OpenFile | null;
  #writing: Promise<unknown> = Promise.resolve();
  /** Number of writes running or queued. */
  #pendingWrites = 0;
  #writeVersion = 0;
  #changeVersion = 0;
  #mutationVersion = 0;
  /** Number of writes of effect `anything` running or queued. */
  #pendingMutations = 0;
  #idleTimer: NodeJS.Timeout | null = null;
  /** New reads wait for it. */
  #pause: Promise<void> | null = null;
  /** Ends the pause that leaves all memory to the next write. */
  #resumeReads: (() => void) | null = null;
  #readCount = 0;
  /** The running reads, by number. */
  readonly #running = new Map<number, RunningRead>();
  readonly #room = new DiskRoom();
  /** The requested reopening, which reads wait for. */
  #reopening: Promise<void> | null = null;
  #closed = false;

  private constructor(options: DatabaseOptions, open: OpenFile) {
    this.#options = options;
    this.#open = open;
  }

  /** @throws StartError that names the file */
  static async open(options: DatabaseOptions): Promise<Database> {
    return new Database(options, await openFile(options));
  }

  get scheduler(): Scheduler {
    return this.#options.scheduler;
  }

  get file(): string {
    return this.#options.file;
  }

  /**
   * Runs `work` on a reading connection. Each query sees the state at its start; queries that must
   * see the same state need a {@link transaction}.
   * @throws LoggiaError `overloaded` if it was interrupted by the timeout or needs too much memory;
   * `too_many_requests` if it waited for other reads of its caller; {@link ClientGone} if the
   * client left
   */
  async read<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    for (let repeats = 0; ;) {
      const number = (this.#readCount += 1);
      const { timesFull } = this.#room;
      try {
        return await this.#read(work, number);
      } catch (error) {
        if (error instanceof LoggiaError) throw error;
        // A failed write has taken the file away from this read, which is not to blame for a full disk.
        const isLost = isFatal(error) || this.#room.timesFull !== timesFull;
        if (isLost && repeats < MAX_READ_REPEATS && timeLeft_ms() > 0) {
          repeats += 1;
          if (isFatal(error)) await this.#requestReopen();
          continue;
        }
        if (!isOutOfMemory(error)) throw error;
        // Reads share one memory: only the earliest is blamed for exhausting it, others wait and
        // run again.
        const earlier = [...this.#running].filter(([other]) => other < number).map(([, { ended }]) => ended);
        if (earlier.length === 0 || timeLeft_ms() <= 0) throw tooLarge(error);
        await Promise.all(earlier);
      }
    }
  }

  async #read<T>(work: (connection: DuckDBConnection) => Promise<T>, number: number): Promise<T> {
    const caller = currentCaller();
    const gone = callerGone();
    const { open, connection } = await this.#takeReader(caller, gone);
    const readTimeout_ms = Math.max(0, Math.min(this.#options.readTimeout_ms, timeLeft_ms()));
    const ended = Promise.withResolvers<void>();
    this.#running.set(number, { connection, ended: ended.promise });
    let isInterrupted = false;
    let isFailed = false;
    // DuckDB loses an interruption between two statements, so it is repeated until it takes effect.
    const interrupt = (): void => {
      isInterrupted = true;
      connection.interrupt();
      clearTimeout(timer);
      timer = setTimeout(interrupt, INTERRUPT_AGAIN_MS);
    };
    let timer = setTimeout(interrupt, readTimeout_ms);
    gone?.addEventListener("abort", interrupt, { once: true });
    try {
      return await work(connection);
    } catch (error) {
      isFailed = true;
      if (!isInterrupted) throw error;
      throw gone?.aborted === true ? new ClientGone() : new QueryTooSlow(readTimeout_ms, error);
    } finally {
      clearTimeout(timer);
      gone?.removeEventListener("abort", interrupt);
      // An interruption or a lack of memory at the end of a transaction leaves it open.
      const next = isInterrupted || isFailed ? await withoutTransaction(connection, open.instance) : connection;
      this.#running.delete(number);
      ended.resolve();
      open.readers.give(next, caller);
    }
  }

  async #takeReader(
    caller: string | undefined,
    gone: AbortSignal | undefined,
  ): Promise<{ open: OpenFile; connection: DuckDBConnection }> {
    for (;;) {
      while (this.#pause !== null) await this.#pause;
      if (this.#closed) throw new Error(`The store ${this.file} is closed`);
      const open = this.#open;
      if (open === null) {
        await this.#requestReopen();
        if (this.#open === null) throw new Error(`The store ${this.file} failed and could not be reopened`);
        continue;
      }
      const longest_ms = caller === undefined ? Infinity : Math.min(READER_WAIT_MS, timeLeft_ms());
      const connection = await open.readers.take(caller, gone, longest_ms);
      if (open === this.#open) return { open, connection };
      // The file was closed meanwhile and is being reopened.
      open.readers.give(connection, caller);
    }
  }

  /** Blocks new reads until the returned function is called. */
  #pauseReads(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pause = promise;
    return () => {
      if (this.#pause === promise) this.#pause = null;
      resolve();
    };
  }

  /** Changes with every write; null while a write is running or queued. */
  get writeVersion(): number | null {
    return this.#pendingWrites > 0 ? null : this.#writeVersion;
  }

  /** Changes before every write whose effect is `marks` or `anything`. */
  get changeVersion(): number {
    return this.#changeVersion;
  }

  /** Changes with every write of effect `anything`; null while one is running or queued. */
  get mutationVersion(): number | null {
    return this.#pendingMutations > 0 ? null : this.#mutationVersion;
  }

  /**
   * Runs `work` on the writing connection, after all earlier writes, in one transaction. If it
   * throws, nothing is written.
   */
  write<T>(work: (connection: DuckDBConnection) => Promise<T>, effect: Effect = "anything"): Promise<T> {
    if (this.#closed) return Promise.reject(new Error(`The store ${this.file} is closed`));
    if (effect !== "adds") this.#changeVersion += 1;
    const turn = this.#inTurn(() => this.#write(work));
    if (effect === "anything") {
      this.#mutationVersion += 1;
      this.#pendingMutations += 1;
      void turn.catch(() => undefined).finally(() => (this.#pendingMutations -= 1));
    }
    // After a failed write, as on a full disk, a checkpoint would fail too.
    void turn.then(
      () => this.#checkpointWhenIdle(),
      () => undefined,
    );
    return turn;
  }

  /** Runs `work` on the writing connection, in turn, outside of a transaction, for checkpoints. */
  maintain<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new Error(`The store ${this.file} is closed`));
    this.#changeVersion += 1;
    return this.#inTurn(async () => {
      this.#open ??= await openFile(this.#options);
      return work(this.#open.writer);
    });
  }

  /** Runs `work` after all earlier users of the writing connection. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#writing.then(work);
    // Earlier writes yield between their steps; a waiting write shortens these pauses.
    if (this.#pendingWrites > 0) this.scheduler.prioritizeUntil(turn);
    this.#pendingWrites += 1;
    this.#writeVersion += 1;
    this.#writing = turn.catch(() => undefined).finally(() => (this.#pendingWrites -= 1));
    return turn;
  }

  #checkpointWhenIdle(): void {
    if (this.#idleTimer !== null) {
      this.#idleTimer.refresh();
      return;
    }
    this.#idleTimer = setTimeout(() => {
      this.#idleTimer = null;
      if (!this.#closed) void this.#inTurn(() => this.#checkpointLog());
    }, IDLE_MS).unref();
  }

  /**
   * Checkpoints a large enough log. It is postponed while reads run, and blocks new ones: a query
   * may exhaust the memory that a checkpoint needs, which is a fatal error for DuckDB.
   */
  async #checkpointLog(): Promise<void> {
    if (this.#open === null) return;
    const { path } = this.#open;
    const log = await stat(`${path}.wal`).catch(() => null);
    if (log === null || log.size < MIN_CHECKPOINT_BYTES || !(await hasRoom(path, log.size))) return;
    if (this.#running.size > 0) {
      this.#checkpointWhenIdle();
      return;
    }
    const resume = this.#pauseReads();
    await this.#checkpoint(this.#open);
    resume();
  }

  /** Checkpoints the log, unless running reads prevent it. A fatal failure reopens the file. */
  async #checkpoint(open: OpenFile): Promise<void> {
    try {
      await open.writer.run("checkpoint");
    } catch (error) {
      this.#options.log.debug({ err: error, file: open.path }, "the write-ahead log could not be checkpointed now");
      if (isFatal(error)) await this.#reopen(open, error);
    }
  }

  /**
   * Copies everything committed, with the write-ahead log (`.wal`) if there is one. Writes wait
   * meanwhile, reads do not.
   * @returns the files that it made
   */
  copyTo(file: string): Promise<string[]> {
    if (this.#closed) return Promise.reject(new Error(`The store ${this.file} is closed`));
    return this.#inTurn(() => this.#copyTo(file));
  }

  async #copyTo(file: string): Promise<string[]> {
    this.#open ??= await openFile(this.#options);
    const { path } = this.#open;
    // What a checkpoint could not move into the file is in the log, which is copied as well.
    await this.#checkpoint(this.#open);
    const copied: string[] = [];
    for (const ending of ["", ".wal"]) {
      if (!existsSync(path + ending)) continue;
      await copyFile(path + ending, file + ending);
      copied.push(file + ending);
    }
    return copied;
  }

  async #write<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const { path } = (this.#open ??= await openFile(this.#options));
    await this.#room.check(path);
    const result = await this.#attempt(work);
    this.#room.succeeded();
    return result;
  }

  async #attempt<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const open = (this.#open ??= await openFile(this.#options));
    const resume = this.#resumeReads;
    try {
      return await transaction(open.writer, work);
    } catch (error) {
      if (isFatal(error) || isHalfWritten(error)) await this.#reopen(open, error);
      else open.writer = await withoutTransaction(open.writer, open.instance);
      throw error;
    } finally {
      resume?.();
    }
  }

  /**
   * Reopens the file at once, as readers are waiting. What is only in memory is dropped and read
   * again from the log. Running queries are interrupted and run again. If a write lacked memory, new
   * queries wait until the next one has ended, as they might exhaust the memory again.
   */
  async #reopen(broken: OpenFile, cause: unknown): Promise<void> {
    const { file, log, reopenPause_ms = REOPEN_PAUSE_MS } = this.#options;
    this.#room.failed(cause);
    log.error({ err: cause, file }, "the store failed permanently and is being reopened");
    this.#open = null;
    const resume = this.#pauseReads();
    const interrupting = setInterval(() => {
      for (const { connection } of this.#running.values()) connection.interrupt();
    }, INTERRUPT_AGAIN_MS);
    try {
      await closeFile(broken);
      this.#open = await openFile(this.#options);
      if (this.#room.isFull) return resume();
      // Keeps the process running, as reads wait for it.
      const longest = setTimeout(resume, reopenPause_ms);
      this.#resumeReads = () => {
        clearTimeout(longest);
        resume();
      };
    } catch (error) {
      resume();
      log.error({ err: error, file }, "the store could not be reopened; the next write retries");
    } finally {
      clearInterval(interrupting);
    }
  }

  /** Queues an empty write, which fails as the reader did and so reopens the file. Never rejects. */
  #requestReopen(): Promise<void> {
    this.#reopening ??= this.#inTurn(() => this.#attempt(() => Promise.resolve()))
      .catch(() => undefined)
      .finally(() => (this.#reopening = null));
    return this.#reopening;
  }

  /** Waits for all running work, then checkpoints the log into the file. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    await this.#writing;
    this.#resumeReads?.();
    if (this.#open === null) return;
    try {
      await this.#open.readers.drain();
      await this.#open.writer.run("checkpoint");
    } catch (error) {
      // Nothing is lost: the log is read when the file is opened again.
      this.#options.log.warn({ err: error, file: this.file }, "the store was closed without a checkpoint");
    } finally {
      await closeFile(this.#open);
    }
  }
}
