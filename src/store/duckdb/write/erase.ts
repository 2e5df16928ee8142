import { blobValue } from "@duckdb/node-api";
import type { DuckDBConnection } from "@duckdb/node-api";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import type { Database } from "../database/database.ts";

/**
 * Erases deleted texts from the file. DuckDB does not overwrite the blocks that it frees, so that
 * deleted texts stay readable in them. Tables of random bytes are filled until they occupy all free
 * blocks, and then dropped.
 */

/** Blocks of one table of random bytes. Other writes wait while it is filled. */
const STEP_BLOCKS = 32;
/** Minimum pause between steps. A pause is at least as long as the step before. */
const REST_LEAST_MS = 5;
const PREFIX = "erasing_";
/** The row of `marks` that counts deletions since the last erasure. */
const MARK = "unerased";

/** Records, in the transaction of a deletion, that the file has texts to erase. */
export async function noteDeletion(connection: DuckDBConnection): Promise<void> {
  const sql = "update marks set value = (value::bigint + 1)::varchar where name = $1";
  const { rowsChanged } = await connection.run(sql, [MARK]);
  if (rowsChanged === 0) await connection.run("insert into marks values ($1, '1')", [MARK]);
}

/**
 * Overwrites the remains of deleted rows in the file, if rows were deleted since the last time. If
 * interrupted, the next call starts over.
 */
export async function eraseDeleted(database: Database, signal?: AbortSignal): Promise<void> {
  const count = await database.maintain((connection) => readMark(connection));
  if (count === null) return;
  // Deleted rows were blanked first. Only the log and blocks that this checkpoint frees still have
  // their texts.
  await database.maintain(async (connection) => {
    await dropTables(connection);
    await connection.run("checkpoint");
  });
  const { free } = await database.maintain((connection) => sizeOf(connection));
  try {
    for (let done = 0, step = 0; done < free; done += STEP_BLOCKS, step += 1) {
      signal?.throwIfAborted();
      const start_ms = performance.now();
      await database.maintain((connection) => fill(connection, step, Math.min(STEP_BLOCKS, free - done)));
      await sleep(Math.max(REST_LEAST_MS, performance.now() - start_ms), undefined, { signal });
    }
    await database.maintain((connection) =>
      connection.run("delete from marks where name = $1 and value = $2", [MARK, count]),
    );
  } finally {
    await database.maintain(async (connection) => {
      await dropTables(connection);
      await connection.run("checkpoint");
    });
  }
}

async function readMark(connection: DuckDBConnection): Promise<string | null> {
  const rows = (await connection.runAndReadAll("select value from marks where name = $1", [MARK])).getRows();
  return (rows[0]?.[0] as string | undefined) ?? null;
}

async function sizeOf(connection: DuckDBConnection): Promise<{ readonly free: number; readonly block_bytes: number }> {
  const sql = "select free_blocks, block_size from pragma_database_size()";
  const [row] = (await connection.runAndReadAll(sql)).getRows() as [bigint, bigint][];
  return { free: Number(row?.[0] ?? 0), block_bytes: Number(row?.[1] ?? 0) };
}

/** Fills a table that occupies at least `blocks` blocks. */
async function fill(connection: DuckDBConnection, step: number, blocks: number): Promise<void> {
  const { block_bytes } = await sizeOf(connection);
  const table = `${PREFIX}${step}`;
  await connection.run(`create or replace table ${table} (bytes blob)`);
  for (let i = 0; i < blocks; i++) {
    await connection.run(`insert into ${table} values ($1)`, [blobValue(randomBytes(block_bytes))]);
  }
  await connection.run("checkpoint");
}

async function dropTables(connection: DuckDBConnection): Promise<void> {
  const sql = "select table_name from duckdb_tables() where starts_with(table_name, $1)";
  const names = (await connection.runAndReadAll(sql, [PREFIX])).getRows() as [string][];
  for (const [name] of names) await connection.run(`drop table ${name}`);
}
