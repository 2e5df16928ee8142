import { DuckDBDataChunk } from "@duckdb/node-api";
import type { DuckDBConnection } from "@duckdb/node-api";

import { beginVector, CHUNK_ROWS, STEP_ROWS } from "./vectors/columns.ts";
import type { BeginColumn, Column, Filling } from "./vectors/columns.ts";
import type { Scheduler } from "../../../scheduling/scheduler.ts";

/**
 * Chunks appended before a flush while no requests arrive. A flush is a statement, with a fixed
 * cost, and blocks this thread.
 */
const FLUSH_CHUNKS = 5;
/** Length of texts after which a chunk ends, and a flush follows. It takes milliseconds. */
const CHUNK_LENGTH = 1024 * 1024;
/** Length of texts after which a step ends. */
const STEP_LENGTH = 128 * 1024;
/** Most chunks kept for reuse. */
const MAX_FREE_CHUNKS = 20;

/** A table, and how items become its rows. */
export type ChunkTable<Item, Row> = {
  readonly name: string;
  /** The columns of the table, in order. Later ones may be appended, see {@link appendChunks}. */
  readonly columns: readonly Column<Row>[];
  /** Converts items to rows. May append columns that these rows need. */
  readonly toRows: (items: readonly Item[]) => readonly Row[];
  /** Returns about the length of an item's texts. */
  readonly lengthOf: (item: Item) => number;
};

/**
 * Pools data chunks of one table. Their memory lies outside of the JavaScript heap and would
 * otherwise be freed only when the small objects that own it are collected.
 */
export class ChunkPool<Item, Row> {
  readonly table: ChunkTable<Item, Row>;
  readonly scheduler: Scheduler;
  readonly beginColumn: BeginColumn;
  readonly #free: DuckDBDataChunk[] = [];

  constructor(table: ChunkTable<Item, Row>, scheduler: Scheduler, beginColumn: BeginColumn = beginVector) {
    this.table = table;
    this.scheduler = scheduler;
    this.beginColumn = beginColumn;
  }

  /** @param width number of leading columns of the table that the chunk has */
  take(width = this.table.columns.length): DuckDBDataChunk {
    const free = this.#free.pop();
    if (free?.columnCount === width) return free;
    return DuckDBDataChunk.create(this.table.columns.slice(0, width).map(({ type }) => type));
  }

  /** Returns chunks to the pool. No caller may still use them. */
  giveBack(chunks: readonly DuckDBDataChunk[]): void {
    for (const chunk of chunks.slice(0, MAX_FREE_CHUNKS - this.#free.length)) {
      chunk.reset();
      this.#free.push(chunk);
    }
  }
}

/** A chunk that is being filled, its rows so far and the length of their texts. */
type OpenChunk<Row> = {
  readonly chunk: DuckDBDataChunk;
  readonly fillings: readonly Filling<Row>[];
  rows: number;
  length: number;
};

/** Rows of data chunks, made of items. */
export class Rows<Item, Row> {
  readonly #pool: ChunkPool<Item, Row>;
  readonly #full: DuckDBDataChunk[] = [];
  #open: OpenChunk<Row> | null = null;

  constructor(pool: ChunkPool<Item, Row>) {
    this.#pool = pool;
  }

  /**
   * Adds rows for the first of some items, yielding to other work meanwhile.
   * @returns those rows
   * @throws RangeError if a column cannot take a value; no row was added then
   */
  async addSome(items: readonly Item[]): Promise<readonly Row[]> {
    await this.#pool.scheduler.yieldToRequests();
    const { table } = this.#pool;
    const { count, length } = this.#stepOf(items);
    const rows = table.toRows(items.slice(0, count));
    if (this.#open !== null && this.#open.chunk.columnCount < table.columns.length) this.#end();
    const open = (this.#open ??= this.#begin());
    for (const { add } of open.fillings) {
      await this.#pool.scheduler.yieldToRequests();
      add(rows, open.rows);
    }
    open.rows += rows.length;
    open.length += length;
    if (open.rows === CHUNK_ROWS || open.length >= CHUNK_LENGTH) this.#end();
    return rows;
  }

  /** Returns how many of the first items make a step, and the length of their texts. */
  #stepOf(items: readonly Item[]): { readonly count: number; readonly length: number } {
    const { lengthOf } = this.#pool.table;
    const most = Math.min(items.length, STEP_ROWS, CHUNK_ROWS - (this.#open?.rows ?? 0));
    let count = 0;
    let length = 0;
    while (count < most && length < STEP_LENGTH) length += lengthOf(items[count++]!);
    return { count, length };
  }

  /**
   * Adds a row for each item.
   * @throws RangeError if a column cannot take a value; some earlier rows may have been added
   */
  async add(items: readonly Item[]): Promise<void> {
    for (let done = 0; done < items.length;) done += (await this.addSome(items.slice(done))).length;
  }

  /** The chunks with all rows, in order. Later rows go to further chunks. */
  get chunks(): readonly DuckDBDataChunk[] {
    this.#end();
    return this.#full;
  }

  /** Copies the rows at the given ascending positions. */
  async pick(indexes: readonly number[]): Promise<Rows<Item, Row>> {
    const picked = new Rows(this.#pool);
    let start = 0;
    for (const chunk of this.chunks) {
      const end = start + chunk.rowCount;
      const own = indexes.filter((index) => index >= start && index < end);
      if (own.length > 0) {
        picked.#full.push(
          await this.#copy(
            chunk,
            own.map((index) => index - start),
          ),
        );
      }
      start = end;
    }
    return picked;
  }

  async #copy(chunk: DuckDBDataChunk, indexes: readonly number[]): Promise<DuckDBDataChunk> {
    const copy = this.#pool.take(chunk.columnCount);
    copy.rowCount = indexes.length;
    for (let i = 0; i < chunk.columnCount; i++) {
      await this.#pool.scheduler.yieldToRequests();
      const values = chunk.getColumnValues(i);
      copy.setColumnValues(
        i,
        indexes.map((index) => values[index]!),
      );
    }
    return copy;
  }

  /**
   * Returns the chunks to the pool, once the rows are written or discarded. No row may be added
   * afterwards, and no caller may still use a chunk.
   */
  release(): void {
    this.#pool.giveBack(this.chunks);
    this.#full.length = 0;
  }

  #begin() {
    const chunk = this.#pool.take();
    const columns = this.#pool.table.columns.slice(0, chunk.columnCount);
    const fillings = columns.map((column, i) => this.#pool.beginColumn(column, chunk, i));
    return { chunk, fillings, rows: 0, length: 0 };
  }

  #end(): void {
    if (this.#open === null) return;
    const { chunk, fillings, rows } = this.#open;
    this.#open = null;
    chunk.rowCount = rows;
    for (const { end } of fillings) end();
    this.#full.push(chunk);
  }
}

/**
 * Appends chunks to their table within the current transaction, in steps that yield to other work.
 * Chunks from before columns were added to the table go through a temporary table.
 */
export async function appendChunks(
  connection: DuckDBConnection,
  table: string,
  chunks: readonly DuckDBDataChunk[],
  scheduler: Scheduler,
): Promise<void> {
  const names = await columnsOf(connection, table);
  for (let start = 0, end = 0; start < chunks.length; start = end) {
    const width = chunks[start]!.columnCount;
    while (end < chunks.length && chunks[end]!.columnCount === width) end += 1;
    const alike = chunks.slice(start, end);
    if (width === names.length) await append(connection, table, alike, scheduler);
    else await appendNarrow(connection, table, names.slice(0, width), alike, scheduler);
  }
}

async function columnsOf(connection: DuckDBConnection, table: string): Promise<string[]> {
  const sql = "select column_name from duckdb_columns() where table_name = $1 order by column_index";
  const rows = (await connection.runAndReadAll(sql, [table])).getRows() as [string][];
  return rows.map(([name]) => `"${name}"`);
}

async function appendNarrow(
  connection: DuckDBConnection,
  table: string,
  names: readonly string[],
  chunks: readonly DuckDBDataChunk[],
  scheduler: Scheduler,
): Promise<void> {
  await connection.run(`create or replace temp table narrow as select ${names.join(", ")} from ${table} limit 0`);
  await append(connection, "narrow", chunks, scheduler);
  await connection.run(`insert into ${table} (${names.join(", ")}) from narrow`);
  await connection.run("drop table narrow");
}

async function append(
  connection: DuckDBConnection,
  table: string,
  chunks: readonly DuckDBDataChunk[],
  scheduler: Scheduler,
): Promise<void> {
  const appender = await connection.createAppender(table);
  try {
    let held = 0;
    for (const chunk of chunks) {
      await scheduler.yieldToRequests();
      appender.appendDataChunk(chunk);
      held += 1;
      // A chunk of fewer rows has long texts, or is the last one.
      if (held < FLUSH_CHUNKS && chunk.rowCount === CHUNK_ROWS && !scheduler.isUnderLoad()) continue;
      await scheduler.yieldToRequests();
      appender.flushSync();
      held = 0;
    }
    await scheduler.yieldToRequests();
    // Closing would flush as well, but an error must be cleared before.
    appender.flushSync();
  } catch (error) {
    appender.clear();
    throw error;
  } finally {
    appender.closeSync();
  }
}
