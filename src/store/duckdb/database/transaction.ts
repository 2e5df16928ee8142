import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";

import { isFatal, isWithoutTransaction } from "./errors.ts";

/**
 * Returns a connection outside of any transaction, after an error. If the rollback fails for lack
 * of memory, it is a new connection, and closing the old one ends the transaction. If there can be
 * no new one, as the instance failed or was closed, the file is about to be reopened. Never throws.
 */
export async function withoutTransaction(
  connection: DuckDBConnection,
  instance: DuckDBInstance,
): Promise<DuckDBConnection> {
  try {
    await connection.run("rollback");
  } catch (error) {
    if (isWithoutTransaction(error) || isFatal(error)) return connection;
    const other = await instance.connect().catch(() => null);
    if (other === null) return connection;
    connection.closeSync();
    return other;
  }
  return connection;
}

/** Runs `work` in one transaction, which is rolled back if it throws. */
export async function transaction<T>(
  connection: DuckDBConnection,
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  await connection.run("begin");
  let result: T;
  try {
    result = await work(connection);
    await connection.run("commit");
  } catch (error) {
    // A failed commit has already ended the transaction, so the error of this rollback is ignored.
    await connection.run("rollback").catch(() => undefined);
    throw error;
  }
  return result;
}
