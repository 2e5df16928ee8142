import type { DuckDBConnection } from "@duckdb/node-api";

import { StartError } from "../../../errors.ts";
import { TABLES, VERSION } from "./schema.ts";

/**
 * Creates the tables of a new file, and checks those of an existing one.
 * @throws StartError if another release wrote the file, or it holds something else
 */
export async function prepareSchema(connection: DuckDBConnection, file: string): Promise<void> {
  const tables = (await connection.runAndReadAll("select table_name from duckdb_tables() where not temporary"))
    .getRows()
    .flat();
  if (tables.length === 0) {
    await connection.run("begin");
    for (const table of Object.values(TABLES)) await connection.run(table);
    await connection.run("insert into meta values ($1)", [VERSION]);
    await connection.run("commit");
    return;
  }
  if (!tables.includes("meta") || !tables.includes("events")) {
    throw new StartError(`The file ${file} is a DuckDB database, but not a Loggia store`);
  }
  const version = Number((await connection.runAndReadAll("select version from meta")).getRows()[0]?.[0]);
  if (version !== VERSION) {
    throw new StartError(
      `The file ${file} has tables of version ${version}; this release reads version ${VERSION}: ` +
        "start the release that wrote it",
    );
  }
  const missing = Object.keys(TABLES).find((name) => !tables.includes(name));
  if (missing !== undefined) {
    throw new StartError(
      `The file ${file} lacks the table ${missing}: start the release that wrote it, or restore a backup`,
    );
  }
}
