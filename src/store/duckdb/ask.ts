import type { DuckDBConnection, DuckDBMaterializedResult, DuckDBValue } from "@duckdb/node-api";
import { setImmediate as turn } from "node:timers/promises";

import type { Statement } from "./binder.ts";

export type Row = readonly DuckDBValue[];

/** So many chunks, of up to 2,048 rows, are made into rows before other work of the process has its turn. */
const CHUNKS_A_TURN = 4;

/**
 * Runs one statement. The client's own `run` looks first, by another turn on a thread of the pool, whether there are several. A statement is not kept for the
 * next time, as DuckDB would go on by the least and greatest values that its tables had when it was made.
 */
export async function ask(
  connection: DuckDBConnection,
  { sql, values, types }: Statement,
): Promise<DuckDBMaterializedResult> {
  if (values.length === 0) return connection.run(sql);
  const statement = await connection.prepare(sql);
  try {
    statement.bind([...values], [...types]);
    return await statement.run();
  } finally {
    statement.destroySync();
  }
}

/** All rows of a result. They are there already: the client's readers would fetch each chunk, and the end, by a turn on a thread of the pool. */
export async function rowsOf(result: DuckDBMaterializedResult): Promise<Row[]> {
  const rows: Row[] = [];
  for (let i = 0; i < result.chunkCount; i++) {
    if (i > 0 && i % CHUNKS_A_TURN === 0) await turn();
    const chunk = result.getChunk(i);
    const columns = Array.from({ length: chunk.columnCount }, (_, column) => chunk.getColumnVector(column));
    for (let row = 0; row < chunk.rowCount; row++) rows.push(columns.map((column) => column.getItem(row)));
  }
  return rows;
}

export async function askRows(connection: DuckDBConnection, statement: Statement): Promise<Row[]> {
  return rowsOf(await ask(connection, statement));
}
