import { DuckDBScalarFunction, VARCHAR } from "@duckdb/node-api";
import type { DuckDBConnection } from "@duckdb/node-api";

import { StartError } from "../../../errors.ts";
import { patternOf } from "../../../events/pattern.ts";
import {
  ATTRIBUTE_PLACES,
  EVENTS,
  foldedUnlessAscii,
  LOGS,
  MARKS,
  SEEN_ALERTS,
  TABLES,
  TAG_SEPARATOR,
  tokenBlocks,
  VERSION,
  VISITS,
} from "./schema.ts";

/** Tables that releases of the same version may lack. */
const ADDED = [MARKS, SEEN_ALERTS, tokenBlocks()];

/**
 * Creates the tables of a new file, or migrates those of an older release.
 * @throws StartError if a newer release wrote the file, or it holds something else
 */
export async function prepareSchema(connection: DuckDBConnection, file: string): Promise<void> {
  const tables = (await connection.runAndReadAll("select table_name from duckdb_tables() where not temporary"))
    .getRows()
    .flat();
  if (tables.length === 0) {
    await connection.run("begin");
    for (const table of TABLES) await connection.run(table);
    await connection.run("insert into meta values ($1)", [VERSION]);
    for (const table of ADDED) await connection.run(table);
    await connection.run("commit");
    return;
  }
  if (!tables.includes("meta") || !tables.includes("events")) {
    throw new StartError(`The file ${file} is a DuckDB database, but not a Loggia store`);
  }
  const version = Number((await connection.runAndReadAll("select version from meta")).getRows()[0]?.[0]);
  if (version <= VERSION) {
    for (const table of ADDED) await connection.run(table);
  }
  // The version keeps older releases away. Those of version 5 would add events to blocks without
  // updating their filters; those of version 7 would do so if filters are in several tables.
  if (version >= 1 && version < VERSION) {
    await connection.run("begin");
    if (version === 5 || version === 6) await connection.run("alter table events drop column hash");
    else if (version < 5) await migrate(connection, version as 1 | 2 | 3 | 4);
    await connection.run("update meta set version = $1", [VERSION]);
    await connection.run("commit");
    return;
  }
  if (version !== VERSION) {
    throw new StartError(`The file ${file} has tables of version ${version}; this release reads version ${VERSION}`);
  }
}

/**
 * Migrates the tables of an older release, in the current transaction. Events are rewritten,
 * because the memory of an update grows with the number of rows.
 */
async function migrate(connection: DuckDBConnection, version: 1 | 2 | 3 | 4): Promise<void> {
  registerTextFunction(connection, "pattern_of", patternOf);
  registerTextFunction(connection, "folded_pattern_of", (text) => foldedUnlessAscii(patternOf(text)));
  if (version === 1) await connection.run(VISITS);
  for (const statement of eventsAnew(version)) await connection.run(statement);
}

function eventsAnew(version: 1 | 2 | 3 | 4): readonly string[] {
  const numbered = `select *, list_position(getvariable('logs'), log) as log_number
    from (${version === 3 ? "from events_before" : ROWS_OF_LISTS})`;
  return [
    ATTRIBUTE_PLACES,
    ...(version === 4 ? [] : LOGS_ANEW),
    "alter table events rename to events_before",
    EVENTS,
    // A constant, because a join would not keep the order of rows.
    "set variable logs = (select list(log order by number) from logs)",
    `insert into events ${withPatterns(version === 4 ? "from events_before" : numbered)}`,
    "reset variable logs",
    "drop table events_before",
  ];
}

/** Version 3 had no numbers of logs. */
const LOGS_ANEW = [
  LOGS,
  "insert into logs select log, row_number() over (order by log) from (select distinct log from events)",
];

/** Rows of version 4, which had no patterns and attributes, but hashes. @param rows in its form */
function withPatterns(rows: string): string {
  return `select * exclude (hash, folded, log_number, folded_pattern),
      if(folded is null and folded_pattern is null, null, struct_pack(text := folded.text, link := folded.link,
        pattern := folded_pattern, tags := folded.tags, source := folded.source, "user" := folded."user",
        class := folded.class)),
      log_number, pattern_of(text), null, null
    from (select *, folded_pattern_of(text) as folded_pattern from (${rows}))`;
}

/** Rows of version 2, which had lists of tags and compared tags without a folded form as given. */
const ROWS_OF_LISTS = `select * exclude (folded_tags) replace (
     if(folded is null and folded_tags is null, null, struct_pack(text := folded.text, link := folded.link,
       tags := folded_tags, source := folded.source, "user" := folded."user", class := folded.class)) as folded)
   from (select * replace (${lineOfList("tags")} as tags),
       nullif(${lineOfList("coalesce(folded.tags, tags)")}, lower(${lineOfList("tags")})) as folded_tags
     from events_before)`;

function lineOfList(list: string): string {
  const line = `'${TAG_SEPARATOR}' || array_to_string(${list}, '${TAG_SEPARATOR}') || '${TAG_SEPARATOR}'`;
  return `if(len(${list}) = 0, '', ${line})`;
}

/** Registers a function of texts for use in SQL. */
function registerTextFunction(connection: DuckDBConnection, name: string, of: (text: string) => string | null): void {
  connection.registerScalarFunction(
    DuckDBScalarFunction.create({
      name,
      parameterTypes: [VARCHAR],
      returnType: VARCHAR,
      mainFunction(_, input, output) {
        const texts = input.getColumnVector(0);
        for (let row = 0; row < input.rowCount; row++) output.setItem(row, of(texts.getItem(row) as string));
        output.flush();
      },
    }),
  );
}
