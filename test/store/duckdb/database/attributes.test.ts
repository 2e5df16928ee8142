import { DuckDBInstance } from "@duckdb/node-api";
import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import { AttributeColumns } from "../../../../src/store/duckdb/database/attributes.ts";
import { openDuckdbStore } from "../../../../src/store/duckdb/store.ts";
import type { DuckdbStore } from "../../../../src/store/duckdb/store.ts";
import type { AttributeField, Condition } from "../../../../src/query/plan.ts";
import { event, groupPlan, listPlan, newLog, row, write } from "../../../contract/store-fixture.ts";
import { temporaryFolder } from "../../../support/temporary.ts";

const SILENT = pino({ level: "silent" });
const COUNT = { kind: "count", where: null } as const;

function open(file: string): Promise<DuckdbStore> {
  return openDuckdbStore({ file, log: SILENT, memoryLimit_mb: 256, threads: 1 });
}

async function rowsOf(file: string, sql: string): Promise<unknown[]> {
  const instance = await DuckDBInstance.create(file);
  try {
    return (await (await instance.connect()).runAndReadAll(sql)).getRowsJson();
  } finally {
    instance.closeSync();
  }
}

const COLUMNS =
  "select column_name, data_type from duckdb_columns() where column_name like 'attribute\\_%' escape '\\'";

test("logs share attribute columns and find only their own values, before and after a restart", async (t) => {
  const file = join(temporaryFolder(t), "events.duckdb");
  const [first, second, third] = [newLog(), newLog(), newLog()];
  const where: Condition = { kind: "number", field: "@status", op: "=", value: 500 };
  const found = async (store: DuckdbStore, logs = [first, second, third]): Promise<number> =>
    (await store.list(listPlan(logs, { where }))).total;
  {
    await using store = await open(file);
    await write(t, store, [event(first, { attributes: '{"host":"a","status":500}' })]);
    t.is(await found(store), 1);
    await write(t, store, [event(second, { attributes: '{"size":500,"status":500}' }), event(third)]);
    t.deepEqual([await found(store), await found(store, [second])], [2, 1]);
  }
  t.deepEqual(await rowsOf(file, COLUMNS), [
    ["attribute_0", "VARCHAR"],
    ["attribute_1", "DOUBLE"],
    ["attribute_2", "DOUBLE"],
  ]);
  t.deepEqual(await rowsOf(file, "select count(*) from events where others is not null"), [["0"]]);
  await using store = await open(file);
  t.deepEqual([await found(store), await found(store, [first])], [2, 1]);
  await write(t, store, [event(third, { attributes: '{"status":"500"}' })]);
  t.is(await found(store), 3);
});

test("ten thousand attributes of one log take no columns from it or from other logs, and are found", async (t) => {
  const file = join(temporaryFolder(t), "events.duckdb");
  const [odd, usual] = [newLog(), newLog()];
  const events = Array.from({ length: 10_000 }, (_, i) =>
    event(odd, { attributes: `{"name${i}":${i},"often":"x"}`, source: String(i) }),
  );
  {
    await using store = await open(file);
    await write(t, store, events);
    await write(t, store, [event(usual, { attributes: '{"host":"a"}' })]);
    const where: Condition = { kind: "number", field: "@name7777", op: ">=", value: 1 };
    t.deepEqual((await store.list(listPlan(odd, { where }))).rows, [row(events[7777]!)]);
    const often = await store.group(groupPlan(odd, { by: [{ kind: "field", field: "@often" }], aggregates: [COUNT] }));
    t.deepEqual(often, [{ keys: ["x"], values: [10_000] }]);
    const names = await store.attributeNames(odd);
    t.is(names.length, 10_000);
    t.true(names.includes("often"));
    const { fields } = await store.fields({ log: odd, from: null, to: null, prefix: "@name77", values: 1 });
    t.is(fields.length, 111);
  }
  const columns = await rowsOf(file, COLUMNS);
  t.true(columns.length <= 2, `${columns.length} columns`);
});

test("attributes that occur in one event each take few columns", async (t) => {
  const file = join(temporaryFolder(t), "events.duckdb");
  const log = newLog();
  {
    await using store = await open(file);
    for (let i = 0; i < 60; i++) await write(t, store, [event(log, { attributes: `{"name${i}":${i}}` })]);
    for (const i of [0, 20, 59]) {
      const field: AttributeField = `@name${i}`;
      t.is((await store.list(listPlan(log, { where: { kind: "number", field, op: "=", value: i } }))).total, 1);
    }
  }
  const columns = await rowsOf(file, COLUMNS);
  t.true(columns.length <= 16, `${columns.length} columns`);
});

test("an attribute that becomes frequent gets a column, and earlier values are still found", async (t) => {
  const file = join(temporaryFolder(t), "events.duckdb");
  const log = newLog();
  const rare = Array.from({ length: 256 }, (_, i) => event(log, { attributes: i === 3 ? '{"late":"X"}' : '{"a":1}' }));
  const often = Array.from({ length: 2048 }, () => event(log, { attributes: '{"late":"x"}' }));
  {
    await using store = await open(file);
    await write(t, store, rare);
    await write(t, store, often);
    const where: Condition = { kind: "text", field: "@late", op: "=", value: "x" };
    t.is((await store.list(listPlan(log, { where }))).total, 2049);
    const groups = await store.group(groupPlan(log, { by: [{ kind: "field", field: "@late" }], aggregates: [COUNT] }));
    t.deepEqual(groups, [
      { keys: [null], values: [255] },
      { keys: ["X"], values: [1] },
      { keys: ["x"], values: [2048] },
    ]);
  }
  t.deepEqual(await rowsOf(file, "select count(*) > 0 and count(*) < 500 from events where others is not null"), [
    [true],
  ]);
});

test("an attribute gets a column, however many names other logs have meanwhile", (t) => {
  const columns = new AttributeColumns(1024);
  const [calm, late] = [1, JSON.stringify({ late: 1 })];
  const spread = (log: number, attributes: string, count: number): void => {
    columns.spread(Array.from({ length: count }, () => ({ log, attributes })));
  };
  spread(calm, "{}", 1024);
  for (let round = 0; round < 8; round++) {
    for (let log = 2; log < 22; log++) {
      const names = Array.from({ length: 1_000 }, (_, i) => [`n${round}-${i}`, 1] as const);
      spread(log, JSON.stringify(Object.fromEntries(names)), 1);
    }
    spread(calm, late, 30);
  }
  t.deepEqual(columns.namesOf(calm), []);
  spread(calm, late, 20);
  t.deepEqual(columns.namesOf(calm), ["late"]);
});
