import { DatabaseSync } from "node:sqlite";

/**
 * Makes every write to documents in a SQLite file fail, as on a full disk. Reads go on.
 * @returns makes room again
 */
export function fillDocuments(file: string): () => void {
  const fails = "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END";
  run(
    file,
    `CREATE TRIGGER full_insert BEFORE INSERT ON documents ${fails};
     CREATE TRIGGER full_update BEFORE UPDATE ON documents ${fails};`,
  );
  return () => run(file, "DROP TRIGGER full_insert; DROP TRIGGER full_update");
}

function run(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}
