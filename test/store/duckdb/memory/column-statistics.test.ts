import { DuckDBInstance } from "@duckdb/node-api";
import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import { AttributeColumns } from "../../../../src/store/duckdb/database/attributes.ts";
import { ColumnStatistics } from "../../../../src/store/duckdb/memory/column-statistics.ts";
import { LogNumbers } from "../../../../src/store/duckdb/database/logs.ts";
import { AnnotatedLogs } from "../../../../src/store/duckdb/memory/annotated-logs.ts";
import { ListTimesCache } from "../../../../src/store/duckdb/memory/list-times-cache.ts";
import { openDuckdbStore } from "../../../../src/store/duckdb/store.ts";
import { TimeSums } from "../../../../src/store/duckdb/memory/time-sums.ts";
import { TABLES } from "../../../../src/store/duckdb/database/schema.ts";
import { fold } from "../../../../src/events/text.ts";
import type { Store } from "../../../../src/store/store.ts";
import { event, listPlan, MORNING, newLog, write } from "../../../contract/store-fixture.ts";
import { temporaryFolder } from "../../../support/temporary.ts";
import { emptyBlockIndex } from "../blocks/blocks-fixture.ts";

test("concurrent callers get the range of events, and a failed lookup is repeated", async (t) => {
  const instance = await DuckDBInstance.create(":memory:");
  t.teardown(() => instance.closeSync());
  const connections = [await instance.connect(), await instance.connect()];
  const statistics = new ColumnStatistics({
    logs: new LogNumbers(),
    attributes: new AttributeColumns(1024),
    blocks: emptyBlockIndex(),
    annotatedLogs: new AnnotatedLogs(),
    listTimes: new ListTimesCache({ changeVersion: 0, writeVersion: 0 }),
    sums: new TimeSums({ mutationVersion: 0, writeVersion: 0 }, 0),
  });
  await t.throwsAsync(statistics.extent(connections[0]!), { message: /events does not exist/ });
  await connections[0]!.run("create table events as select unnest([5000, 3000, 9000])::bigint as created");
  const all = await Promise.all(connections.map((connection) => statistics.extent(connection)));
  t.deepEqual(all, [
    { count: 3, first: 3000, last: 9000 },
    { count: 3, first: 3000, last: 9000 },
  ]);
});

test("users are found in any case, whether written before or after the first query for them", async (t) => {
  const options = { file: join(temporaryFolder(t), "events.duckdb"), log: pino({ level: "silent" }), threads: 1 };
  const log = newLog();
  const users: string[] = [];
  const hold = async (store: Store, what: string): Promise<void> => {
    for (const value of ["ann", "kelvin", "\u00e5sa"]) {
      const where = { kind: "text", field: "user", op: "=", value } as const;
      const expected = users.filter((user) => fold(user) === value);
      const { rows, total } = await store.list(listPlan(log, { where }));
      t.deepEqual({ found: rows.map(({ user }) => user), total }, { found: expected, total: expected.length }, what);
    }
  };
  const add = async (store: Store, ...some: readonly string[]): Promise<void> => {
    for (const user of some) await write(t, store, [event(log, { user, created: MORNING + users.push(user) })]);
  };
  {
    await using store = await openDuckdbStore(options);
    await add(store, "ann", "bob", "kelvin", "\u00e5sa");
    await hold(store, "in lower case");
    // The Kelvin sign and the letter with a ring fold to ordinary letters.
    await add(store, "\u212aelvin", "\u00c5sa");
    await hold(store, "beside others that are not of ASCII");
  }
  {
    await using store = await openDuckdbStore(options);
    await hold(store, "opened anew");
    await add(store, "Ann", "ANN", "ann");
    await hold(store, "with some in upper case");
  }
  await using store = await openDuckdbStore(options);
  await hold(store, "opened anew, with some in upper case");
});

test("a user in upper case that is written during a query is found", async (t) => {
  const instance = await DuckDBInstance.create(":memory:");
  t.teardown(() => instance.closeSync());
  const connection = await instance.connect();
  await connection.run(TABLES.events);
  const statistics = new ColumnStatistics({
    logs: new LogNumbers(),
    attributes: new AttributeColumns(1024),
    blocks: emptyBlockIndex(),
    annotatedLogs: new AnnotatedLogs(),
    listTimes: new ListTimesCache({ changeVersion: 0, writeVersion: 0 }),
    sums: new TimeSums({ mutationVersion: 0, writeVersion: 0 }, 0),
  });
  const known: boolean[] = [];
  await statistics.runQuery(connection, async ({ statistics: all }) => {
    known.push(all.has("upper-user"));
    statistics.addUsers([event(newLog(), { user: known.length > 1 ? "bob" : "Ann" })]);
  });
  t.deepEqual(known, [false, true]);
});
