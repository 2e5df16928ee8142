import { VARCHAR } from "@duckdb/node-api";
import type { DuckDBConnection, DuckDBMaterializedResult, DuckDBType, DuckDBValue } from "@duckdb/node-api";

import { Yielder } from "../../../scheduling/yielding.ts";

/**
 * SQL with its parameters. Of user input, only numbers and validated keys of logs become part of
 * the text; a statement without parameters is planned only once.
 */
export type Statement = {
  readonly sql: string;
  readonly values: readonly (string | number | bigint)[];
  readonly types: readonly DuckDBType[];
};

export type Row = readonly DuckDBValue[];

/** Rows between two looks at the clock. */
const CHECK_ROWS = 16;

/** For more or longer texts, parsing the digits would cost more than planning twice. */
const MAX_INLINED = 8;
const MAX_INLINED_LENGTH = 1_000;

/**
 * Runs one statement. The client's `run` would first check, in a separate task of the thread pool,
 * whether there are several. Statements are not cached: DuckDB would keep using the table
 * statistics from when a statement was prepared.
 */
export async function runStatement(
  connection: DuckDBConnection,
  statement: Statement,
): Promise<DuckDBMaterializedResult> {
  const inlined = inlineTexts(statement);
  if (inlined !== null) return connection.run(inlined);
  const prepared = await connection.prepare(statement.sql);
  try {
    prepared.bind([...statement.values], [...statement.types]);
    return await prepared.run();
  } finally {
    prepared.destroySync();
  }
}

/**
 * Returns the statement with its texts in place of parameters, because a statement with parameters
 * is planned twice, in two tasks of the thread pool. Texts are written as hexadecimal digits to
 * rule out SQL injection. Returns null unless all parameters are texts, few and short.
 */
function inlineTexts({ sql, values, types }: Statement): string | null {
  if (values.length > MAX_INLINED || types.some((type) => type !== VARCHAR)) return null;
  const texts = values.map((value) => (typeof value === "string" && value.length <= MAX_INLINED_LENGTH ? value : null));
  if (texts.includes(null)) return null;
  const literals = texts.map((text) => `decode(unhex('${Buffer.from(text!, "utf8").toString("hex")}'))`);
  return sql.replaceAll(/\$(\d+)/g, (_, number) => literals[Number(number) - 1]!);
}

/**
 * Returns all rows of a result, which is complete already. The client's readers would fetch each
 * chunk in a separate task of the thread pool.
 * @param check called with each row; may throw
 */
export async function readResultRows(result: DuckDBMaterializedResult, check?: (row: Row) => void): Promise<Row[]> {
  const rows: Row[] = [];
  const yielder = new Yielder();
  for (let i = 0; i < result.chunkCount; i++) {
    const chunk = result.getChunk(i);
    const columns = Array.from({ length: chunk.columnCount }, (_, column) => chunk.getColumnVector(column));
    for (let row = 0; row < chunk.rowCount; row++) {
      if (row % CHECK_ROWS === 0 && yielder.isDue) await yielder.turn();
      const items = columns.map((column) => column.getItem(row));
      check?.(items);
      rows.push(items);
    }
  }
  return rows;
}

export async function queryRows(connection: DuckDBConnection, statement: Statement): Promise<Row[]> {
  return readResultRows(await runStatement(connection, statement));
}
