import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import { askedBy } from "../../../src/asker.ts";
import { ClientGone, LoggiaError } from "../../../src/errors.ts";
import { Database, transaction } from "../../../src/store/duckdb/database.ts";
import { temporaryFolder } from "../../support/temporary.ts";

test("a transaction whose end is interrupted as well is over for who reads next", async (t) => {
  const log = pino({ level: "silent" });
  const file = join(temporaryFolder(t), "events.duckdb");
  await using database = await Database.open({ file, log, memoryLimit_mb: 256, threads: 1, readTimeout_ms: 20 });
  const late = database.read(async (connection) => {
    await connection.run("begin");
    // Takes minutes. What ends the transaction is interrupted where this is: nothing ends it.
    await connection.run("select sum(a.range * b.range) from range(1000000) a, range(1000000) b");
  });
  t.is((await t.throwsAsync(late, { instanceOf: LoggiaError })).code, "overloaded");
  for (let i = 0; i < 4; i++) {
    const one = await database.read((connection) =>
      transaction(connection, async () => (await connection.runAndReadAll("select 1")).getRows()),
    );
    t.deepEqual(one, [[1]]);
  }
});

test("what is read for a client that has left is interrupted, and waits for no reader", async (t) => {
  const log = pino({ level: "silent" });
  const file = join(temporaryFolder(t), "events.duckdb");
  await using database = await Database.open({ file, log, memoryLimit_mb: 256, threads: 1, readTimeout_ms: 600_000 });
  const leaving = new AbortController();
  const started = Promise.withResolvers<void>();
  const read = (work: () => void) =>
    askedBy(
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
  const rows = await askedBy("ann", () => database.read((connection) => connection.runAndReadAll("select 1")));
  t.deepEqual(rows.getRows(), [[1]]);
});
