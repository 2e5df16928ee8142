import { createHash, randomUUID } from "node:crypto";
import { chmodSync, closeSync, constants, fchmodSync, fstatSync, mkdirSync, openSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { CommandError } from "../request.ts";

/** A batch as it was sent, without a response yet. `key` is its Idempotency-Key. */
export type PendingBatch = {
  readonly key: string;
  readonly isZipped: boolean;
  readonly body: Buffer;
};

/** How far a source was read. `mark` is written by its reader and stored as JSON. */
export type ShipPosition = { readonly source: string; readonly id: number; readonly mark: object };

type MarkRow = { readonly id: number; readonly mark: string };
type PendingRow = { readonly key: string; readonly zipped: number; readonly body: Uint8Array };

const FILE_NAME = "positions.db";
const LAYOUT = `
  CREATE TABLE IF NOT EXISTS target (name TEXT PRIMARY KEY) STRICT;
  CREATE TABLE IF NOT EXISTS marks (id INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL, mark TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS marks_by_source ON marks (source);
  CREATE TABLE IF NOT EXISTS pending (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, zipped INTEGER NOT NULL, body BLOB NOT NULL
  ) STRICT;
`;

/**
 * State kept between runs in one SQLite file: the position in each source, and the batches without
 * a response.
 *
 * A position and the batch of the lines before it are written in one transaction, before the batch
 * is sent. The next run first sends the stored batches unchanged, with the same idempotency keys.
 * So no line is lost or duplicated, wherever a run stops. The file is locked during a run.
 */
export class ShipState implements Disposable {
  /** Path of the file; null if nothing is kept after the run. */
  readonly file: string | null;
  readonly #database: DatabaseSync;

  private constructor(database: DatabaseSync, file: string | null) {
    this.#database = database;
    this.file = file;
  }

  /**
   * Opens the state.
   * @param folder folder of the file; null keeps nothing after the run
   * @param target address and log that the positions are valid for
   * @throws CommandError if another run uses the file, or it belongs to another log
   */
  static open(folder: string | null, target: string): ShipState {
    if (folder === null) {
      const database = new DatabaseSync(":memory:");
      database.exec(LAYOUT);
      return new ShipState(database, null);
    }
    const file = join(folder, FILE_NAME);
    let database: DatabaseSync | null = null;
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      makePrivate(folder);
      database = new DatabaseSync(file);
      database.exec(
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN IMMEDIATE",
      );
      database.exec(LAYOUT);
      database.prepare("INSERT INTO target SELECT ? WHERE NOT EXISTS (SELECT 1 FROM target)").run(target);
      const [row] = database.prepare("SELECT name FROM target").all() as { name: string }[];
      database.exec("COMMIT");
      if (row?.name !== target)
        throw new CommandError(`--state ${folder} belongs to ${row?.name}; name another folder for ${target}`);
    } catch (error) {
      database?.close();
      throw stateFault(folder, error);
    }
    return new ShipState(database, file);
  }

  /** Returns the marks of a source, oldest first. */
  marks(source: string): { id: number; mark: unknown }[] {
    const rows = this.#database.prepare("SELECT id, mark FROM marks WHERE source = ? ORDER BY id").all(source);
    return (rows as MarkRow[]).map(({ id, mark }) => ({ id, mark: JSON.parse(mark) as unknown }));
  }

  /** Returns the marks of all sources but one, oldest first. */
  marksBut(source: string): { id: number; source: string; mark: unknown }[] {
    const rows = this.#database.prepare("SELECT id, source, mark FROM marks WHERE source <> ? ORDER BY id").all(source);
    return (rows as (MarkRow & { source: string })[]).map((row) => ({ ...row, mark: JSON.parse(row.mark) as unknown }));
  }

  addMark(source: string, mark: object): number {
    const insert = this.#database.prepare("INSERT INTO marks (source, mark) VALUES (?, ?) RETURNING id");
    const [row] = insert.all(source, JSON.stringify(mark)) as { id: number }[];
    return row!.id;
  }

  /** Changes members of a mark other than its position: see `storeBatch` and `storePositions`. */
  patchMark(id: number, members: object): void {
    this.#database.prepare("UPDATE marks SET mark = json_patch(mark, ?) WHERE id = ?").run(JSON.stringify(members), id);
  }

  removeMark(id: number): void {
    this.#database.prepare("DELETE FROM marks WHERE id = ?").run(id);
  }

  /** Stores a batch before it is sent, and the positions after its lines. */
  storeBatch(body: Buffer, isZipped: boolean, positions: readonly ShipPosition[]): PendingBatch {
    const key = randomUUID();
    this.#inTransaction(() => {
      this.#database
        .prepare("INSERT INTO pending (key, zipped, body) VALUES (?, ?, ?)")
        .run(key, Number(isZipped), body);
      this.#updateMarks(positions);
    });
    return { key, isZipped, body };
  }

  /** Stores positions that need no batch. */
  storePositions(positions: readonly ShipPosition[]): void {
    if (positions.length > 0) this.#inTransaction(() => this.#updateMarks(positions));
  }

  #updateMarks(positions: readonly ShipPosition[]): void {
    const update = this.#database.prepare("UPDATE marks SET mark = ? WHERE id = ?");
    for (const { id, mark } of positions) update.run(JSON.stringify(mark), id);
  }

  /** Removes a batch that the service has answered. */
  removeBatch(key: string): void {
    this.#database.prepare("DELETE FROM pending WHERE key = ?").run(key);
  }

  /** Yields the batches of earlier runs that have no response. */
  *pending(): Generator<PendingBatch> {
    const next = this.#database.prepare("SELECT id, key, zipped, body FROM pending WHERE id > ? ORDER BY id LIMIT 1");
    for (let after = 0; ;) {
      const [row] = next.all(after) as (PendingRow & { id: number })[];
      if (row === undefined) return;
      after = row.id;
      yield { key: row.key, isZipped: row.zipped === 1, body: Buffer.from(row.body) };
    }
  }

  #inTransaction(work: () => void): void {
    this.#database.exec("BEGIN");
    try {
      work();
      this.#database.exec("COMMIT");
    } catch (error) {
      this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}

/**
 * Lets only this user read the state, which holds lines of files that others may not read. The
 * folder too, if it holds nothing else.
 * @throws CommandError if another user put the file there
 */
function makePrivate(folder: string): void {
  const names = readdirSync(folder);
  for (const name of new Set([FILE_NAME, ...names.filter(isOwnName)])) {
    const file = join(folder, name);
    const descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0), 0o600);
    try {
      const { uid } = fstatSync(descriptor);
      if (uid !== (process.geteuid?.() ?? uid)) {
        throw new CommandError(`${file} belongs to another user; name another folder with --state`);
      }
      fchmodSync(descriptor, 0o600);
    } finally {
      closeSync(descriptor);
    }
  }
  if (names.every(isOwnName)) chmodSync(folder, 0o700);
}

function isOwnName(name: string): boolean {
  return name === FILE_NAME || /^positions\.db-(?:wal|shm|journal)$/.test(name);
}

function stateFault(folder: string, error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  const { message, errcode } = error as Error & { errcode?: number };
  const SQLITE_BUSY = 5;
  if (errcode === SQLITE_BUSY)
    return new CommandError(`Another loggia ship uses ${folder}; name another folder with --state`);
  return new CommandError(
    `Positions can't be stored in ${folder}: ${message}; name a folder with --state, or store none with --state none`,
  );
}

/** Returns the state folder of a command. The same service, log and files give the same folder. */
export function stateFolder(
  given: string | undefined,
  target: string,
  what: readonly string[],
  environment: NodeJS.ProcessEnv,
): string | null {
  if (given === "none") return null;
  if (given !== undefined) return resolve(given);
  const home = environment["XDG_STATE_HOME"];
  const base = home !== undefined && home.startsWith("/") ? home : join(homedir(), ".local", "state");
  const name = createHash("sha256")
    .update(JSON.stringify([target, ...what.toSorted()]))
    .digest("hex")
    .slice(0, 16);
  return join(base, "loggia", "ship", name);
}
