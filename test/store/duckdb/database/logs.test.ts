import { DuckDBInstance } from "@duckdb/node-api";
import type { DuckDBConnection } from "@duckdb/node-api";
import test from "ava";
import type { ExecutionContext } from "ava";

import type { LogKey } from "../../../../src/events/event.ts";
import { LogNumbers } from "../../../../src/store/duckdb/database/logs.ts";
import { TABLES } from "../../../../src/store/duckdb/database/schema.ts";

const [SHOP, MAIL, BLOG] = ["shop", "mail", "blog"] as LogKey[] as [LogKey, LogKey, LogKey];

async function connect(t: ExecutionContext): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(":memory:");
  t.teardown(() => instance.closeSync());
  const connection = await instance.connect();
  await connection.run(TABLES.logs);
  return connection;
}

async function stored(connection: DuckDBConnection): Promise<readonly unknown[]> {
  return (await connection.runAndReadAll("select log, number from logs order by number")).getRows();
}

test("a log keeps its number, also after a restart", async (t) => {
  const connection = await connect(t);
  const logs = await LogNumbers.read(connection);
  t.is(logs.get(SHOP), undefined);
  t.deepEqual(
    [SHOP, MAIL, SHOP, SHOP, MAIL].map((log) => logs.numberOf(log)),
    [1, 2, 1, 1, 2],
  );
  t.is(logs.get(MAIL), 2);
  await logs.write(connection);
  await logs.write(connection);
  logs.numberOf(BLOG);
  await logs.write(connection);
  const expected = [
    ["shop", 1],
    ["mail", 2],
    ["blog", 3],
  ];
  t.deepEqual(await stored(connection), expected);
  const again = await LogNumbers.read(connection);
  t.deepEqual(
    [BLOG, SHOP, "new" as LogKey, MAIL].map((log) => again.numberOf(log)),
    [3, 1, 4, 2],
  );
  t.deepEqual(await stored(connection), expected);
});

test("numbers of a rolled back transaction are written by the next one", async (t) => {
  const connection = await connect(t);
  const logs = await LogNumbers.read(connection);
  logs.numberOf(SHOP);
  await connection.run("begin");
  await logs.write(connection);
  await connection.run("rollback");
  t.deepEqual(await stored(connection), []);
  logs.numberOf(MAIL);
  for (let i = 0; i < 3; i++) {
    await connection.run("begin");
    await logs.write(connection);
    await connection.run("commit");
  }
  t.deepEqual(await stored(connection), [
    ["shop", 1],
    ["mail", 2],
  ]);
});

test("a number that was never written is free after a restart", async (t) => {
  const connection = await connect(t);
  const logs = await LogNumbers.read(connection);
  logs.numberOf(SHOP);
  await logs.write(connection);
  logs.numberOf(MAIL);
  const again = await LogNumbers.read(connection);
  t.is(again.get(MAIL), undefined);
  t.is(again.numberOf(BLOG), 2);
});
