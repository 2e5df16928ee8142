import { DuckDBDataChunk } from "@duckdb/node-api";
import type { DuckDBConnection } from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";

import { yieldToRequests, underLoad } from "../../../scheduling/cooperative.ts";
import { CHUNK_ROWS, STEP_ROWS } from "../vectors/columns.ts";
import type { Column, Filling } from "../vectors/columns.ts";

/**
 * Chunks that are given to the table at once where no request arrives: that is a statement, which
 * costs as much as 600 rows, and holds this thread up.
 */
const FLUSH_CHUNKS = 5;
/** Chunks that are kept to be filled again. One of `events` takes some 0.6 MB. */
const MAX_FREE_CHUNKS = 20;

/** A table, and how its rows are made of items. */
export type Table<Item, Row> = {
  readonly name: string;
  /** Those of the table, in its order. More may come behind them, see {@link appendChunks}. */
  readonly columns: readonly Column<Row>[];
  /** May add columns, which these rows need. */
  readonly toRows: (items: readonly Item[]) => readonly Row[];
};

/**
 * Data chunks of one table. What has been written is filled again: memory of DuckDB's that
 * JavaScript's collector does not see would otherwise be free only when that gets to the small
 * object that stands for it.
 */
export class ChunkPool<Item, Row> {
  readonly table: Table<Item, Row>;
  readonly #free: DuckDBDataChunk[] = [];

  constructor(table: Table<Item, Row>) {
    this.table = table;
  }

  /** @param width how many of the table's columns it has */
  take(width = this.table.columns.length): DuckDBDataChunk {
    const free = this.#free.pop();
    if (free?.columnCount === width) return free;
    return DuckDBDataChunk.create(this.table.columns.slice(0, width).map(({ type }) => type));
  }

  /** Nobody may hold them any more. */
  giveBack(chunks: readonly DuckDBDataChunk[]): void {
    for (const chunk of chunks.slice(0, MAX_FREE_CHUNKS - this.#free.length)) {
      chunk.reset();
      this.#free.push(chunk);
    }
  }
}

/** Items as rows of data chunks. */
export class Rows<Item, Row> {
  readonly #pool: ChunkPool<Item, Row>;
  readonly #full: DuckDBDataChunk[] = [];
  /** The one that is being filled. */
  #open: { readonly chunk: DuckDBDataChunk; readonly fillings: readonly Filling<Row>[]; rows: number } | null = null;

  constructor(pool: ChunkPool<Item, Row>) {
    this.#pool = pool;
  }

  /**
   * Adds rows for the first of some items, and yields to other work in between.
   * @returns those rows
   * @throws RangeError where a column does not take a value: then none was added
   */
  async addSome(items: readonly Item[]): Promise<readonly Row[]> {
    await yieldToRequests();
    const { table } = this.#pool;
    const free = CHUNK_ROWS - (this.#open?.rows ?? 0);
    const rows = table.toRows(items.slice(0, Math.min(STEP_ROWS, free)));
    if (this.#open !== null && this.#open.chunk.columnCount < table.columns.length) this.#end();
    const open = (this.#open ??= this.#begin());
    for (const { add } of open.fillings) {
      await yieldToRequests();
      add(rows, open.rows);
    }
    open.rows += rows.length;
    if (open.rows === CHUNK_ROWS) this.#end();
    return rows;
  }

  /**
   * Adds a row for each item.
   * @throws RangeError where a column does not take a value: then rows of some before it may have been added
   */
  async add(items: readonly Item[]): Promise<void> {
    for (let done = 0; done < items.length;) done += (await this.addSome(items.slice(done))).length;
  }

  /** All rows, in order. What is added later goes into further chunks. */
  get chunks(): readonly DuckDBDataChunk[] {
    this.#end();
    return this.#full;
  }

  /** The rows at some places, which rise, as rows of their own. */
  async pick(places: readonly number[]): Promise<Rows<Item, Row>> {
    const picked = new Rows(this.#pool);
    let start = 0;
    for (const chunk of this.chunks) {
      const end = start + chunk.rowCount;
      const own = places.filter((place) => place >= start && place < end);
      if (own.length > 0) {
        picked.#full.push(
          await this.#copy(
            chunk,
            own.map((place) => place - start),
          ),
        );
      }
      start = end;
    }
    return picked;
  }

  async #copy(chunk: DuckDBDataChunk, places: readonly number[]): Promise<DuckDBDataChunk> {
    const copy = this.#pool.take(chunk.columnCount);
    copy.rowCount = places.length;
    for (let i = 0; i < chunk.columnCount; i++) {
      await yieldToRequests();
      const values = chunk.getColumnValues(i);
      copy.setColumnValues(
        i,
        places.map((place) => values[place]!),
      );
    }
    return copy;
  }

  /** Once they are written, or not to be written: nothing may be added, and nobody may hold a chunk. */
  release(): void {
    this.#pool.giveBack(this.chunks);
    this.#full.length = 0;
  }

  #begin() {
    const chunk = this.#pool.take();
    const columns = this.#pool.table.columns.slice(0, chunk.columnCount);
    const fillings = columns.map(({ begin }, i) => begin(duckdb.data_chunk_get_vector(chunk.chunk, i)));
    return { chunk, fillings, rows: 0 };
  }

  #end(): void {
    if (this.#open === null) return;
    const { chunk, fillings, rows } = this.#open;
    this.#open = null;
    for (const { end } of fillings) end();
    chunk.rowCount = rows;
    this.#full.push(chunk);
  }
}

/**
 * Appends rows to their table, in the transaction that is under way, in steps between which it gives
 * way. Chunks that were made before the table had all of its columns go through a table of their
 * own.
 */
export async function appendChunks(
  connection: DuckDBConnection,
  table: string,
  chunks: readonly DuckDBDataChunk[],
): Promise<void> {
  const names = await columnsOf(connection, table);
  for (let start = 0, end = 0; start < chunks.length; start = end) {
    const width = chunks[start]!.columnCount;
    while (end < chunks.length && chunks[end]!.columnCount === width) end += 1;
    const alike = chunks.slice(start, end);
    if (width === names.length) await append(connection, table, alike);
    else await appendNarrow(connection, table, names.slice(0, width), alike);
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
): Promise<void> {
  await connection.run(`create or replace temp table narrow as select ${names.join(", ")} from ${table} limit 0`);
  await append(connection, "narrow", chunks);
  await connection.run(`insert into ${table} (${names.join(", ")}) from narrow`);
  await connection.run("drop table narrow");
}

async function append(connection: DuckDBConnection, table: string, chunks: readonly DuckDBDataChunk[]): Promise<void> {
  const appender = await connection.createAppender(table);
  try {
    let held = 0;
    for (const chunk of chunks) {
      await yieldToRequests();
      appender.appendDataChunk(chunk);
      held += 1;
      if (held < FLUSH_CHUNKS && !underLoad()) continue;
      await yieldToRequests();
      appender.flushSync();
      held = 0;
    }
    await yieldToRequests();
    // Not left to closing, so that what fails is cleared first.
    appender.flushSync();
  } catch (error) {
    appender.clear();
    throw error;
  } finally {
    appender.closeSync();
  }
}
