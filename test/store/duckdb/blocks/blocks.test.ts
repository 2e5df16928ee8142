import { blobValue, DuckDBInstance } from "@duckdb/node-api";
import type { DuckDBValue } from "@duckdb/node-api";
import test from "ava";
import type { ExecutionContext } from "ava";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pino } from "pino";

import { killAfterUs } from "../../../../infra/engines/guard.ts";
import type { LogKey, StoredEvent } from "../../../../src/events/event.ts";
import type { Condition } from "../../../../src/query/plan.ts";
import { openDuckdbStore } from "../../../../src/store/duckdb/store.ts";
import type { DuckdbStore } from "../../../../src/store/duckdb/store.ts";
import { FilterTables } from "../../../../src/store/duckdb/blocks/filter-tables.ts";
import { TokenFilter } from "../../../../src/store/duckdb/blocks/token-filter.ts";
import { TokenList } from "../../../../src/store/duckdb/blocks/token-list.ts";
import { event, groupPlan, idAt, listPlan, MORNING, newLog, row, write } from "../../../contract/store-fixture.ts";
import { temporaryFolder } from "../../../support/temporary.ts";
import { writeEvents } from "../../../support/write-events.ts";

const CHILD = resolve(import.meta.dirname, "../child.ts");
const ROUNDS = 3;
const STEPS = 16;
/** More than all events: then there are no blocks. */
const NO_BLOCKS = 1_000_000;

function open(
  file: string,
  blockRows: number,
  limits: { filterLimit_mb?: number; tableBlocks?: number } = {},
): Promise<DuckdbStore> {
  return openDuckdbStore({
    file,
    log: pino({ level: "silent" }),
    blockRows,
    memoryLimit_mb: 128,
    threads: 1,
    ...limits,
  });
}

function newFile(t: ExecutionContext): string {
  return join(temporaryFolder(t), "events.duckdb");
}

/** Runs SQL in a file that no store has open. */
async function runIn(file: string, sql: string, values: DuckDBValue[] = []): Promise<readonly DuckDBValue[][]> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  const rows = (await connection.runAndReadAll(sql, values)).getRows();
  connection.closeSync();
  instance.closeSync();
  return rows;
}

const contains = (value: string): Condition => ({ kind: "contains", field: "text", value });
const matches = (pattern: string): Condition => ({ kind: "matches", field: "text", pattern });
const equals = (field: "source" | "tags" | "user" | `@${string}`, value: string): Condition => ({
  kind: "text",
  field,
  op: "=",
  value,
});

/** An event of which each word is of few events or of its own. */
function eventOf(
  log: LogKey,
  random: (below: number) => number,
  created = MORNING + random(60 * 86_400_000),
): StoredEvent {
  const own = random(2 ** 30).toString(36);
  return event(log, {
    id: idAt(created),
    created: created + random(100_000) - 50_000,
    text: `request=${own}-${random(40)} of customer ${random(20)} Übergrößen${random(10)} ended`,
    tags: [`tag-${random(30)}`, "all"],
    source: `web-${random(30)}`,
    user: random(3) === 0 ? "" : `user-${random(60)}@example.com`,
    attributes:
      random(2) === 0 ? null : `{"http.status":${200 + random(40)},"trace":"t${own}","codes":["a${random(9)}",7]}`,
  });
}

function questionsOf({ text, tags, source, user, attributes }: StoredEvent): Condition[] {
  const [request = ""] = text.split(" ");
  const questions: Condition[] = [
    contains(request),
    contains(text.slice(3, 30).toUpperCase()),
    matches(`${request.slice(0, 14)}.*customer [0-9]`),
    matches(`${request}|of customer 7 Ü`),
    equals("tags", tags[0]!),
    equals("source", source),
    { kind: "or", conditions: [equals("source", source), equals("tags", tags[0]!)] },
    { kind: "and", conditions: [equals("source", source), contains("customer 1")] },
    { kind: "not", condition: equals("source", source) },
    { kind: "in", field: "source", values: [source, "web-1", "web-x"] },
    contains("no such request"),
  ];
  if (user !== "") questions.push(equals("user", user));
  if (attributes !== null) {
    const { trace, ...rest } = JSON.parse(attributes) as { trace: string; "http.status": number };
    questions.push(equals("@trace", trace), {
      kind: "number",
      field: "@http.status",
      op: "=",
      value: rest["http.status"],
    });
  }
  return questions;
}

async function answer(store: DuckdbStore, log: LogKey, where: Condition): Promise<unknown> {
  const newest = listPlan(log, { where, sort: [{ field: "created", direction: "desc" }], take: 5 });
  return {
    page: await store.list(newest),
    few: await store.list(newest, { countUpTo: 3 }),
    rows: await store.rows(listPlan(log, { where, sort: [{ field: "source", direction: "asc" }], skip: 2 })),
    groups: await store.group(groupPlan(log, { where, by: [{ kind: "field", field: "tags" }] })),
  };
}

/** xorshift: a failure is repeated with its seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

for (let round = 1; round <= ROUNDS; round++) {
  test(`a store with blocks answers as one without, whatever was written, deleted and expired (${round} of ${ROUNDS})`, async (t) => {
    const seed = Math.trunc(Math.random() * 2 ** 31);
    t.log(`seed ${seed}`);
    const random = randomFrom(seed);
    const files = [newFile(t), newFile(t)] as const;
    const openBoth = () =>
      Promise.all([open(files[0], 3 + random(20), { tableBlocks: 1 + random(4) }), open(files[1], NO_BLOCKS)]);
    const log = newLog();
    const events: StoredEvent[] = [];
    let stores = await openBoth();
    let now = MORNING;
    const steps: Record<string, () => Promise<unknown>> = {
      async append() {
        const batch = Array.from({ length: 1 + random(30) }, () =>
          eventOf(log, random, (now += 1 + random(10_000_000))),
        );
        events.push(...batch);
        for (const store of stores) await write(t, store, batch);
      },
      async comeLate() {
        const batch = Array.from({ length: 1 + random(5) }, () =>
          eventOf(log, random, MORNING + random(now - MORNING + 1)),
        );
        events.push(...batch);
        for (const store of stores) await write(t, store, batch);
      },
      async writeAgain() {
        const batch = events.slice(random(events.length)).slice(0, 1 + random(30));
        for (const store of stores) await write(t, store, batch);
      },
      async remove() {
        const { id } = events[random(events.length)]!;
        for (const store of stores) await store.deleteEvent(log, id);
      },
      async expire() {
        const before = MORNING + random(Math.ceil((now - MORNING) / 3) + 1);
        for (const store of stores)
          await store.deleteExpired({ before: new Map([[log, before]]), markersBefore: null });
      },
      index: () => Promise.all(stores.map((store) => store.indexed())),
      async reopen() {
        for (const store of stores) await store[Symbol.asyncDispose]();
        stores = await openBoth();
      },
    };
    const kinds = ["append", "append", "append", "comeLate", "writeAgain", "remove", "expire", "index", "reopen"];
    for (let step = 0; step < STEPS; step++) {
      const name = step < 3 ? "append" : kinds[random(kinds.length)]!;
      await steps[name]!();
      const late = name === "comeLate" ? questionsOf(events.at(-1)!) : [];
      const usual = questionsOf(events[random(events.length)]!).filter(() => random(2) === 0);
      for (const where of [...late, ...usual]) {
        const [ours, plain] = await Promise.all(stores.map((store) => answer(store, log, where)));
        t.deepEqual(ours, plain, `${name}, step ${step}: ${JSON.stringify(where)}`);
      }
    }
    for (const store of stores) await store[Symbol.asyncDispose]();
  });
}

/** Puts a filter in the place of all that a file has. */
function setFilters(file: string, filter: Uint8Array): Promise<unknown> {
  return runIn(file, "update token_blocks set filter = $1", [blobValue(filter)]);
}

async function blocksIn(file: string): Promise<number> {
  return Number((await runIn(file, "select count(*) from token_blocks"))[0]![0]);
}

/** How many filters each table of a file has. */
async function tablesIn(file: string): Promise<Record<string, number>> {
  const sql = "select table_name from duckdb_tables() where starts_with(table_name, 'token_blocks') order by 1";
  const names = (await runIn(file, sql)).map(([name]) => String(name));
  const counts = names.map(async (name) => Number((await runIn(file, `select count(*) from ${name}`))[0]![0]));
  return Object.fromEntries((await Promise.all(counts)).map((count, i) => [names[i]!, count]));
}

async function writeSome(t: ExecutionContext, file: string, log: LogKey, tableBlocks?: number): Promise<StoredEvent[]> {
  await using store = await open(file, 10, { ...(tableBlocks !== undefined && { tableBlocks }) });
  const random = randomFrom(4_711);
  const events: StoredEvent[] = [];
  for (let batch = 0; batch < 12; batch++) {
    const next = Array.from({ length: 10 }, (_, i) => eventOf(log, random, MORNING + batch * 1_000_000 + i * 1_000));
    await write(t, store, next);
    events.push(...next);
  }
  return events;
}

async function findsAll(t: ExecutionContext, store: DuckdbStore, events: readonly StoredEvent[]): Promise<void> {
  // The first of each batch, and others.
  for (const each of events.filter((_, i) => i === 0 || i % 7 === 3)) {
    const [request = ""] = each.text.split(" ");
    const { rows } = await store.list(listPlan(each.log, { where: contains(request) }));
    t.deepEqual(rows, [row(each)], request);
  }
}

test("filters are asked: of a block whose filter says that a word is not there, nothing is looked at", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const events = await writeSome(t, file, log);
  t.is(await blocksIn(file), 12);
  await setFilters(file, TokenFilter.of(new TokenList()).encode());
  await using store = await open(file, 10);
  t.is((await store.list(listPlan(log))).total, events.length);
  t.is((await store.list(listPlan(log, { where: contains(events[50]!.text) }))).total, 0);
  t.is(
    (await store.list(listPlan(log, { where: contains("ended") }))).total,
    events.length,
    "it is too short to be asked for",
  );
});

const DAMAGES: Record<string, (file: string) => Promise<unknown>> = {
  "are damaged": async (file) => {
    const encoded = TokenFilter.of(new TokenList()).encode();
    encoded[encoded.length - 1]! ^= 1;
    await setFilters(file, encoded);
  },
  "are cut": (file) => setFilters(file, TokenFilter.of(new TokenList()).encode().subarray(0, 7)),
  "are missing in part": (file) => runIn(file, "delete from token_blocks where rowid % 3 = 1"),
  "are of a table of another shape": (file) => runIn(file, "alter table token_blocks drop column filter"),
  "are none, as in a file of version 5": async (file) => {
    await runIn(file, "drop table token_blocks");
    await runIn(file, "alter table events add column hash varchar");
    await runIn(file, "update meta set version = 5");
  },
};

for (const [what, damage] of Object.entries(DAMAGES)) {
  test(`where filters ${what}, all is found, and they are built anew`, async (t) => {
    const [file, log] = [newFile(t), newLog()];
    const events = await writeSome(t, file, log);
    await damage(file);
    {
      await using store = await open(file, 10);
      await findsAll(t, store, events.slice(0, 20));
      await store.indexed();
      await findsAll(t, store, events);
    }
    t.is(await blocksIn(file), 12);
    await setFilters(file, TokenFilter.of(new TokenList()).encode());
    await using store = await open(file, 10);
    t.is((await store.list(listPlan(log, { where: contains(events[50]!.text) }))).total, 0, "they are asked");
  });
}

test("filters lie in tables of so many, and a checkpoint rewrites none that is full", async (t) => {
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

test("a table of filters that cannot be read is built anew, and no other", async (t) => {
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

test("late events and retention take filters out of all tables, and empty tables go", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const events = await writeSome(t, file, log, 3);
  const empty = TokenFilter.of(new TokenList()).encode();
  const all = Object.keys(await tablesIn(file));
  t.is(all.length, 4);
  // Filters that say of every word that it is not there, so that only their absence lets it be found.
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

test("a transaction that is rolled back with a new table of filters leaves a store that goes on", async (t) => {
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

test("filters of the oldest blocks that do not fit into memory are not asked, and stay in the file", async (t) => {
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
      [true, true, false, false],
    );
    // Its filter takes the place of others.
    await write(t, store, batches[24]!);
    t.deepEqual([await isFound(24), await isFound(12)], [true, true]);
  }
  t.is(await blocksIn(file), 25);
});

test("events that come late into a block are found at once, and the block is built anew", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const events = await writeSome(t, file, log);
  const late = event(log, { id: idAt(MORNING + 5_500_000), text: "request=verylate-1 of customer" });
  {
    await using store = await open(file, 10);
    await write(t, store, [late]);
    await findsAll(t, store, [late, ...events.slice(40, 80)]);
    await store.indexed();
    await findsAll(t, store, [late, ...events.slice(40, 80)]);
  }
  t.true((await blocksIn(file)) >= 12);
  await using store = await open(file, 10);
  await findsAll(t, store, [late, ...events.slice(40, 80)]);
});

test("questions are answered while events come late all the time, and find those that came before", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const events = await writeSome(t, file, log);
  await using store = await open(file, 10);
  const asking = new AbortController();
  let came = 0;
  const coming = (async () => {
    for (; !asking.signal.aborted; came++) {
      const id = idAt(MORNING + 5_500_000);
      await write(t, store, [event(log, { id, text: `request=late-${came}-later of customer` })]);
    }
  })();
  for (let asked = 0; asked < 30; asked++) {
    const last = came - 1;
    const { rows } = await store.list(listPlan(log, { where: contains(`request=late-${last}-later`) }));
    t.is(rows.length, last < 0 ? 0 : 1);
    const [request = ""] = events[asked]!.text.split(" ");
    t.deepEqual((await store.list(listPlan(log, { where: contains(request) }))).rows, [row(events[asked]!)]);
  }
  asking.abort();
  await coming;
  t.true(came > 3, `${came} came`);
});

test("blocks of which retention has left no event become one", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const events = await writeSome(t, file, log);
  {
    await using store = await open(file, 10);
    await store.deleteExpired({ before: new Map([[log, MORNING + 9_900_000]]), markersBefore: null });
    await findsAll(t, store, events.slice(100));
    t.is((await store.list(listPlan(log, { where: contains(events[3]!.text) }))).total, 0);
    // What had expired is written again.
    await write(t, store, events.slice(0, 1));
    await findsAll(t, store, events.slice(0, 1));
  }
  t.true((await blocksIn(file)) <= 4, `${await blocksIn(file)}`);
});

test("a copy of a store that is written to finds what it holds", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const copy = newFile(t);
  const events = await writeSome(t, file, log);
  {
    await using store = await open(file, 10);
    await store.copyTo(copy);
    await write(t, store, [eventOf(log, randomFrom(3), MORNING + 90_000_000)]);
  }
  await using store = await open(copy, 10);
  await findsAll(t, store, events.slice(30, 60));
});

test("one of several events that cannot be stored hides no other", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  await using store = await open(file, 4);
  const random = randomFrom(12);
  const events = Array.from({ length: 9 }, (_, i) => eventOf(log, random, MORNING + i * 1_000));
  const outcomes = await writeEvents(store, events.with(4, { ...events[4]!, created: 2 ** 70 }));
  t.is(outcomes.filter(({ kind }) => kind === "done").length, 8);
  await write(t, store, events);
  await findsAll(t, store, events);
});

test("a process that is killed leaves filters that hide nothing", async (t) => {
  const file = newFile(t);
  const log = newLog();
  for (let life = 0; life < 4; life++) {
    const child = spawn(process.execPath, [CHILD, file, log, "700"], { stdio: ["ignore", "pipe", "inherit"] });
    killAfterUs(child);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    for (let line = 0; line < 4 + life; line++) await lines.next();
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    await using store = await open(file, 700);
    for (const isIndexed of [false, true]) {
      if (isIndexed) await store.indexed();
      const { total } = await store.list(listPlan(log, { take: 0 }));
      for (let at = 7; at < total; at += Math.ceil(total / 40)) {
        const [found] = await store.rows(
          listPlan(log, { sort: [{ field: "id", direction: "asc" }], skip: at, take: 1 }),
        );
        const where = contains(found!.text);
        t.deepEqual((await store.list(listPlan(log, { where }))).rows, [found]);
      }
    }
  }
});
