import test from "ava";
import { writeFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { openSqliteDocuments } from "../../../src/catalog/documents/sqlite.ts";
import { LoggiaError, StartError } from "../../../src/errors.ts";
import { temporaryFolder } from "../../support/temporary.ts";

test("makes the folders above its file, which only its owner can read", async (t) => {
  const file = join(temporaryFolder(t), "a", "b", "catalog.sqlite");
  await using documents = await openSqliteDocuments({ file });
  await documents.create("a", {});
  t.is(statSync(file).mode & 0o777, 0o600);
  t.is(statSync(`${file}-wal`).mode & 0o777, 0o600);
});

test("refuses a file that is no database", async (t) => {
  const file = join(temporaryFolder(t), "catalog.sqlite");
  writeFileSync(file, "This is a letter to my aunt, and not a database at all.\n".repeat(100));
  await t.throwsAsync(openSqliteDocuments({ file }), { instanceOf: StartError, message: /catalog\.sqlite.*database/ });
});

test("refuses a folder in the place of its file", async (t) => {
  const file = temporaryFolder(t);
  await t.throwsAsync(openSqliteDocuments({ file }), { instanceOf: StartError, message: /cannot be opened/ });
});

test("refuses a database of something else, and leaves it as it was", async (t) => {
  const file = join(temporaryFolder(t), "other.sqlite");
  const other = new DatabaseSync(file);
  other.exec("CREATE TABLE recipes (name TEXT)");
  other.close();
  await t.throwsAsync(openSqliteDocuments({ file }), { instanceOf: StartError, message: /none of Loggia's documents/ });
  const again = new DatabaseSync(file);
  t.deepEqual(
    again
      .prepare("SELECT name FROM sqlite_master")
      .all()
      .map((row) => row["name"]),
    ["recipes"],
  );
  again.close();
});

test("refuses a layout of a later release", async (t) => {
  const file = join(temporaryFolder(t), "catalog.sqlite");
  await (await openSqliteDocuments({ file }))[Symbol.asyncDispose]();
  const database = new DatabaseSync(file);
  database.exec("PRAGMA user_version = 2");
  database.close();
  await t.throwsAsync(openSqliteDocuments({ file }), { instanceOf: StartError, message: /layout 2.*reads layout 1/ });
});

test("says that it is unavailable once it is closed", async (t) => {
  const file = join(temporaryFolder(t), "catalog.sqlite");
  const documents = await openSqliteDocuments({ file });
  await documents[Symbol.asyncDispose]();
  await t.throwsAsync(documents.ping(), { instanceOf: LoggiaError, code: "store_unavailable" });
  await t.throwsAsync(documents.create("a", {}), { instanceOf: LoggiaError, code: "store_unavailable" });
  await t.notThrowsAsync(documents[Symbol.asyncDispose]());
});
