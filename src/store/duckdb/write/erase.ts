import { blobValue } from "@duckdb/node-api";
import type { DuckDBConnection } from "@duckdb/node-api";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import type { Database } from "../database/database.ts";

/**
 * DuckDB gives blocks that it no longer uses back to its file and leaves their bytes as they are,
 * so deleted texts could be read there until something else happens to be written over them. Here
 * they are overwritten: by tables of random bytes that are made until all those blocks were used,
 * and then dropped.
 */

/** Of one table of random bytes: other writes wait while it is made. */
const STEP_BLOCKS = 32;
/** Others have at least as long as a step took. */
const REST_LEAST_MS = 5;
const PREFIX = "erasing_";
/** The row of `marks` that counts deletions since texts were last erased. */
const MARK = "unerased";

/** Notes, in the transaction of a deletion, that texts are to be erased from the file. */
export async function noteDeletion(connection: DuckDBConnection): Promise<void> {
  const sql = "update marks set value = (value::bigint + 1)::varchar where name = $1";
  const { rowsChanged } = await connection.run(sql, [MARK]);
  if (rowsChanged === 0) await connection.run("insert into marks values ($1, '1')", [MARK]);
}

/**
 * Overwrites what the file still holds of deleted rows, where some were deleted since the last
 * time. Cut off, it begins again the next time.
 */
export async function eraseDeleted(database: Database, signal?: AbortSignal): Promise<void> {
  const count = await database.maintain((connection) => readMark(connection));
  if (count === null) return;
  // Texts of deleted rows were blanked: what has them now is the log, and blocks that this sets
  // free.
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

/** Makes a table that takes up this many blocks or a few more. */
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
