import type { DatabaseSync } from "node:sqlite";
import { StartError } from "../../errors.ts";
import type { Topic } from "../bus.ts";

const VERSION = 3;
/** "Logg". Tells a file of the bus from a database of another application. */
const APPLICATION_ID = 0x4c6f6767;

const SCHEMA = `
  CREATE TABLE events (
    offset INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, value BLOB NOT NULL, appended INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE dead_letters (
    offset INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, value BLOB NOT NULL, appended INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE alerts (
    offset INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, value BLOB NOT NULL, appended INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE group_offsets (
    topic TEXT NOT NULL, name TEXT NOT NULL, next INTEGER NOT NULL, PRIMARY KEY (topic, name)
  ) STRICT, WITHOUT ROWID;
  -- The offset that every group of a topic had acknowledged at a moment.
  CREATE TABLE taken (
    topic TEXT NOT NULL, at INTEGER NOT NULL, next INTEGER NOT NULL, PRIMARY KEY (topic, at)
  ) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${VERSION};
`;

export const TABLE_OF = {
  events: "events",
  "dead-letters": "dead_letters",
  alerts: "alerts",
} as const satisfies Record<Topic, string>;

/** Creates the tables of a new file, and checks the version of an existing one. @throws StartError */
export function prepareSchema(db: DatabaseSync, file: string): void {
  const version = pragma(db, "user_version");
  const application = pragma(db, "application_id");
  const tables = Number(db.prepare("SELECT count(*) AS tables FROM sqlite_schema").get()?.["tables"]);
  if (version === 0 && application === 0 && tables === 0) {
    db.exec(SCHEMA);
  } else if (application !== APPLICATION_ID) {
    throw new StartError(`The bus file ${file} cannot be used: it is a database of another application`);
  } else if (version !== VERSION) {
    throw new StartError(
      `The bus file ${file} cannot be used: its layout is version ${version}, this process reads ${VERSION}; ` +
        "start the release that wrote it",
    );
  }
}

export function pragma(db: DatabaseSync, name: string): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}
