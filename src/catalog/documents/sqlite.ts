import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { setImmediate as turn } from "node:timers/promises";

import { LoggiaError, StartError } from "../../errors.ts";
import type { Body, DocumentCursor, Document, Documents, Version, WriteResult } from "./documents.ts";
import { Scheduler } from "../../scheduling/scheduler.ts";

const LAYOUT_VERSION = 1;

/**
 * Versions form one rising sequence over all documents, so the feed is a range query. A removed
 * document keeps its row without a body.
 */
const LAYOUT = `
  CREATE TABLE documents (
    id TEXT PRIMARY KEY,
    version INTEGER NOT NULL UNIQUE,
    body TEXT
  ) STRICT;
  PRAGMA user_version = ${LAYOUT_VERSION};
`;

const NEXT_VERSION = "(SELECT coalesce(max(version), 0) + 1 FROM documents)";

/** How long a write waits for another process's write, in milliseconds. */
const BUSY_TIMEOUT_MS = 5000;
/** Size that the WAL shrinks to after a checkpoint, if a long read had made it grow. */
const WAL_LIMIT_BYTES = 4 * 1024 * 1024;
const TRUNCATE_MS = 3_600_000;
/** Documents deleted per transaction of `forget`, which blocks the thread. */
const FORGET_STEP = 1000;
/** Documents per read of `changes`. */
const CHANGES_STEP = 100;

/** SQLite's result code for a full disk, and how soon a caller may ask whether there is room. */
const SQLITE_FULL = 13;
const FULL_RETRY_S = 5;

type Row = { id: string; version: number; body: string | null };

/**
 * Opens documents in one SQLite file with WAL and an fsync per commit. Several processes may share
 * the file, such as a server and its command line.
 *
 * @param options.name name of the collection in messages (catalog)
 * @param options.pause awaited before each write, which blocks the thread until the disk has it
 * (none)
 * @param options.truncateEvery_ms interval at which the WAL is truncated, so that removed data
 * leaves the disk (1 h)
 * @param options.scheduler shares the thread with requests (one of its own)
 * @throws StartError if the file cannot be opened, is another kind of database, or has the layout
 * of a later release
 */
export async function openSqliteDocuments(options: {
  file: string;
  name?: string;
  truncateEvery_ms?: number;
  pause?: () => Promise<void>;
  scheduler?: Scheduler;
}): Promise<Documents> {
  const { pause, scheduler = new Scheduler() } = options;
  const what = `The ${options.name ?? "catalog"} ${options.file}`;
  const database = open(options.file, what);
  const insert = database.prepare(
    `INSERT INTO documents (id, version, body) VALUES (?, ${NEXT_VERSION}, ?)
     ON CONFLICT (id) DO UPDATE SET version = excluded.version, body = excluded.body WHERE documents.body IS NULL
     RETURNING version`,
  );
  const update = database.prepare(
    `UPDATE documents SET version = ${NEXT_VERSION}, body = ?
     WHERE id = ? AND version = ? AND body IS NOT NULL
     RETURNING version`,
  );
  const select = database.prepare("SELECT id, version, body FROM documents WHERE id = ?");
  const page = (live: string): StatementSync =>
    database.prepare(
      `SELECT id, version, body FROM documents WHERE version > ? ${live} ORDER BY version LIMIT ${CHANGES_STEP}`,
    );
  const selectLive = page("AND body IS NOT NULL");
  const selectSince = page("");
  const selectLast = database.prepare("SELECT coalesce(max(version), 0) AS version FROM documents");

  // Keeps the row with the largest version, as the next version is derived from it.
  const drop = database.prepare(
    `DELETE FROM documents WHERE id IN (SELECT id FROM documents
       WHERE version <= ? AND version < (SELECT max(version) FROM documents) ORDER BY version LIMIT ${FORGET_STEP})`,
  );

  const truncating = setInterval(() => truncate(database), options.truncateEvery_ms ?? TRUNCATE_MS).unref();

  const run = <T>(work: () => T): Promise<T> => {
    try {
      return Promise.resolve(work());
    } catch (error) {
      return Promise.reject(unavailable(what, error));
    }
  };
  // Writes are queued one by one, so that a burst of writes leaves the thread time for other work.
  let previous: Promise<unknown> = Promise.resolve();
  const runPaced = <T>(work: () => T): Promise<T> => {
    if (pause === undefined) return run(work);
    const done = previous.then(pause).then(() => run(work));
    previous = done.catch(() => {});
    return done;
  };
  const write = (id: string, body: Body | null, expected: Version): Promise<WriteResult> =>
    runPaced(() => written(update.all(body === null ? null : JSON.stringify(body), id, numberOf(expected))));

  return {
    create: (id, body) => runPaced(() => written(insert.all(id, JSON.stringify(body)))),
    replace: write,
    remove: (id, expected) => write(id, null, expected),
    read: (id) =>
      run(() => {
        const row = select.get(id) as Row | undefined;
        return row === undefined ? null : documentOf(row);
      }),
    async changes(since) {
      const select = since === null ? selectLive : selectSince;
      // The end is read first, so the next call also returns changes made during the reading.
      const newest = new Map<string, Document>();
      const last = await run(() => (selectLast.get() as { version: number }).version);
      for (let after = Number(since ?? 0); ; await scheduler.yieldToRequests()) {
        const rows = await run(() => select.all(after) as Row[]);
        for (const row of rows) {
          newest.delete(row.id);
          newest.set(row.id, documentOf(row));
        }
        after = rows.at(-1)?.version ?? after;
        if (rows.length < CHANGES_STEP)
          return { documents: [...newest.values()], cursor: String(last) as DocumentCursor };
      }
    },
    async forget(upTo) {
      for (let forgotten = 0; ; await turn()) {
        const { changes } = await run(() => drop.run(Number(upTo)));
        forgotten += Number(changes);
        if (Number(changes) < FORGET_STEP) return forgotten;
      }
    },
    ping: () => run(() => void selectLast.get()),
    async [Symbol.asyncDispose]() {
      clearInterval(truncating);
      if (database.isOpen) database.close();
    },
  };
}

function open(file: string, what: string): DatabaseSync {
  let database: DatabaseSync | null = null;
  try {
    mkdirSync(dirname(file), { recursive: true });
    // The file holds password and key hashes: readable by the operator only. SQLite gives its side
    // files the mode of the main file.
    closeSync(openSync(file, "a", 0o600));
    database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
    // Check the layout before changing anything: it may be another program's file.
    prepareLayout(database, what);
    // Removed data is overwritten: in the file by this pragma, in the WAL by `truncate`.
    database.exec("PRAGMA secure_delete = ON");
    database.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${WAL_LIMIT_BYTES}`,
    );
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof StartError) throw error;
    throw new StartError(`${what} cannot be opened: ${messageOf(error)}`, { cause: error });
  }
}

/** Truncates the WAL. If another process uses the file or the disk fails, the next run retries. */
function truncate(database: DatabaseSync): void {
  try {
    database.exec("PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // The next write reports the error.
  } finally {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }
}

function prepareLayout(database: DatabaseSync, what: string): void {
  // IMMEDIATE: if two processes start at once, one creates the table and the other finds it.
  database.exec("BEGIN IMMEDIATE");
  try {
    const layout = database.prepare("PRAGMA user_version").get()?.["user_version"];
    const tables = database.prepare("SELECT count(*) AS count FROM sqlite_master").get()?.["count"];
    if (layout === 0 && tables === 0) database.exec(LAYOUT);
    else if (layout === 0)
      throw new StartError(
        `${what} cannot be used: it is a database, but not one of Loggia's documents; name another file`,
      );
    else if (layout !== LAYOUT_VERSION) {
      throw new StartError(
        `${what} has layout ${String(layout)}; this release reads layout ${LAYOUT_VERSION}: ` +
          "start the release that wrote it",
      );
    }
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

/**
 * Returns the result of a write from all rows that it returned. A statement must run to completion,
 * which `all` does and `get` does not: SQLite checkpoints the WAL only after such a statement, so
 * with `get` the WAL would grow without bound.
 */
function written([row]: readonly unknown[]): WriteResult {
  if (row === undefined) return { kind: "conflict" };
  return { kind: "done", version: versionOf((row as { version: number }).version) };
}

function documentOf(row: Row): Document {
  return {
    id: row.id,
    version: versionOf(row.version),
    body: row.body === null ? null : (JSON.parse(row.body) as Body),
  };
}

/** Sixteen digits hold every integer that a double represents exactly. */
function versionOf(number: number): Version {
  return String(number).padStart(16, "0") as Version;
}

function numberOf(version: Version): number {
  return Number(version);
}

function unavailable(what: string, error: unknown): LoggiaError {
  if ((error as { errcode?: number }).errcode === SQLITE_FULL) {
    const message = `${what} could not store this: its disk is full`;
    return new LoggiaError("store_unavailable", message, { cause: error, retryAfter_s: FULL_RETRY_S });
  }
  return new LoggiaError("store_unavailable", `${what} cannot be used: ${messageOf(error)}`, { cause: error });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
