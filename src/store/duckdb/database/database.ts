import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { Logger } from "pino";

import { asker, askerGone, askerLeft_ms } from "../../../asker.ts";
import { ClientGone } from "../../../errors.ts";
import { hurryUntil } from "../../../scheduling/cooperative.ts";
import { isFatal, isHalfWritten, isOutOfMemory, isWithoutTransaction, tooLarge, tooSlow } from "./errors.ts";
import { closeFile, copyFile, openFile } from "./file.ts";
import type { FileOptions, OpenFile } from "./file.ts";
import { keepByteOrderMarks } from "./text-decoder.ts";

keepByteOrderMarks();

/**
 * Once nothing was written for so long, it is folded in although it is smaller: rows that only the
 * log has lie in memory as they came, neither compressed nor with repeated texts kept once, and a
 * question for a tag takes twice as long.
 */
const QUIET_MS = 1_000;
/** Not for less. */
const QUIET_LEAST_BYTES = 4_000_000;

const INTERRUPT_AGAIN_MS = 20;

/** How long reads wait for the next write after the file was opened anew. */
const WRITE_FIRST_MS = 2_000;

/** How long a question waits for a reader. */
const WAIT_MS = 20_000;

/**
 * What a write may do to events: `adds` some, whose ids are greater than those of all before;
 * `marks` them, so that none comes, goes, or has another time or value; or `anything`.
 */
export type Effect = "adds" | "marks" | "anything";

export type DatabaseOptions = FileOptions & {
  readonly log: Logger;
  /** How long one piece of reading may take. */
  readonly readTimeout_ms: number;
};

type Reading = { readonly connection: DuckDBConnection; readonly ended: Promise<void> };

/**
 * One open file: a connection that writes, one user at a time, and a few that read beside it. After
 * an error that DuckDB calls fatal (a full disk at the wrong moment) it refuses all further work,
 * and after a write without memory it may show rows that were never committed: then the file is
 * opened anew.
 */
export class Database implements AsyncDisposable {
  readonly #options: DatabaseOptions;
  /** null after a failure for good, until the file could be opened anew. */
  #open: OpenFile | null;
  #writing: Promise<unknown> = Promise.resolve();
  /** Those who write, and wait to. */
  #inLine = 0;
  #turns = 0;
  #changes = 0;
  #rewrites = 0;
  /** Those that do `anything`, and wait to. */
  #rewriting = 0;
  #quiet: NodeJS.Timeout | null = null;
  /** Reads that have not begun wait for it. */
  #pause: Promise<void> | null = null;
  /** Ends the pause in which the next write has the memory to itself. */
  #afterWrite: (() => void) | null = null;
  #readings = 0;
  /** What is read now, by its number. */
  readonly #reading = new Map<number, Reading>();
  #closed = false;

  private constructor(options: DatabaseOptions, open: OpenFile) {
    this.#options = options;
    this.#open = open;
  }

  /** @throws StartError that names the file */
  static async open(options: DatabaseOptions): Promise<Database> {
    return new Database(options, await openFile(options));
  }

  get file(): string {
    return this.#options.file;
  }

  /**
   * Runs `work` on a reading connection. Each of its questions sees the state of when it is asked;
   * those that have to see the same one ask in a {@link transaction}.
   * @throws LoggiaError `overloaded` where it took too long, and was interrupted, or needs too much
   * memory; `too_many_requests` where its caller's others hold it up; {@link ClientGone} where its
   * client left
   */
  async read<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    for (;;) {
      const number = (this.#readings += 1);
      try {
        return await this.#read(work, number);
      } catch (error) {
        if (!isOutOfMemory(error)) throw error;
        // All share one memory, so that of those that read the one that began first is taken for what fills it.
        const earlier = [...this.#reading].filter(([other]) => other < number).map(([, { ended }]) => ended);
        if (earlier.length === 0 || askerLeft_ms() <= 0) throw tooLarge(error);
        await Promise.all(earlier);
      }
    }
  }

  async #read<T>(work: (connection: DuckDBConnection) => Promise<T>, number: number): Promise<T> {
    const caller = asker();
    const gone = askerGone();
    const { open, connection } = await this.#takeReader(caller, gone);
    const readTimeout_ms = Math.max(0, Math.min(this.#options.readTimeout_ms, askerLeft_ms()));
    const ended = Promise.withResolvers<void>();
    this.#reading.set(number, { connection, ended: ended.promise });
    let isInterrupted = false;
    let isFailed = false;
    // An interruption between two statements is lost: it is said until it is heard.
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
      if (isFatal(error)) this.#mend();
      if (!isInterrupted) throw error;
      throw gone?.aborted === true ? new ClientGone() : tooSlow(readTimeout_ms, error);
    } finally {
      clearTimeout(timer);
      gone?.removeEventListener("abort", interrupt);
      // Where an interruption, or a lack of memory, met the end of a transaction, that is still there.
      const next = isInterrupted || isFailed ? await withoutTransaction(connection, open.instance) : connection;
      this.#reading.delete(number);
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
        this.#mend();
        throw new Error(`The store ${this.file} failed and is being opened anew`);
      }
      const longest_ms = caller === undefined ? Infinity : Math.min(WAIT_MS, askerLeft_ms());
      const connection = await open.readers.take(caller, gone, longest_ms);
      if (open === this.#open) return { open, connection };
      // The file was closed meanwhile, and is opened anew.
      open.readers.give(connection, caller);
    }
  }

  /** Lets no read begin until the returned function is called. */
  #pauseReads(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pause = promise;
    return () => {
      if (this.#pause === promise) this.#pause = null;
      resolve();
    };
  }

  /**
   * A number that stays the same while nothing is written; null while something is, or waits to be.
   */
  get stillness(): number | null {
    return this.#inLine > 0 ? null : this.#turns;
  }

  /**
   * Raised before anything is written that may do more than add rows whose ids are greater than all
   * there are.
   */
  get changes(): number {
    return this.#changes;
  }

  /**
   * A number that stays the same while events only come whose ids are greater than those of all
   * before; null while it may be otherwise.
   */
  get settled(): number | null {
    return this.#rewriting > 0 ? null : this.#rewrites;
  }

  /**
   * Runs `work` on the writing connection, after all writes asked for before, in one transaction:
   * when it throws, nothing was written.
   */
  write<T>(work: (connection: DuckDBConnection) => Promise<T>, does: Effect = "anything"): Promise<T> {
    if (this.#closed) return Promise.reject(new Error(`The store ${this.file} is closed`));
    if (does !== "adds") this.#changes += 1;
    const turn = this.#inTurn(() => this.#write(work));
    if (does === "anything") {
      this.#rewrites += 1;
      this.#rewriting += 1;
      void turn.catch(() => undefined).finally(() => (this.#rewriting -= 1));
    }
    this.#foldWhenQuiet();
    return turn;
  }

  /**
   * Runs `work` on the writing connection in its turn and outside of a transaction, as a checkpoint
   * needs it.
   */
  maintain<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new Error(`The store ${this.file} is closed`));
    this.#changes += 1;
    return this.#inTurn(async () => {
      this.#open ??= await openFile(this.#options);
      return work(this.#open.writer);
    });
  }

  /** After all that was to use the writing connection before. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#writing.then(work);
    // Those before are written in pieces, and each waits for this thread's other work.
    if (this.#inLine > 0) hurryUntil(turn);
    this.#inLine += 1;
    this.#turns += 1;
    this.#writing = turn.catch(() => undefined).finally(() => (this.#inLine -= 1));
    return turn;
  }

  #foldWhenQuiet(): void {
    if (this.#quiet !== null) {
      this.#quiet.refresh();
      return;
    }
    this.#quiet = setTimeout(() => {
      this.#quiet = null;
      if (!this.#closed) void this.#inTurn(() => this.#foldLog());
    }, QUIET_MS).unref();
  }

  /**
   * While somebody reads it is put off, and who comes meanwhile waits: a question may fill the memory that folding
   * needs, which is an error that DuckDB calls fatal.
   */
  async #foldLog(): Promise<void> {
    if (this.#open === null) return;
    const { path, writer } = this.#open;
    const log = await stat(`${path}.wal`).catch(() => null);
    if (log === null || log.size < QUIET_LEAST_BYTES) return;
    if (this.#reading.size > 0) {
      this.#foldWhenQuiet();
      return;
    }
    const resume = this.#pauseReads();
    await this.#checkpoint(path, writer);
    resume();
  }

  async #checkpoint(path: string, writer: DuckDBConnection): Promise<void> {
    await writer.run("checkpoint").catch((error: unknown) => {
      this.#options.log.debug({ err: error, file: path }, "the log of changes could not be folded in now");
    });
  }

  /**
   * Copies all that was committed, with the log of changes (`.wal`) where there is one. Writing
   * waits meanwhile, reading does not.
   * @returns the files that it made
   */
  copyTo(file: string): Promise<string[]> {
    if (this.#closed) return Promise.reject(new Error(`The store ${this.file} is closed`));
    return this.#inTurn(() => this.#copyTo(file));
  }

  async #copyTo(file: string): Promise<string[]> {
    this.#open ??= await openFile(this.#options);
    const { path, writer } = this.#open;
    // Where somebody reads, DuckDB may not be able to fold the log of changes in; then it is copied as well.
    await writer.run("checkpoint").catch(() => undefined);
    const copied: string[] = [];
    for (const ending of ["", ".wal"]) {
      if (!existsSync(path + ending)) continue;
      await copyFile(path + ending, file + ending);
      copied.push(file + ending);
    }
    return copied;
  }

  async #write<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const open = (this.#open ??= await openFile(this.#options));
    const resume = this.#afterWrite;
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
   * Opens the file anew at once, not with the next write: readers are waiting. What is in memory
   * alone is dropped, and read again from the log of changes. Questions under way are interrupted.
   * Others wait until the next write has ended: they might fill the memory that it lacked, again
   * and again.
   */
  async #reopen(broken: OpenFile, cause: unknown): Promise<void> {
    const { file, log } = this.#options;
    log.error({ err: cause, file }, "the store failed for good and is opened anew");
    this.#open = null;
    const resume = this.#pauseReads();
    const interrupting = setInterval(() => {
      for (const { connection } of this.#reading.values()) connection.interrupt();
    }, INTERRUPT_AGAIN_MS);
    try {
      await closeFile(broken);
      this.#open = await openFile(this.#options);
      this.#afterWrite = resume;
      setTimeout(resume, WRITE_FIRST_MS).unref();
    } catch (error) {
      resume();
      log.error({ err: error, file }, "the store could not be opened anew; the next write tries again");
    } finally {
      clearInterval(interrupting);
    }
  }

  /** An empty write meets what a reader met, and has the file opened anew. */
  #mend(): void {
    this.write(() => Promise.resolve()).catch(() => undefined);
  }

  /** Lets all work in flight end, then folds the log of changes into the file. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#quiet !== null) clearTimeout(this.#quiet);
    await this.#writing;
    this.#afterWrite?.();
    if (this.#open === null) return;
    try {
      await this.#open.readers.drain();
      await this.#open.writer.run("checkpoint");
    } catch (error) {
      // Nothing is lost: the next opening reads the log of changes.
      this.#options.log.warn({ err: error, file: this.file }, "the store was closed without a checkpoint");
    } finally {
      await closeFile(this.#open);
    }
  }
}

/**
 * A connection after an error, outside of any transaction. Without memory a rollback fails too, and
 * the transaction would stay: then it is another connection, and closing the first ends it. Where
 * the instance has failed or was closed there is no other; the file is opened anew. Never throws.
 */
async function withoutTransaction(connection: DuckDBConnection, instance: DuckDBInstance): Promise<DuckDBConnection> {
  try {
    await connection.run("rollback");
  } catch (error) {
    if (isWithoutTransaction(error) || isFatal(error)) return connection;
    const other = await instance.connect().catch(() => null);
    if (other === null) return connection;
    connection.closeSync();
    return other;
  }
  return connection;
}

/** Runs `work` in one transaction, which is undone where it throws. */
export async function transaction<T>(
  connection: DuckDBConnection,
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  await connection.run("begin");
  let result: T;
  try {
    result = await work(connection);
    await connection.run("commit");
  } catch (error) {
    // A commit that failed has ended the transaction by itself: there is nothing to roll back, and no news in that.
    await connection.run("rollback").catch(() => undefined);
    throw error;
  }
  return result;
}
