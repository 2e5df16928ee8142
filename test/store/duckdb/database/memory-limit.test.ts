import test from "ava";
import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { runForCaller } from "../../../../src/caller-context.ts";
import { ClientGone, LoggiaError } from "../../../../src/errors.ts";
import { openDatabase } from "./open-database.ts";
import { temporaryFolder } from "../../../support/temporary.ts";
import { until } from "../../../support/until.ts";

// Queries of minutes run one after the other: each occupies one of the few threads of libuv's pool,
// which all test files of a run share. If all wait behind such queries, nothing ends them.

/** Builds a list of this many texts, none of which can be spilled to disk meanwhile. */
const listOf = (count: number) => `select list(range::varchar || repeat('a', 30)) as list from range(${count})`;

test.serial("a query that runs out of memory beside an earlier one is retried when that one ends", async (t) => {
  const file = join(temporaryFolder(t), "events.duckdb");
  await using database = await openDatabase({ file, memoryLimit_mb: 64 });
  const leaving = new AbortController();
  const large = runForCaller(
    "ann",
    () =>
      database.read((connection) =>
        // Keeps the list in memory for minutes.
        connection.run(`select count(*) from (${listOf(200_000)}), range(1000000000000) where range % 7 = len(list)`),
      ),
    leaving.signal,
  );
  const used = async (): Promise<number> =>
    database.maintain(async (connection) => {
      const sum = "select sum(memory_usage_bytes)::double from duckdb_memory()";
      return Number((await connection.runAndReadAll(sum)).getRows()[0]![0]);
    });
  await until(async () => (await used()) > 20_000_000, { what: "the memory to be taken" });
  let attempts = 0;
  let failures = 0;
  const small = runForCaller("bob", () =>
    database.read(async (connection) => {
      attempts += 1;
      const sql = `select len(list)::integer from (${listOf(400_000)})`;
      const reader = await connection.runAndReadAll(sql).catch((error: unknown) => {
        failures += 1;
        throw error;
      });
      return reader.getRows();
    }),
  );
  await until(async () => failures === 1, { what: "the first attempt to fail" });
  await t.throwsAsync(Promise.race([small, sleep(500).then(() => Promise.reject(new Error("it waits")))]), {
    message: "it waits",
  });
  leaving.abort();
  await t.throwsAsync(large, { instanceOf: ClientGone });
  t.deepEqual(await small, [[400_000]]);
  t.is(attempts, 2);
});

test.serial("no checkpoint runs while a query may fill the memory that it needs", async (t) => {
  const file = join(temporaryFolder(t), "events.duckdb");
  await using database = await openDatabase({ file, memoryLimit_mb: 256 });
  const logSize = (): number => statSync(`${file}.wal`, { throwIfNoEntry: false })?.size ?? 0;
  const leaving = new AbortController();
  const large = runForCaller(
    "ann",
    () =>
      database.read((connection) => connection.run("select count(*) from range(1000000000000) where range % 7 = 8")),
    leaving.signal,
  );
  await database.write((connection) =>
    connection.run("insert into marks select range::varchar, repeat('x', 100) from range(100000)"),
  );
  const whole = logSize();
  t.true(whole > 4_000_000, `${whole}`);
  await sleep(3_000);
  t.is(logSize(), whole);
  leaving.abort();
  await t.throwsAsync(large, { instanceOf: ClientGone });
  await until(() => logSize() < whole, { what: "the log to be folded in" });
});

test.serial("a query that needs more memory than the limit is refused as such", async (t) => {
  const file = join(temporaryFolder(t), "events.duckdb");
  await using database = await openDatabase({ file, memoryLimit_mb: 64 });
  const large = database.read((connection) => connection.run(listOf(8_000_000)));
  const error = await t.throwsAsync(large, { instanceOf: LoggiaError });
  t.is(error.code, "overloaded");
  t.regex(error.message, /needs more memory/);
});
