import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync, type StatementSync } from "node:sqlite";
import { StartError } from "../../errors.ts";
import { TOPICS, type BusDisk, type BusRecord, type NewRecord, type Topic } from "../bus.ts";
import { SQLITE, openFailureReason } from "./errors.ts";
import { packValue, unpackedLength, unpackValue } from "./values.ts";
import { pragma, prepareSchema, TABLE_OF } from "./schema.ts";

/** Records dated further into the future are dated back, since they would block removal. */
const MAX_FUTURE_MS = 3_600_000;
/** Free pages that stay in the file for new records: 16 MB. */
const KEPT_PAGES = 4096;
/** Pages that one step returns to the file system: 4 MB. */
const FREED_PAGES = 1024;
/** A predecessor that is just ending gets this long to release the file. */
const LOCK_TIMEOUT_MS = 1000;

type Row = { offset: number; key: string; value: Uint8Array; appended: number };

type TopicStatements = {
  readonly insert: StatementSync;
  readonly read: StatementSync;
  readonly first: StatementSync;
  readonly at: StatementSync;
  readonly last: StatementSync;
  readonly oldest: StatementSync;
  readonly remove: StatementSync;
  readonly clampFutureTimes: StatementSync;
  readonly raise: StatementSync;
};

/** The content of one transaction. */
export type Commit = {
  readonly appends: readonly { readonly topic: Topic; readonly records: readonly NewRecord[] }[];
  readonly acks: readonly { readonly topic: Topic; readonly group: string; readonly next: number }[];
};

/** The next offset of each group, by `<topic> <group>`. */
export type GroupOffsets = ReadonlyMap<string, number>;

function splitGroup(key: string): [topic: string, group: string] {
  const blank = key.indexOf(" ");
  return [key.slice(0, blank), key.slice(blank + 1)];
}

/** Pages copied per step, 1 MB. Writers wait for a step. */
const COPY_PAGES = 256;
/** A copy fails if each attempt in this time meets an open transaction. */
const COPY_TIMEOUT_MS = 30_000;

/**
 * The file of the embedded bus: a table per topic and a table of group offsets. The row id is the
 * offset; offsets start at 1 and are never reused. WAL with an fsync at each commit, so that
 * commits survive a killed process and a power failure.
 *
 * Invariant: the file is locked while it is open. A second process or a second bus is refused.
 *
 * Every call blocks. Failures are SQLite's own errors, see `errors.ts`.
 */
export class BusFile {
  readonly #db: DatabaseSync;
  readonly #topics: Record<Topic, TopicStatements>;
  readonly #saveOffset: StatementSync;
  readonly #taken: TakenStatements;
  readonly #ends: Record<Topic, number>;
  readonly #offsets = new Map<string, number>();

  /** @param db opened and locked by {@link openBusFile} */
  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#topics = ofEachTopic((topic) => prepareTopic(db, topic));
    this.#saveOffset = db.prepare(
      "INSERT INTO group_offsets (topic, name, next) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET next = excluded.next",
    );
    this.#taken = prepareTaken(db);
    this.#ends = ofEachTopic((topic) => this.#readEnd(topic));
    for (const row of db.prepare("SELECT topic, name, next FROM group_offsets").iterate()) {
      this.#offsets.set(`${String(row["topic"])} ${String(row["name"])}`, Number(row["next"]));
    }
  }

  /** Writes all of it durably, or nothing. @param now_ms the time of append of the records */
  commit({ appends, acks }: Commit, now_ms: number): void {
    this.#transaction(() => {
      for (const { topic, records } of appends) for (const record of records) this.#insert(topic, record, now_ms);
      for (const { topic, group, next } of acks) this.#saveOffset.run(topic, group, next);
    });
    for (const { topic, group, next } of acks) this.#offsets.set(`${topic} ${group}`, next);
  }

  #transaction(work: () => void): void {
    const ends = { ...this.#ends };
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      work();
      this.#db.exec("COMMIT");
    } catch (error) {
      Object.assign(this.#ends, ends);
      // On a full disk SQLite has rolled back already.
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  #insert(topic: Topic, record: NewRecord, appended: number): void {
    const { lastInsertRowid } = this.#topics[topic].insert.run(record.key, packValue(record.value), appended);
    this.#ends[topic] = Number(lastInsertRowid) + 1;
  }

  /** At most `maxRecords` records from `offset` on. Only a single record may exceed `maxBytes`. */
  read(topic: Topic, offset: number, limit: { maxRecords: number; maxBytes: number }): BusRecord[] {
    const records: BusRecord[] = [];
    let size_bytes = 0;
    for (const row of this.#topics[topic].read.iterate(offset, limit.maxRecords)) {
      const { key, value } = row as Row;
      size_bytes += key.length + unpackedLength(value);
      if (records.length > 0 && size_bytes > limit.maxBytes) break;
      records.push(toRecord(topic, row as Row));
    }
    return records;
  }

  /** The offset of the oldest record, or {@link end} if there is none. */
  first(topic: Topic): number {
    return Number(this.#topics[topic].first.get()?.["offset"] ?? this.end(topic));
  }

  /** The offset of the next record. */
  end(topic: Topic): number {
    return this.#ends[topic];
  }

  /** The offset of the first record appended from `time_ms` on, if the clock never went back. */
  offsetAt(topic: Topic, time_ms: number): number {
    let low = this.first(topic);
    let high = this.end(topic);
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const row = this.#topics[topic].at.get(middle);
      if (row === undefined || Number(row["appended"]) >= time_ms) high = middle;
      else low = Number(row["offset"]) + 1;
    }
    return low;
  }

  last(topic: Topic): BusRecord | null {
    const row = this.#topics[topic].last.get();
    return row === undefined ? null : toRecord(topic, row as Row);
  }

  /** Raises the next offset to `offset`; a smaller one changes nothing. */
  raiseEnd(topic: Topic, offset: number): void {
    if (offset <= this.end(topic)) return;
    this.#transaction(() => {
      this.#topics[topic].raise.run(offset - 1);
      this.#ends[topic] = offset;
    });
  }

  /**
   * Removes the oldest records before `offset` that were appended before `time_ms`, up to the
   * bounds of one step. Records go in order, so that a deletion never goes before what it deletes.
   * The last record always stays.
   */
  remove(
    topic: Topic,
    before: { offset: number; time_ms: number },
    limit: { records: number; bytes: number },
  ): { removed: number; isMore: boolean } {
    const { oldest, remove } = this.#topics[topic];
    const last = Math.min(before.offset, this.end(topic) - 1);
    let end = 0;
    let records = 0;
    let bytes = 0;
    for (const row of oldest.iterate(limit.records)) {
      if (Number(row["offset"]) >= last || Number(row["appended"]) >= before.time_ms) break;
      end = Number(row["offset"]) + 1;
      records += 1;
      bytes += Number(row["bytes"]);
      if (bytes >= limit.bytes) break;
    }
    if (records > 0) remove.run(end);
    return { removed: records, isMore: records === limit.records || bytes >= limit.bytes };
  }

  /**
   * Sets the time of records and notes from the future to now, if the oldest record is one. Written
   * by a clock that was ahead, they would block the removal of all records behind them.
   */
  clampFutureTimes(topic: Topic, now_ms: number): void {
    this.#taken.unwrite.run(topic, now_ms);
    const { first, clampFutureTimes } = this.#topics[topic];
    if (Number(first.get()?.["appended"] ?? 0) > now_ms + MAX_FUTURE_MS) clampFutureTimes.run(now_ms, now_ms);
  }

  /** Returns one step of free space to the file system. @returns whether there is more */
  freePages(): boolean {
    const spare = pragma(this.#db, "freelist_count") - KEPT_PAGES;
    if (spare <= 0 || pragma(this.#db, "auto_vacuum") === 0) return false;
    this.#db.exec(`PRAGMA incremental_vacuum(${Math.min(spare, FREED_PAGES)})`);
    return spare > FREED_PAGES;
  }

  /** Counts pages, also those of which the write-ahead log alone holds the latest version. */
  disk(): BusDisk {
    const [size_bytes, free] = [pragma(this.#db, "page_size"), pragma(this.#db, "freelist_count")];
    const oldest = this.#topics.events.first.get()?.["appended"];
    return {
      used_bytes: (pragma(this.#db, "page_count") - free) * size_bytes,
      free_bytes: free * size_bytes,
      oldest: oldest === undefined ? null : Number(oldest),
    };
  }

  /** Empties the write-ahead log, which still holds the bytes of removed records. */
  truncateLog(): void {
    this.#db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /**
   * The offset before which every group had acknowledged all records at `time_ms`, by the notes of
   * {@link noteAcknowledged}; 0 without a note.
   */
  acknowledgedAt(topic: Topic, time_ms: number): number {
    return Number(this.#taken.by.get(topic, time_ms)?.["next"] ?? 0);
  }

  /**
   * Notes that every group has acknowledged all records before `next`, unless there is a note from
   * `last_ms` or later.
   */
  noteAcknowledged(topic: Topic, next: number, last_ms: number, now_ms: number): void {
    if (Number(this.#taken.latest.get(topic)?.["at"] ?? -Infinity) >= last_ms) return;
    this.#taken.note.run(topic, now_ms, next);
    this.#taken.forget.run(topic, topic, NOTES_KEPT);
  }

  /** A copy of the next offset of each group. */
  groupOffsets(): GroupOffsets {
    return new Map(this.#offsets);
  }

  /**
   * Copies everything committed when the copy ends, while reads and commits continue. `groups`
   * replaces the group offsets of the copy.
   * @param file missing or empty
   */
  async copyTo(file: string, groups: GroupOffsets): Promise<void> {
    await this.#copyPages(file);
    const copy = new DatabaseSync(file);
    try {
      copy.exec("BEGIN; DELETE FROM group_offsets");
      const insert = copy.prepare("INSERT INTO group_offsets (topic, name, next) VALUES (?, ?, ?)");
      for (const [key, next] of groups) insert.run(...splitGroup(key), next);
      copy.exec("COMMIT");
    } finally {
      copy.close();
    }
  }

  /**
   * Node copies on another thread, which SQLite refuses during a transaction of this one. Node
   * retries, except for the first pages: these fail with SQLITE_OK, "not an error" (Node 26.10,
   * `BackupJob::AfterThreadPoolWork` takes zero remaining pages for completion).
   */
  async #copyPages(file: string): Promise<void> {
    const end_ms = performance.now() + COPY_TIMEOUT_MS;
    for (;;) {
      try {
        await backup(this.#db, file, { rate: COPY_PAGES });
        return;
      } catch (error) {
        if ((error as { errcode?: unknown }).errcode !== SQLITE.OK) throw error;
        if (performance.now() >= end_ms) {
          throw new Error(`each attempt to copy the bus within ${COPY_TIMEOUT_MS / 1000} s met an open transaction`, {
            cause: error,
          });
        }
      }
    }
  }

  check(): void {
    this.#db.prepare("SELECT count(*) FROM group_offsets").get();
  }

  close(): void {
    this.#db.close();
  }

  #readEnd(topic: Topic): number {
    const row = this.#db.prepare("SELECT seq FROM sqlite_sequence WHERE name = ?").get(TABLE_OF[topic]);
    return Number(row?.["seq"] ?? 0) + 1;
  }
}

type TakenStatements = Readonly<Record<"by" | "latest" | "note" | "forget" | "unwrite", StatementSync>>;
const NOTES_KEPT = 100;

function prepareTaken(db: DatabaseSync): TakenStatements {
  return {
    by: db.prepare("SELECT max(next) AS next FROM taken WHERE topic = ? AND at <= ?"),
    latest: db.prepare("SELECT max(at) AS at FROM taken WHERE topic = ?"),
    unwrite: db.prepare("DELETE FROM taken WHERE topic = ? AND at > ?"),
    note: db.prepare("INSERT INTO taken (topic, at, next) VALUES (?, ?, ?)"),
    forget: db.prepare(
      "DELETE FROM taken WHERE topic = ? " +
        "AND at < (SELECT at FROM taken WHERE topic = ? ORDER BY at DESC LIMIT 1 OFFSET ?)",
    ),
  };
}

export function ofEachTopic<T>(make: (topic: Topic) => T): Record<Topic, T> {
  return Object.fromEntries(TOPICS.map((topic) => [topic, make(topic)])) as Record<Topic, T>;
}

function prepareTopic(db: DatabaseSync, topic: Topic): TopicStatements {
  const table = TABLE_OF[topic];
  // `sqlite_sequence` has no row for a table until its first insert.
  db.exec(
    `INSERT INTO sqlite_sequence (name, seq) SELECT '${table}', 0
     WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = '${table}')`,
  );
  return {
    insert: db.prepare(`INSERT INTO ${table} (key, value, appended) VALUES (?, ?, ?)`),
    read: db.prepare(`SELECT offset, key, value, appended FROM ${table} WHERE offset >= ? ORDER BY offset LIMIT ?`),
    at: db.prepare(`SELECT offset, appended FROM ${table} WHERE offset >= ? ORDER BY offset LIMIT 1`),
    first: db.prepare(`SELECT offset, appended FROM ${table} ORDER BY offset LIMIT 1`),
    last: db.prepare(`SELECT offset, key, value, appended FROM ${table} ORDER BY offset DESC LIMIT 1`),
    oldest: db.prepare(`SELECT offset, appended, length(value) AS bytes FROM ${table} ORDER BY offset LIMIT ?`),
    remove: db.prepare(`DELETE FROM ${table} WHERE offset < ?`),
    clampFutureTimes: db.prepare(`UPDATE ${table} SET appended = ? WHERE appended > ?`),
    raise: db.prepare(`UPDATE sqlite_sequence SET seq = ? WHERE name = '${table}'`),
  };
}

function toRecord(topic: Topic, row: Row): BusRecord {
  const { offset, key, appended } = row;
  const value = unpackValue(row.value);
  return {
    key,
    value: Buffer.from(value.buffer, value.byteOffset, value.byteLength),
    position: { topic, partition: 0, offset },
    appended,
  };
}

/**
 * Opens and locks the file, and creates it if it is missing.
 * @param maxFile_bytes maximum size of the file; 0: limited by the disk alone
 * @throws StartError with the reason why the file cannot be used, in one line
 */
export function openBusFile(file: string, maxFile_bytes: number): BusFile {
  let db: DatabaseSync | null = null;
  try {
    mkdirSync(dirname(file), { recursive: true });
    db = new DatabaseSync(file, { timeout: LOCK_TIMEOUT_MS });
    // Set before the journal mode: the lock is then held from the first access until close or the
    // end of the process.
    db.exec("PRAGMA locking_mode = EXCLUSIVE");
    // Takes effect only before the first write to a new file.
    db.exec("PRAGMA auto_vacuum = INCREMENTAL");
    // The limit shrinks the journal after a long burst. Closing removes it by a checkpoint.
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864");
    // Removed records are overwritten, so that deleted events cannot be read from the file.
    db.exec("PRAGMA secure_delete = ON");
    db.exec("BEGIN IMMEDIATE");
    prepareSchema(db, file);
    db.exec("COMMIT");
    if (maxFile_bytes > 0) db.exec(`PRAGMA max_page_count = ${Math.ceil(maxFile_bytes / pragma(db, "page_size"))}`);
    return new BusFile(db);
  } catch (error) {
    db?.close();
    if (error instanceof StartError) throw error;
    throw new StartError(`The bus file ${file} cannot be used: ${openFailureReason(error)}`, { cause: error });
  }
}
