import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import { LoggiaError } from "../../../src/errors.ts";
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
