import { VARCHAR } from "@duckdb/node-api";
import type { DuckDBConnection, DuckDBMaterializedResult, DuckDBValue } from "@duckdb/node-api";
import { setImmediate as turn } from "node:timers/promises";

import type { Statement } from "../compile/binder.ts";

export type Row = readonly DuckDBValue[];

/**
 * So many chunks, of up to 2,048 rows, are made into rows before other work of the process has its
 * turn.
 */
const CHUNKS_A_TURN = 4;

/** Of more texts, and of longer ones, the digits would cost more to read than a second planning. */
const MOST_SPELT = 8;
const MOST_SPELT_LENGTH = 1_000;

/**
 * Runs one statement. The client's own `run` looks first, by another turn on a thread of the pool,
 * whether there are several. A statement is not kept for the next time, as DuckDB would go on by
 * the least and greatest values that its tables had when it was made.
 */
export async function ask(connection: DuckDBConnection, statement: Statement): Promise<DuckDBMaterializedResult> {
  const spelt = spelled(statement);
  if (spelt !== null) return connection.run(spelt);
  const prepared = await connection.prepare(statement.sql);
  try {
    prepared.bind([...statement.values], [...statement.types]);
    return await prepared.run();
  } finally {
    prepared.destroySync();
  }
}

/**
 * The statement with its texts in the place of parameters: with these it would be planned twice, by
 * two turns on a thread of the pool. They stand there in hexadecimal digits, so that none can be
 * anything else than a text. Null where it has other parameters than a few short texts.
 */
function spelled({ sql, values, types }: Statement): string | null {
  if (values.length > MOST_SPELT || types.some((type) => type !== VARCHAR)) return null;
  const texts = values.map((value) => (typeof value === "string" && value.length <= MOST_SPELT_LENGTH ? value : null));
  if (texts.includes(null)) return null;
  const spelling = texts.map((text) => `decode(unhex('${Buffer.from(text!, "utf8").toString("hex")}'))`);
  return sql.replaceAll(/\$(\d+)/g, (_, number) => spelling[Number(number) - 1]!);
}

/**
 * All rows of a result. They are there already: the client's readers would fetch each chunk, and
 * the end, by a turn on a thread of the pool.
 */
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
