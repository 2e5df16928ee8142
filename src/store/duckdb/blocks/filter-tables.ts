import { blobValue } from "@duckdb/node-api";
import type { DuckDBBlobValue, DuckDBConnection } from "@duckdb/node-api";

import type { EventId } from "../../../events/id.ts";
import { WITH_IDS, idParameters, tokenBlocks } from "../database/schema.ts";

/** Ids whose upper integers lie from `first` to `last`. */
export type BlockSpan = { readonly first: bigint; readonly last: bigint };

/** A filter as the file holds it. */
export type FilterRow = BlockSpan & { readonly encoded: Uint8Array };

/**
 * Blocks in one table: about a million events. A checkpoint rewrites each table that has changed
 * since the last one, so that a table is rewritten a few times and then never again.
 */
const TABLE_BLOCKS = 128;
const FIRST_TABLE = "token_blocks";
const NAME = /^token_blocks(?:_(\d+))?$/;

/**
 * The tables that hold the filters of blocks: `token_blocks`, then `token_blocks_1` and so on. New
 * filters go to the table with the largest number; the others only lose rows.
 *
 * All methods but {@link read} are part of a transaction. Which tables exist is always asked of the
 * catalog, since a transaction that created one may have been rolled back.
 */
export class FilterTables {
  readonly #tableBlocks: number;
  #number = 0;
  /** Rows of the newest table. Too large after a rollback, which only makes the table smaller. */
  #rows = 0;

  constructor(tableBlocks = TABLE_BLOCKS) {
    this.#tableBlocks = tableBlocks;
  }

  /** The names of all tables, oldest first. */
  async names(connection: DuckDBConnection): Promise<string[]> {
    const sql = `select table_name from duckdb_tables() where starts_with(table_name, '${FIRST_TABLE}')`;
    const names = (await connection.runAndReadAll(sql)).getRows() as [string][];
    return names
      .map(([name]) => name)
      .filter((name) => NAME.test(name))
      .toSorted((a, b) => numberOf(a) - numberOf(b));
  }

  /** Streams the filters of one table: all together may not fit into memory. */
  async *read(connection: DuckDBConnection, name: string): AsyncGenerator<FilterRow> {
    const number = numberOf(name);
    if (number >= this.#number) [this.#number, this.#rows] = [number, 0];
    const stream = await connection.stream(`select first_hi, last_hi, filter from ${name}`);
    for await (const rows of stream.yieldRows()) {
      for (const [first, last, { bytes }] of rows as [bigint, bigint, DuckDBBlobValue][]) {
        if (number === this.#number) this.#rows += 1;
        yield { first, last, encoded: bytes };
      }
    }
  }

  /** Replaces a table that cannot be read by an empty one. */
  async reset(connection: DuckDBConnection, name: string): Promise<void> {
    await connection.run(`drop table ${name}`);
    await connection.run(tokenBlocks(name));
  }

  async insert(connection: DuckDBConnection, { first, last, encoded }: FilterRow): Promise<void> {
    if (this.#rows >= this.#tableBlocks) {
      this.#number += 1;
      this.#rows = 0;
    }
    const name = nameOf(this.#number);
    await connection.run(tokenBlocks(name));
    await connection.run(`insert into ${name} values ($1::ubigint, $2::ubigint, $3)`, [
      first,
      last,
      blobValue(encoded),
    ]);
    this.#rows += 1;
  }

  async has(connection: DuckDBConnection, { first, last }: BlockSpan): Promise<boolean> {
    for (const name of await this.names(connection)) {
      const sql = `select 1 from ${name} where first_hi = $1::ubigint and last_hi = $2::ubigint`;
      if ((await connection.runAndReadAll(sql, [first, last])).currentRowCount > 0) return true;
    }
    return false;
  }

  async remove(connection: DuckDBConnection, { first, last }: BlockSpan): Promise<void> {
    for (const name of await this.names(connection)) {
      await connection.run(`delete from ${name} where first_hi = $1::ubigint and last_hi = $2::ubigint`, [first, last]);
    }
  }

  /** Removes the filters of all blocks that contain one of these ids. @param ids not empty */
  async removeAround(connection: DuckDBConnection, ids: readonly EventId[]): Promise<void> {
    const [requested] = idParameters(ids);
    for (const name of await this.names(connection)) {
      await connection.run(
        `${WITH_IDS} delete from ${name}
         where exists (from requested where requested.id_hi between ${name}.first_hi and ${name}.last_hi)`,
        [requested],
      );
    }
  }

  /**
   * Removes the filters of all blocks that end at or before `last`, and tables that become empty.
   */
  async removeUpTo(connection: DuckDBConnection, last: bigint): Promise<void> {
    for (const name of await this.names(connection)) {
      const { rowsChanged } = await connection.run(`delete from ${name} where last_hi <= $1::ubigint`, [last]);
      if (rowsChanged === 0 || name === FIRST_TABLE || numberOf(name) === this.#number) continue;
      const { currentRowCount } = await connection.runAndReadAll(`select 1 from ${name} limit 1`);
      if (currentRowCount === 0) await connection.run(`drop table ${name}`);
    }
  }
}

function nameOf(number: number): string {
  return number === 0 ? FIRST_TABLE : `${FIRST_TABLE}_${number}`;
}

function numberOf(name: string): number {
  return Number(NAME.exec(name)?.[1] ?? 0);
}
