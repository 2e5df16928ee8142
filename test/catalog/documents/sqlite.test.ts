import test from "ava";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as turn } from "node:timers/promises";

import { openSqliteDocuments } from "../../../src/catalog/documents/sqlite.ts";
import { LoggiaError, StartError } from "../../../src/errors.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

test("creates the folders of its file, which only its owner can read", async (t) => {
  const file = join(temporaryFolder(t), "a", "b", "catalog.sqlite");
  await using documents = await openSqliteDocuments({ file });
  await documents.create("a", {});
  t.is(statSync(file).mode & 0o777, 0o600);
  t.is(statSync(`${file}-wal`).mode & 0o777, 0o600);
});

test("yields the thread before each write", async (t) => {
  const file = join(temporaryFolder(t), "catalog.sqlite");
  const waiting: (() => void)[] = [];
  const pause = () => new Promise<void>((resolve) => waiting.push(resolve));
  await using documents = await openSqliteDocuments({ file, pause });
  const next = async <T>(write: Promise<T>, before: object | null): Promise<T> => {
    t.deepEqual((await documents.read("a"))?.body ?? null, before);
    waiting.shift()!();
    return await write;
  };
  const created = await next(documents.create("a", { n: 1 }), null);
  if (created.kind !== "done") return t.fail();
  const replaced = await next(documents.replace("a", { n: 2 }, created.version), { n: 1 });
  if (replaced.kind !== "done") return t.fail();
  await next(documents.remove("a", replaced.version), { n: 2 });
  t.is((await documents.read("a"))?.body, null);
});

test("refuses a file that is not a database", async (t) => {
  const file = join(temporaryFolder(t), "catalog.sqlite");
  writeFileSync(file, "This is a letter to my aunt, and not a database at all.\n".repeat(100));
  await t.throwsAsync(openSqliteDocuments({ file }), { instanceOf: StartError, message: /catalog\.sqlite.*database/ });
});

test("refuses a folder in place of its file", async (t) => {
  const file = temporaryFolder(t);
  await t.throwsAsync(openSqliteDocuments({ file }), { instanceOf: StartError, message: /cannot be opened/ });
});

test("refuses another application's database and leaves it unchanged", async (t) => {
  const file = join(temporaryFolder(t), "other.sqlite");
  const other = new DatabaseSync(file);
  other.exec("CREATE TABLE recipes (name TEXT)");
  other.close();
  await t.throwsAsync(openSqliteDocuments({ file }), {
    instanceOf: StartError,
    message: /not one of Loggia's documents/,
  });
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

test("removed and replaced bodies are soon erased from the file and its log", async (t) => {
  const file = join(temporaryFolder(t), "catalog.sqlite");
  await using documents = await openSqliteDocuments({ file, truncateEvery_ms: 10 });
  const has = (text: string) =>
    ["", "-wal"].some((ending) => existsSync(file + ending) && readFileSync(file + ending).includes(text));
  const [large, small] = [`large ${"text ".repeat(4_000)}`, "a small secret"];
  const [one, two] = [await documents.create("a", { large }), await documents.create("b", { small })];
  t.true(has(large.slice(0, 100)) && has(small));
  if (one.kind === "done") await documents.remove("a", one.version);
  if (two.kind === "done") await documents.replace("b", { small: "another" }, two.version);
  await until(() => !has(large.slice(0, 100)) && !has(small), { what: "the texts to be gone" });
  t.true(has("another"));
});

test("a closed store says that it is unavailable", async (t) => {
  const file = join(temporaryFolder(t), "catalog.sqlite");
  const documents = await openSqliteDocuments({ file });
  await documents[Symbol.asyncDispose]();
  await t.throwsAsync(documents.ping(), { instanceOf: LoggiaError, code: "store_unavailable" });
  await t.throwsAsync(documents.create("a", {}), { instanceOf: LoggiaError, code: "store_unavailable" });
  await t.notThrowsAsync(documents[Symbol.asyncDispose]());
});

test("reading thousands of changes yields the thread, and concurrent writes and removals are not skipped", async (t) => {
  const file = join(temporaryFolder(t), "catalog.sqlite");
  await using documents = await openSqliteDocuments({ file });
  const first = await documents.create("first", {});
  if (first.kind === "conflict") return t.fail();
  addDocuments(file, 3_000);
  const reading = documents.changes(null);
  t.is(await Promise.race([reading.then(() => "read"), turn("others had a turn")]), "others had a turn");
  await documents.remove("first", first.version);
  await documents.create("last", {});
  const { documents: all, cursor } = await reading;
  t.is(new Set(all.map(({ id }) => id)).size, all.length, "each once");
  t.true(all.length >= 3_001);
  const after = await documents.changes(cursor);
  const newest = new Map([...all, ...after.documents].map(({ id, body }) => [id, body]));
  t.is(newest.get("first"), null);
  t.deepEqual(newest.get("last"), {});
});

function addDocuments(file: string, count: number): void {
  const database = new DatabaseSync(file, { timeout: 5000 });
  database
    .prepare(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
       INSERT INTO documents (id, version, body)
       SELECT 'of-many-' || n, (SELECT max(version) FROM documents) + n, '{}' FROM numbers`,
    )
    .run(count);
  database.close();
}
