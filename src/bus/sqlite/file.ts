import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync, type StatementSync } from "node:sqlite";
import { StartError } from "../../errors.ts";
import { TOPICS, type BusRecord, type NewRecord, type Topic } from "../bus.ts";
import { SQLITE, whyNotOpened } from "./errors.ts";
import { packValue, unpackedLength, unpackValue } from "./values.ts";
import { pragma, prepareSchema, TABLE_OF, TAKEN } from "./schema.ts";

/** A clock that is set back by less keeps nothing for long. */
const TO_COME_MS = 3_600_000;
/** Free pages that stay in the file for what comes next: 16 MB. */
const KEPT_PAGES = 4096;
/** Pages that one step gives back: 4 MB. */
const GIVEN_PAGES = 1024;
/** A file that holds no more is written anew in a second or so. */
const REWRITTEN_BYTES = 64 * 1024 * 1024;
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
  readonly dateBack: StatementSync;
  readonly raise: StatementSync;
};

/** What is written at once. */
export type Commit = {
  readonly appends: readonly { readonly topic: Topic; readonly records: readonly NewRecord[] }[];
  readonly acks: readonly { readonly topic: Topic; readonly group: string; readonly next: number }[];
};

/** By `<topic> <group>`. */
export type GroupOffsets = ReadonlyMap<string, number>;

function splitGroup(key: string): [topic: string, group: string] {
  const blank = key.indexOf(" ");
  return [key.slice(0, blank), key.slice(blank + 1)];
}

/** Pages copied at a time, during which nobody writes: 1 MB. */
const COPY_PAGES = 256;
/** A copy that never meets a moment between two commits for so long fails. */
const COPY_BEGINS_MS = 30_000;

/**
 * The file of the embedded bus: a table a topic, whose row id is the offset (from 1, never given
 * twice), and a table of group offsets. WAL with an fsync at each commit, so that commits survive a
 * killed process and a lost power supply.
 *
 * Invariant: the file is locked for as long as it is open. A second process, and a second bus in this one, is refused.
 *
 * Every call blocks; failures are SQLite's own errors, see `errors.ts`.
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

  /** Does all of it, durably, or nothing. @param now_ms when the records are said to be appended */
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
      // A full disk makes SQLite roll back by itself.
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  #insert(topic: Topic, record: NewRecord, appended: number): void {
    const { lastInsertRowid } = this.#topics[topic].insert.run(record.key, packValue(record.value), appended);
    this.#ends[topic] = Number(lastInsertRowid) + 1;
  }

  /** Records from `offset` on: at most `maxRecords`, and more than `maxBytes` only where the first alone is larger. */
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

  /** The offset of the oldest record, or {@link end} where there is none. */
  first(topic: Topic): number {
    return Number(this.#topics[topic].first.get()?.["offset"] ?? this.end(topic));
  }

  /** The offset that the next record will get. */
  end(topic: Topic): number {
    return this.#ends[topic];
  }

  /** The offset from which on records were appended at `time_ms` or later, as far as the clock was never set back. */
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

  /** Makes `offset` the next to be given, where it is larger than what would come. */
  raiseEnd(topic: Topic, offset: number): void {
    if (offset <= this.end(topic)) return;
    this.#transaction(() => {
      this.#topics[topic].raise.run(offset - 1);
      this.#ends[topic] = offset;
    });
  }

  /**
   * Removes the oldest records that lie before `offset` and were appended before `time_ms`, up to
   * the bounds of one step. They go in order, so that a deletion never goes before what it deletes.
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
   * Dates records and notes of a time to come as of now, where the oldest record is one: a clock
   * that was ahead when they were written would keep all that is behind them until then.
   */
  dateBack(topic: Topic, now_ms: number): void {
    this.#taken.unwrite.run(topic, now_ms);
    const { first, dateBack } = this.#topics[topic];
    if (Number(first.get()?.["appended"] ?? 0) > now_ms + TO_COME_MS) dateBack.run(now_ms, now_ms);
  }

  /** Gives space that is free back to the file system, a step's worth. @returns whether there is more */
  giveBack(): boolean {
    const spare = pragma(this.#db, "freelist_count") - KEPT_PAGES;
    if (spare <= 0 || pragma(this.#db, "auto_vacuum") === 0) return false;
    this.#db.exec(`PRAGMA incremental_vacuum(${Math.min(spare, GIVEN_PAGES)})`);
    return spare > GIVEN_PAGES;
  }

  /** Empties the write-ahead log, which still holds what was overwritten in the file. */
  truncateLog(): void {
    this.#db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /**
   * The offset before which every group had acknowledged all at `time_ms`, as far as it was noted;
   * 0: nothing was.
   */
  takenBy(topic: Topic, time_ms: number): number {
    return Number(this.#taken.by.get(topic, time_ms)?.["next"] ?? 0);
  }

  /**
   * Notes what every group has acknowledged now, unless something was noted at `last_ms` or later.
   */
  noteTaken(topic: Topic, next: number, last_ms: number, now_ms: number): void {
    if (Number(this.#taken.latest.get(topic)?.["at"] ?? -Infinity) >= last_ms) return;
    this.#taken.note.run(topic, now_ms, next);
    this.#taken.forget.run(topic, topic, NOTES_KEPT);
  }

  /** What each group will be given next, as it is now. */
  groupOffsets(): GroupOffsets {
    return new Map(this.#offsets);
  }

  /**
   * Copies all that was committed when the copy ends, and meanwhile lets everybody else go on. In
   * the copy, groups stand where `groups` says.
   * @param file is not there, or empty
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
   * Another thread copies, and SQLite refuses it while this one is amid a transaction. Node then
   * waits for its end, but for the first pages, of which it says that they failed with SQLITE_OK,
   * "not an error" (26.10; `BackupJob::AfterThreadPoolWork` takes no page left for all pages done).
   */
  async #copyPages(file: string): Promise<void> {
    const end_ms = performance.now() + COPY_BEGINS_MS;
    for (;;) {
      try {
        await backup(this.#db, file, { rate: COPY_PAGES });
        return;
      } catch (error) {
        if ((error as { errcode?: unknown }).errcode !== SQLITE.OK) throw error;
        if (performance.now() >= end_ms) {
          throw new Error(`the bus was amid a commit at each try for ${COPY_BEGINS_MS / 1000} s`, { cause: error });
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
  // `sqlite_sequence` has no row for a table before its first insert.
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
    dateBack: db.prepare(`UPDATE ${table} SET appended = ? WHERE appended > ?`),
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
 * Rewrites a file of an earlier release so that it can give space back to the file system. A large
 * one waits for a start at which it is small.
 */
function makeShrinkable(db: DatabaseSync): void {
  const used_bytes = (pragma(db, "page_count") - pragma(db, "freelist_count")) * pragma(db, "page_size");
  if (pragma(db, "auto_vacuum") !== 0 || used_bytes > REWRITTEN_BYTES) return;
  db.exec("PRAGMA auto_vacuum = INCREMENTAL; VACUUM");
}

/**
 * Opens the file, makes it where it is missing, and locks it.
 * @param maxFile_bytes the largest the file may become; 0: as large as the disk allows
 * @throws StartError that says in one line why this file cannot be used
 */
export function openBusFile(file: string, maxFile_bytes: number): BusFile {
  let db: DatabaseSync | null = null;
  try {
    mkdirSync(dirname(file), { recursive: true });
    db = new DatabaseSync(file, { timeout: LOCK_TIMEOUT_MS });
    // Before the journal mode, so that SQLite never shares the file: the lock is held from the first
    // access until close, or until the process dies.
    db.exec("PRAGMA locking_mode = EXCLUSIVE");
    // Of a new file, before anything is written to it.
    db.exec("PRAGMA auto_vacuum = INCREMENTAL");
    // Closing checkpoints the journal away; the limit gives back what one long burst took.
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864");
    // What is removed is overwritten, so that deleted events can't be read from the file any more.
    db.exec("PRAGMA secure_delete = ON");
    db.exec("BEGIN IMMEDIATE");
    prepareSchema(db, file);
    db.exec(TAKEN);
    db.exec("COMMIT");
    makeShrinkable(db);
    if (maxFile_bytes > 0) db.exec(`PRAGMA max_page_count = ${Math.ceil(maxFile_bytes / pragma(db, "page_size"))}`);
    return new BusFile(db);
  } catch (error) {
    db?.close();
    if (error instanceof StartError) throw error;
    throw new StartError(`The bus file ${file} cannot be used: ${whyNotOpened(error)}`, { cause: error });
  }
}
