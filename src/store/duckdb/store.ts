import type { DuckDBConnection } from "@duckdb/node-api";
import { availableParallelism } from "node:os";
import type { Logger } from "pino";

import { LoggiaError } from "../../errors.ts";
import type { Deletion } from "../../events/deletion.ts";
import type { LogKey, StoredEvent } from "../../events/event.ts";
import type { EventId } from "../../events/id.ts";
import type { Visit } from "../../events/visit.ts";
import type { Position } from "../../bus/bus.ts";
import type { GroupPlan, ListPlan } from "../../query/plan.ts";
import { MAX_LISTED_ATTRIBUTES } from "../store.ts";
import type { Alert, PreparedEvents, Store, WriteOutcome } from "../store.ts";
import { runWithinTime } from "../within-time.ts";
import { AttributeColumns } from "./database/attributes.ts";
import { BlockBuilder } from "./blocks/block-builder.ts";
import { BlockIndex } from "./blocks/block-index.ts";
import type { Block, BlockOptions } from "./blocks/block-index.ts";
import { NoBlocks } from "./blocks/no-blocks.ts";
import { TokenListPool } from "./blocks/token-list.ts";
import { ChunkPool } from "./write/chunks.ts";
import { Database } from "./database/database.ts";
import type { Effect } from "./database/database.ts";
import { isDiskFull, isHalfWritten, noRoom, QueryTooSlow, startError } from "./database/errors.ts";
import { ColumnStatistics } from "./memory/column-statistics.ts";
import { LogNumbers } from "./database/logs.ts";
import { AnnotatedLogs } from "./memory/annotated-logs.ts";
import { attributeNames, listFields } from "./read/fields.ts";
import { DuckdbEvents } from "./write/prepared.ts";
import { group } from "./read/group.ts";
import * as list from "./read/list.ts";
import * as read from "./read/read.ts";
import { ListTimesCache } from "./memory/list-times-cache.ts";
import { reclassify } from "./write/reclassify.ts";
import { deleteExpired } from "./write/retention.ts";
import { beginVector } from "./write/vectors/columns.ts";
import type { BeginColumn } from "./write/vectors/columns.ts";
import { beginValues } from "./write/vectors/values.ts";
import { ALERTS_TABLE, eventsTable } from "./write/rows.ts";
import type { ColumnRow } from "./write/rows.ts";
import { splitId } from "./database/schema.ts";
import { markAlertsSeen, setAlertSeen, unmarkAlertsSeen } from "./write/seen.ts";
import { insertVisits } from "./write/visits.ts";
import { TimeSums } from "./memory/time-sums.ts";
import * as write from "./write/write.ts";
import { users } from "./read/users.ts";
import { Scheduler } from "../../scheduling/scheduler.ts";

export type DuckdbOptions = {
  /**
   * Path of the file. It is created with its folder if missing. DuckDB keeps its write-ahead log
   * (`.wal`) and, while needed, a temporary folder (`.tmp`) beside it.
   */
  readonly file: string;
  readonly log: Logger;
  /** Memory limit of DuckDB; larger sorts and groups spill to disk. 512 by default. */
  readonly memoryLimit_mb?: number;
  /**
   * Limit of the Bloom filters kept in memory; the filters of the oldest events are dropped first.
   * No limit by default.
   */
  readonly filterLimit_mb?: number;
  /** Limit of what queries may spill to disk. Nine tenths of the free space by default. */
  readonly spillLimit_mb?: number;
  /** Threads that one query may use. By default the number of cores, at most four. */
  readonly threads?: number;
  /** Timeout of one query. 30 s by default. */
  readonly readTimeout_ms?: number;
  /** Attributes get columns after this many events of a log, if frequent. 1,024 by default. */
  readonly countedEvents?: number;
  /** Events of a block, which shares one Bloom filter. 8,192 by default. */
  readonly blockRows?: number;
  /** Stores with more events than this keep sums by time in memory. 100,000 by default. */
  readonly summedEvents?: number;
  /** Most attributes that are listed of a log. {@link MAX_LISTED_ATTRIBUTES} by default. */
  readonly listedAttributes?: number | undefined;
  /** Blocks stored in one table of filters. 128 by default. */
  readonly tableBlocks?: number;
  /** Whether a trick for speed is left out. By default none is. */
  readonly isPlain?: IsPlain;
  /** Shares the thread with requests. A scheduler of its own by default. */
  readonly scheduler?: Scheduler;
};

/** What the store does for speed alone. */
type DuckdbTrick =
  "blocks" | "sums" | "list-cache" | "list-pages" | "column-statistics" | "attribute-columns" | "vectors";
type IsPlain = (trick: DuckdbTrick) => boolean;

/** The embedded store, which can be copied while it runs. */
export type DuckdbStore = Store & {
  /**
   * Copies everything written so far, with a `.wal` beside `file` if there is one. Writes wait
   * meanwhile.
   * @returns the files that it made
   */
  copyTo(file: string): Promise<string[]>;
  /** Resolves once all but the latest events are in blocks, or indexing is to be retried. */
  indexed(): Promise<void>;
};

/**
 * Opens the store in one file, for one process: events, bookmarks, alerts, visits and the bus
 * positions that they cover.
 * @throws StartError that names the file if it is in use, is not a store, or cannot be written
 */
export async function openDuckdbStore(options: DuckdbOptions): Promise<DuckdbStore> {
  const { file, log, memoryLimit_mb = 512, threads = Math.min(4, availableParallelism()) } = options;
  const { readTimeout_ms = 30_000, countedEvents = 1024, summedEvents = 100_000 } = options;
  const { blockRows = 8192, tableBlocks, listedAttributes = MAX_LISTED_ATTRIBUTES } = options;
  const { spillLimit_mb, filterLimit_mb, isPlain = () => false, scheduler = new Scheduler() } = options;
  const { querying } = scheduler;
  await using opening = new AsyncDisposableStack();
  const limits = { memoryLimit_mb, spillLimit_mb, threads, readTimeout_ms };
  const database = opening.use(await Database.open({ file, scheduler, log, ...limits }));
  const filterLimit_bytes = filterLimit_mb === undefined ? Infinity : filterLimit_mb * 2 ** 20;
  const blocks = { blockRows, filterLimit_bytes, filterPath: `${file}.filters`, tableBlocks, scheduler, log };
  const statistics = await readStatistics(database, { countedEvents, summedEvents, ...blocks }, isPlain);
  opening.use(statistics.blocks);
  const builder =
    statistics.blocks instanceof BlockIndex ? opening.use(new BlockBuilder(database, statistics.blocks, log)) : null;
  const writer = new Writer(database, statistics, isPlain("vectors") ? beginValues : beginVector);
  const fieldsOptions = { statistics, most: listedAttributes, querying };
  const listing = isPlain("list-pages") ? list.listSorted : list.list;
  const reading: Database["read"] = (work) => database.read(work).catch(rethrow);
  const extentOf = () => reading((connection) => statistics.extent(connection));
  const readingPlan = <T>(plan: ListPlan | GroupPlan, work: (connection: DuckDBConnection) => Promise<T>): Promise<T> =>
    runWithinTime(plan, { run: () => reading(work), isTooSlow: (error) => error instanceof QueryTooSlow, extentOf });
  const annotate: Database["write"] = (work) => database.write(work, "marks").catch(rethrow);
  const closing = opening.move();
  builder?.start();
  return {
    prepareEvents: () => writer.prepare(),
    writeEvents: (events, position) => writer.events(events, position),
    writeAlerts: (alerts) => writer.alerts(alerts),
    writeVisits: (visits) => writer.visits(visits),
    writeDeletions: (deletions) => writer.deletions(deletions),
    writes: () => writer.writes,
    nextOffset: (topic, partition) => reading((connection) => read.nextOffset(connection, topic, partition)),
    list: (plan, { countUpTo = Infinity } = {}) =>
      readingPlan(plan, (connection) => listing(connection, plan, countUpTo, statistics, querying)),
    rows: (plan) => readingPlan(plan, (connection) => list.rows(connection, plan, statistics, querying)),
    group: (plan) => readingPlan(plan, (connection) => group(connection, plan, statistics, querying)),
    users: (plan) => reading((connection) => users(connection, plan, querying)),
    fields: (question) => reading((connection) => listFields(connection, question, fieldsOptions)),
    attributeNames: (key) => reading((connection) => attributeNames(connection, key, fieldsOptions)),
    find: (from, key, id) => reading((connection) => read.find(connection, from, key, id, querying)),
    data: (key, id) => reading((connection) => read.data(connection, key, id)),
    annotations: async (ids) =>
      statistics.annotatedLogs.isEmpty
        ? new Map()
        : reading((connection) => read.annotations(connection, ids, querying)),
    deleteEvent: (key, id) => writer.deleteEvent(key, id),
    addBookmark: (user, key, id) => {
      statistics.annotatedLogs.add(key);
      return annotate((connection) => write.insertBookmark(connection, user, key, id));
    },
    deleteBookmark: (user, key, id) => annotate((connection) => write.deleteBookmark(connection, user, key, id)),
    deleteAlert: (user, key, id) => annotate((connection) => write.deleteAlert(connection, user, key, id)),
    setAlertSeen: (alert, seen) => annotate((connection) => setAlertSeen(connection, alert, seen)),
    markAlertsSeen: (change) => annotate((connection) => markAlertsSeen(connection, change)),
    unmarkAlertsSeen: (change) => annotate((connection) => unmarkAlertsSeen(connection, change)),
    deletionsOfAlerts: (user) => reading((connection) => read.deletionsOfAlerts(connection, user)),
    deletionsAmong: (key, ids) => reading((connection) => read.deletionsAmong(connection, key, ids)),
    deleteExpired: (expiry, signal) => deleteExpired(database, expiry, statistics.blocks, signal).catch(rethrow),
    reclassify: (piece) => reclassify(database, statistics.logs, piece).catch(rethrow),
    // A committed write is visible to every later query.
    refresh: () => Promise.resolve(),
    indexed: async () => builder?.done(),
    copyTo: (to) => database.copyTo(to).catch(rethrow),
    ping: async () => {
      await reading((connection) => connection.run("select 1"));
    },
    [Symbol.asyncDispose]: () => closing[Symbol.asyncDispose](),
  };
}

/** @throws StartError if the file is damaged */
async function readStatistics(
  database: Database,
  { countedEvents, summedEvents, ...options }: BlockOptions & { countedEvents: number; summedEvents: number },
  isPlain: IsPlain,
): Promise<ColumnStatistics> {
  try {
    return await database.maintain(async (connection) => {
      const parts = {
        logs: await LogNumbers.read(connection),
        attributes: await AttributeColumns.read(connection, isPlain("attribute-columns") ? null : countedEvents),
        blocks: await (isPlain("blocks") ? NoBlocks.open(connection) : BlockIndex.read(connection, options)),
        annotatedLogs: await AnnotatedLogs.read(connection),
        listTimes: isPlain("list-cache") ? null : new ListTimesCache(database),
        sums: isPlain("sums") ? null : new TimeSums(database, summedEvents),
      };
      return new ColumnStatistics(parts, { assumesAll: isPlain("column-statistics") });
    });
  } catch (error) {
    throw startError(database.file, error);
  }
}

/** The writes that depend on the largest stored ids. */
class Writer {
  readonly #database: Database;
  readonly #statistics: ColumnStatistics;
  readonly #events: ChunkPool<StoredEvent, ColumnRow>;
  readonly #alerts: ChunkPool<Alert, Alert>;
  readonly #tokenLists = new TokenListPool();
  /** null until the first write. Changes only during a write. */
  #high: write.HighWater | null = null;
  /** The largest event id that a write was requested for, whether or not it was written. */
  #largestRequested: EventId | "" = "";
  #writes = 0;

  constructor(database: Database, statistics: ColumnStatistics, beginColumn: BeginColumn) {
    this.#database = database;
    this.#statistics = statistics;
    this.#events = new ChunkPool(eventsTable(statistics), database.scheduler, beginColumn);
    this.#alerts = new ChunkPool(ALERTS_TABLE, database.scheduler, beginColumn);
  }

  /** Number of successful writes of events. */
  get writes(): number {
    return this.#writes;
  }

  prepare(): DuckdbEvents {
    return new DuckdbEvents(this.#events, this.#statistics.blocks, this.#tokenLists);
  }

  /**
   * Writes events. The position is committed with them, and only if all of them are done.
   * @throws Error if they were already written
   */
  async events(events: PreparedEvents, position?: Position): Promise<WriteOutcome[]> {
    if (!(events instanceof DuckdbEvents)) throw new TypeError("these events were prepared by another store");
    return this.#writeEvents(events, position, { mayFewerFit: true });
  }

  /** @param mayFewerFit whether events that take more memory than there is are written in halves */
  async #writeEvents(
    events: DuckdbEvents,
    position: Position | undefined,
    { mayFewerFit }: { readonly mayFewerFit: boolean },
  ): Promise<WriteOutcome[]> {
    const { length, faults } = events;
    if (length === 0) {
      if (position)
        await this.#write(async (connection, high) => {
          await write.advance(connection, position);
          return high;
        }, "adds").catch(rethrow);
      return [];
    }
    events.assertUnwritten();
    const { attributes, blocks, logs } = this.#statistics;
    let block: Block | null = null;
    let isTooLarge = false;
    const insert = async (): Promise<void> => {
      const effect = this.#isBeyondAll(events) ? "adds" : "anything";
      if (attributes.lacksColumns) await this.#database.maintain((connection) => attributes.grow(connection));
      await this.#write(async (connection, high) => {
        await logs.write(connection);
        await attributes.write(connection);
        const inserted = await write.insertEvents(connection, events, high.event, blocks);
        block = inserted.block;
        if (position && faults.size === 0) await write.advance(connection, position);
        return { ...high, event: inserted.high };
      }, effect);
      blocks.committed(block);
    };
    const [outcome] = await write.writeEach([events], () =>
      insert().catch((error: unknown) => {
        isTooLarge = isHalfWritten(error);
        throw error;
      }),
    );
    if (outcome!.kind === "rejected" && length > 1) return this.#writeInHalves(events, position, { mayFewerFit });
    // Once: other work may have taken the memory, and the caller writes again what is left.
    if (isTooLarge && mayFewerFit && length > 1) return this.#writeInHalves(events, position, { mayFewerFit: false });
    if (outcome!.kind === "done") {
      this.#writes += 1;
      events.release();
    }
    return Array.from({ length }, (_, index) => {
      const fault = faults.get(index);
      return fault === undefined ? outcome! : { kind: "rejected", reason: fault.reason };
    });
  }

  /** Writes the events in halves, so that those that cannot be stored delay no others. */
  async #writeInHalves(
    events: DuckdbEvents,
    position: Position | undefined,
    options: { readonly mayFewerFit: boolean },
  ): Promise<WriteOutcome[]> {
    const indexes = Array.from({ length: events.length }, (_, index) => index);
    const middle = indexes.length >>> 1;
    const first = await this.#writeEvents(await events.pick(indexes.slice(0, middle)), undefined, options);
    const isFirstDone = first.every(({ kind }) => kind === "done");
    const rest = await events.pick(indexes.slice(middle));
    const second = await this.#writeEvents(rest, isFirstDone ? position : undefined, options);
    return [...first, ...second];
  }

  async alerts(alerts: readonly Alert[]): Promise<WriteOutcome[]> {
    if (alerts.length === 0) return [];
    for (const { event } of alerts) this.#statistics.annotatedLogs.add(event.log);
    return write.writeEach(alerts, (items) =>
      this.#write(
        async (connection, high) => ({
          ...high,
          alert: await write.insertAlerts(connection, items, high.alert, this.#alerts),
        }),
        "adds",
      ),
    );
  }

  async visits(visits: readonly Visit[]): Promise<WriteOutcome[]> {
    if (visits.length === 0) return [];
    return write.writeEach(visits, (items) =>
      this.#write(
        async (connection, high) => ({ ...high, visit: await insertVisits(connection, items, high.visit) }),
        "adds",
      ),
    );
  }

  async deletions(deletions: readonly Deletion[]): Promise<WriteOutcome[]> {
    if (deletions.length === 0) return [];
    return write.writeEach(deletions, (items) => {
      const effect = items.some(({ alertOf }) => alertOf === null) ? "anything" : "marks";
      return this.#write((connection, high) => write.insertDeletions(connection, items, high), effect);
    });
  }

  async deleteEvent(log: LogKey, id: EventId): Promise<boolean> {
    let deleted = false;
    await this.#write(async (connection, high) => {
      deleted = await write.deleteEvent(connection, log, id);
      // A late alert has to be compared with the marker.
      return { ...high, alert: id > high.alert ? id : high.alert };
    }).catch(rethrow);
    return deleted;
  }

  /**
   * Returns whether the upper integers of the ids are greater than those of all events that are
   * stored or about to be.
   */
  #isBeyondAll(events: DuckdbEvents): boolean {
    const { isAscending, first } = events;
    const high = [this.#high?.event ?? "", this.#largestRequested].reduce((a, b) => (a > b ? a : b));
    const last = isAscending ? events.last : events.ids().reduce((a, b) => (a > b ? a : b), first);
    if (last > this.#largestRequested) this.#largestRequested = last;
    if (this.#high === null || !isAscending || first === "") return false;
    return high === "" || splitId(first).hi > splitId(high as EventId).hi;
  }

  #write(
    work: (connection: DuckDBConnection, high: write.HighWater) => Promise<write.HighWater>,
    effect: Effect = "anything",
  ): Promise<void> {
    return this.#database.write(async (connection) => {
      // Kept even if the commit fails: a mark that is too high costs a lookup, one that is too low
      // would admit duplicates.
      this.#high = await work(connection, this.#high ?? (await write.readHighWater(connection)));
    }, effect);
  }
}

/** The message may be shown to callers; the cause, with files and statements, is only logged. */
function rethrow(error: unknown): never {
  if (error instanceof LoggiaError) throw error;
  if (isDiskFull(error)) throw noRoom(error);
  throw new LoggiaError("store_unavailable", "The embedded store is unavailable", { cause: error });
}
