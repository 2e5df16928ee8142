import type { DuckDBConnection } from "@duckdb/node-api";
import { setTimeout as sleep } from "node:timers/promises";
import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import { runForCaller } from "../../../../src/caller-context.ts";
import { ClientGone, LoggiaError } from "../../../../src/errors.ts";
import { Database } from "../../../../src/store/duckdb/database/database.ts";
import { transaction } from "../../../../src/store/duckdb/database/transaction.ts";
import { openDatabase } from "./open-database.ts";
import { temporaryFolder } from "../../../support/temporary.ts";
import { Scheduler } from "../../../../src/scheduling/scheduler.ts";

// Queries of minutes run one after the other: each occupies one of the few threads of libuv's pool,
// which all test files of a run share. If all wait behind such queries, nothing ends them.

/** Runs work for a caller who has half of a second left of the time for a query. */
function withLittleTime<T>(work: () => Promise<T>): Promise<T> {
  return runForCaller("ann", () => {
    // For good, as this clock is never set back.
    const now = performance.now.bind(performance);
    performance.now = () => now() + 49_500;
    return work();
  });
}

test.serial("the next read works if the rollback of a transaction was interrupted too", async (t) => {
  const file = join(temporaryFolder(t), "events.duckdb");
  await using database = await openDatabase({ file, memoryLimit_mb: 256 });
  // Only this caller's read is to be interrupted.
  const late = withLittleTime(() =>
    database.read(async (connection) => {
      await connection.run("begin");
      // Takes minutes. The interrupt also hits the end of the transaction, so nothing ends it.
      await connection.run("select sum(a.range * b.range) from range(1000000) a, range(1000000) b");
    }),
  );
  t.is((await t.throwsAsync(late, { instanceOf: LoggiaError })).code, "overloaded");
  for (let i = 0; i < 4; i++) {
    const one = await database.read((connection) =>
      transaction(connection, async () => (await connection.runAndReadAll("select 1")).getRows()),
    );
    t.deepEqual(one, [[1]]);
  }
});

test.serial("a read is interrupted when its client disconnects, and waits for no other reader", async (t) => {
  const file = join(temporaryFolder(t), "events.duckdb");
  await using database = await openDatabase({ file, memoryLimit_mb: 256 });
  const leaving = new AbortController();
  const started = Promise.withResolvers<void>();
  const read = (work: () => void) =>
    runForCaller(
      "ann",
      () =>
        database.read(async (connection) => {
          work();
          // Takes minutes.
          await connection.run("select sum(a.range * b.range) from range(1000000) a, range(1000000) b");
        }),
      leaving.signal,
    );
  let isServed = false;
  const running = read(started.resolve);
  const waiting = read(() => (isServed = true));
  await started.promise;
  leaving.abort();
  await t.throwsAsync(waiting, { instanceOf: ClientGone });
  await t.throwsAsync(running, { instanceOf: ClientGone });
  t.false(isServed);
  await t.throwsAsync(
    read(() => (isServed = true)),
    { instanceOf: ClientGone },
  );
  t.false(isServed);
  const rows = await runForCaller("ann", () => database.read((connection) => connection.runAndReadAll("select 1")));
  t.deepEqual(rows.getRows(), [[1]]);
});

test("the next read works if the rollback of a transaction failed too", async (t) => {
  const file = join(temporaryFolder(t), "events.duckdb");
  await using database = await openDatabase({ file, memoryLimit_mb: 64 });
  const noMemory = () => Promise.reject(new Error("Out of Memory Error: failed to allocate data of size 32.0 KiB"));
  const fail = async (connection: DuckDBConnection): Promise<void> => {
    const run = connection.run.bind(connection);
    connection.run = (sql, ...given) => (sql === "rollback" ? noMemory() : run(sql, ...given));
    await connection.run("insert into marks values ('left', 'over')");
    await connection.run("select error('it fails')");
  };
  const values = (connection: DuckDBConnection) =>
    transaction(connection, async () => (await connection.runAndReadAll("select value from marks")).getRows());
  for (let i = 0; i < 4; i++) {
    // There are two readers, so each gets one of them.
    const failing = [0, 1].map(() => database.read((connection) => transaction(connection, () => fail(connection))));
    for (const read of failing) await t.throwsAsync(read, { message: /it fails/ });
    t.deepEqual(await Promise.all([0, 1].map(() => database.read(values))), [[], []]);
  }
  await t.throwsAsync(database.write(fail), { message: /it fails/ });
  await database.write((connection) => connection.run("insert into marks values ('new', 'written')"));
  t.deepEqual(await database.read(values), [["written"]]);
});

for (const reason of [
  "TransactionContext Error: Failed to commit: failed to pin block of size 256.0 KiB (30.2 MiB/30.5 MiB used)",
  "Failed to append: could not allocate block of size 32.0 KiB (30.5 MiB/30.5 MiB used)",
  "Out of Memory Error: failed to allocate data of size 4.0 KiB (30.5 MiB/30.5 MiB used)",
]) {
  test.serial(`a write out of memory reopens the file, and no query delays that: ${reason}`, async (t) => {
    let reopened = 0;
    const log = pino({ level: "error" }, { write: (line: string) => void (reopened += /reopened/.test(line) ? 1 : 0) });
    const file = join(temporaryFolder(t), "events.duckdb");
    await using database = await openDatabase({ file, log, memoryLimit_mb: 64 });
    await database.write((connection) => connection.run("insert into marks values ('first', 'kept')"));
    const started = Promise.withResolvers<void>();
    const long = database.read((connection) => {
      started.resolve();
      // Takes minutes.
      return connection.run("select sum(a.range * b.range) from range(1000000) a, range(1000000) b");
    });
    await started.promise;
    const failing = database.write(async (connection) => {
      await connection.run("insert into marks values ('second', 'not written')");
      throw new Error(reason);
    });
    await Promise.all([t.throwsAsync(failing, { message: reason }), t.throwsAsync(long, { message: /INTERRUPT/ })]);
    t.is(reopened, 1);
    await database.write((connection) => connection.run("insert into marks values ('third', 'written')"));
    const rows = await database.read((connection) => connection.runAndReadAll("select value from marks order by 1"));
    t.deepEqual(rows.getRows(), [["kept"], ["written"]]);
  });
}

const NO_SPACE = "TransactionContext Error: Failed to commit: Could not write file: No space left on device";

test.serial(
  "a query that runs when a write finds the disk full is answered, and so are new ones at once",
  async (t) => {
    const log = pino({ level: "silent" });
    const file = join(temporaryFolder(t), "events.duckdb");
    const options = { file, log, memoryLimit_mb: 64, threads: 1, readTimeout_ms: 600_000, reopenPause_ms: 600_000 };
    await using database = await Database.open({ ...options, scheduler: new Scheduler() });
    await database.write((connection) => connection.run("insert into marks values ('first', 'kept')"));
    const started = Promise.withResolvers<void>();
    let attempts = 0;
    const running = database.read(async (connection) => {
      attempts += 1;
      started.resolve();
      // Takes minutes.
      if (attempts === 1) await connection.run("select sum(a.range * b.range) from range(1000000) a, range(1000000) b");
      return (await connection.runAndReadAll("select value from marks")).getRows();
    });
    await started.promise;
    await t.throwsAsync(
      database.write(async (connection) => {
        await connection.run("insert into marks values ('second', 'not written')");
        throw new Error(NO_SPACE);
      }),
      { message: NO_SPACE },
    );
    t.deepEqual(await running, [["kept"]]);
    t.is(attempts, 2);
    const later = await database.read((connection) => connection.runAndReadAll("select value from marks"));
    t.deepEqual(later.getRows(), [["kept"]], "although nothing is written");
  },
);

test("a read that finds the database invalidated, as after a failed checkpoint, is run again", async (t) => {
  const file = join(temporaryFolder(t), "events.duckdb");
  await using database = await openDatabase({ file, memoryLimit_mb: 64 });
  let attempts = 0;
  const found = await database.read(async (connection) => {
    attempts += 1;
    if (attempts === 1) throw new Error("FATAL Error: Failed: database has been invalidated");
    return (await connection.runAndReadAll("select 1")).getRows();
  });
  t.deepEqual(found, [[1]]);
});

test("queries wait for the write after one that ran out of memory, and for no other", async (t) => {
  const log = pino({ level: "silent" });
  const open = (reopenPause_ms: number) => {
    const file = join(temporaryFolder(t), "events.duckdb");
    return Database.open({
      file,
      scheduler: new Scheduler(),
      log,
      memoryLimit_mb: 64,
      threads: 1,
      readTimeout_ms: 600_000,
      reopenPause_ms,
    });
  };
  const fail = (database: Database) =>
    t.throwsAsync(database.write(() => Promise.reject(new Error("Out of Memory Error: failed to allocate data"))));
  const values = async (database: Database): Promise<unknown> =>
    database.read(async (connection) => (await connection.runAndReadAll("select value from marks")).getRows());
  await using database = await open(600_000);
  const failing = fail(database);
  // More queries than readers, so that some wait for a reader when the file is closed.
  const begunBefore = Array.from({ length: 4 }, () => values(database));
  await failing;
  const begunAfter = Array.from({ length: 4 }, () => values(database));
  // The delay of the pipeline before a retry.
  await sleep(100);
  await database.write((connection) => connection.run("insert into marks values ('first', 'written')"));
  for (const found of await Promise.all(begunAfter)) t.deepEqual(found, [["written"]]);
  for (const { status } of await Promise.allSettled(begunBefore)) t.is(status, "fulfilled");
  await using other = await open(100);
  await other.write((connection) => connection.run("insert into marks values ('first', 'written')"));
  await fail(other);
  t.deepEqual(await values(other), [["written"]], "answered although nothing is written");
});
