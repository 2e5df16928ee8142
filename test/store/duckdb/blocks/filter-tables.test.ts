import { blobValue, DuckDBInstance } from "@duckdb/node-api";
import test from "ava";

import { FilterTables } from "../../../../src/store/duckdb/blocks/filter-tables.ts";
import { TokenFilter } from "../../../../src/store/duckdb/blocks/token-filter.ts";
import { TokenList } from "../../../../src/store/duckdb/blocks/token-list.ts";
import { event, idAt, listPlan, MORNING, newLog, write } from "../../../contract/store-fixture.ts";
import {
  blocksIn,
  contains,
  eventOf,
  findsAll,
  newFile,
  open,
  randomFrom,
  runIn,
  setFilters,
  tablesIn,
  writeSome,
} from "./blocks-fixture.ts";

test("filter tables hold a fixed number of filters, and a checkpoint rewrites no full table", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const events = await writeSome(t, file, log, 5);
  t.deepEqual(await tablesIn(file), { token_blocks: 5, token_blocks_1: 5, token_blocks_2: 2 });
  const places = (table: string) =>
    runIn(file, `select block_id, block_offset from pragma_storage_info('${table}') where segment_type = 'BLOB'`);
  const before = [await places("token_blocks"), await places("token_blocks_2")];
  {
    await using store = await open(file, 10, { tableBlocks: 5 });
    const random = randomFrom(17);
    const more = Array.from({ length: 20 }, (_, i) => eventOf(log, random, MORNING + 20_000_000 + i));
    for (const half of [more.slice(0, 10), more.slice(10)]) await write(t, store, half);
    await findsAll(t, store, [...events, ...more]);
  }
  t.deepEqual(await tablesIn(file), { token_blocks: 5, token_blocks_1: 5, token_blocks_2: 4 });
  const after = [await places("token_blocks"), await places("token_blocks_2")];
  t.true(before[0]!.length > 0);
  t.deepEqual(after[0], before[0]);
  t.notDeepEqual(after[1], before[1], "this one has changed");
});

test("an unreadable filter table is rebuilt, and no other", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const events = await writeSome(t, file, log, 5);
  await runIn(file, "alter table token_blocks_1 drop column filter");
  {
    await using store = await open(file, 10, { tableBlocks: 5 });
    await findsAll(t, store, events);
    await store.indexed();
    await findsAll(t, store, events);
  }
  t.deepEqual(await tablesIn(file), { token_blocks: 5, token_blocks_1: 0, token_blocks_2: 5, token_blocks_3: 2 });
});

test("late events and retention remove filters from all tables, and empty tables are dropped", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const events = await writeSome(t, file, log, 3);
  const empty = TokenFilter.of(new TokenList()).encode();
  const all = Object.keys(await tablesIn(file));
  t.is(all.length, 4);
  // These filters exclude every word, so an event is found only once its filter is removed.
  for (const table of all) await runIn(file, `update ${table} set filter = $1`, [blobValue(empty)]);
  const late = [1, 4, 7, 10].map((block) =>
    event(log, { id: idAt(MORNING + block * 1_000_000 + 500), text: `request=verylate-${block}-x of customer` }),
  );
  {
    await using store = await open(file, 10, { tableBlocks: 3 });
    await write(t, store, late);
    await findsAll(t, store, late);
  }
  {
    await using store = await open(file, 10, { tableBlocks: 3 });
    await store.indexed();
    await findsAll(t, store, late);
    await store.deleteExpired({ before: new Map([[log, MORNING + 9_900_000]]), markersBefore: null });
    await findsAll(t, store, events.slice(100, 110));
  }
  const left = await tablesIn(file);
  t.false("token_blocks_1" in left);
  t.true(Object.values(left).reduce((sum, count) => sum + count) <= 6, JSON.stringify(left));
});

test("a store keeps working after rolling back a transaction that created a filter table", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const events = await writeSome(t, file, log, 6);
  t.deepEqual(await tablesIn(file), { token_blocks: 6, token_blocks_1: 6 });
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  const tables = new FilterTables(6);
  for (const name of await tables.names(connection)) for await (const _ of tables.read(connection, name));
  const block = (n: number) => ({ first: BigInt(n), last: BigInt(n), encoded: new Uint8Array(99) });
  for (let n = 0; n < 14; n++) {
    await connection.run("begin");
    await tables.insert(connection, block(n));
    t.true(await tables.has(connection, block(n)));
    await connection.run("rollback");
  }
  t.deepEqual(await tables.names(connection), ["token_blocks", "token_blocks_1"]);
  t.false(await tables.has(connection, block(3)));
  await tables.insert(connection, block(20));
  await tables.remove(connection, block(20));
  connection.closeSync();
  instance.closeSync();
  await using store = await open(file, 10);
  await findsAll(t, store, events);
});

test("filters of the oldest blocks that exceed the memory limit are used from a file", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const random = randomFrom(5);
  const batches = Array.from({ length: 25 }, (_, batch) =>
    Array.from({ length: 4 }, (_, i) => eventOf(log, random, MORNING + batch * 1_000_000 + i * 1_000)),
  );
  {
    await using store = await open(file, 4);
    for (const batch of batches.slice(0, 24)) await write(t, store, batch);
  }
  const empty = TokenFilter.of(new TokenList());
  await setFilters(file, empty.encode());
  {
    await using store = await open(file, 4, { filterLimit_mb: (12 * empty.size) / 2 ** 20 });
    const isFound = async (batch: number): Promise<boolean> =>
      (await store.list(listPlan(log, { where: contains(batches[batch]![0]!.text) }))).total === 1;
    t.deepEqual(
      [await isFound(0), await isFound(11), await isFound(12), await isFound(23)],
      [false, false, false, false],
    );
    // The new filter moves older ones to the file.
    await write(t, store, batches[24]!);
    t.deepEqual([await isFound(24), await isFound(12), await isFound(0)], [true, false, false]);
  }
  t.is(await blocksIn(file), 25);
});
