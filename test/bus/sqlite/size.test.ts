import test, { type ExecutionContext } from "ava";
import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pino } from "pino";

import { HOST_CLOCK } from "../../../src/events/clock.ts";
import type { Batch, Bus } from "../../../src/bus/bus.ts";
import { openSqliteBus, type SqliteBusOptions } from "../../../src/bus/sqlite/sqlite.ts";
import { collect, readAll, record } from "../../contract/bus.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

const SILENT = pino({ level: "silent" });
const MB = 1024 * 1024;
const DAY_MS = 86_400_000;
const BOUND_BYTES = 16 * MB;
const ONE_BY_ONE = { topic: "events", maxRecords: 1, maxBytes: 2 * MB } as const;

/** A file of a test's own, a way to open it, and what the bus has warned of. */
function busOf(t: ExecutionContext) {
  const file = join(temporaryFolder(t), "bus.sqlite");
  const warnings: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void warnings.push(line) });
  const open = (options: Partial<SqliteBusOptions> = {}) =>
    openSqliteBus({ file, log, keep_ms: DAY_MS, keep_bytes: BOUND_BYTES, ...options });
  return { file, warnings, open };
}

/** Appends records of 1 MB that compression makes no shorter. */
async function load(bus: Bus, records: number): Promise<void> {
  for (let i = 0; i < records; i++) await bus.append("events", [{ key: "k", value: randomBytes(MB) }]);
}

/** The offset of the oldest event. */
async function oldest(bus: Bus): Promise<number> {
  return (await bus.lag("events", "nobody"))[0]!.first;
}

/** Leaves a file of 40 MB that one group has read. */
async function loaded(t: ExecutionContext) {
  const found = busOf(t);
  await using bus = await found.open({ keep_bytes: Infinity });
  await load(bus, 40);
  const { records } = await collect(bus, { group: "g" });
  await until(() => records.length === 40, { what: "all records" });
  return found;
}

test("after a load, records take no more than their size, and the newest of them are there", async (t) => {
  const { file, open } = busOf(t);
  await using bus = await open();
  const { records } = await collect(bus, { group: "g", transient: true });
  await load(bus, 60);
  await until(() => records.length === 60, { what: "all records" });
  await until(async () => (await bus.disk()).used_bytes <= BOUND_BYTES, { what: "the size to hold" });
  t.true((await bus.disk()).used_bytes > BOUND_BYTES - 2 * MB, "no more goes than has to");
  const left = (await readAll(bus)).map(({ position }) => position.offset);
  t.is(left.at(-1), 60);
  t.deepEqual(
    left,
    left.map((_, i) => 61 - left.length + i),
    "the oldest went first",
  );
  // The file keeps 16 MB of free space besides.
  await until(() => statSync(file).size < 2 * BOUND_BYTES + 2 * MB, { what: "the file to become smaller" });
});

test("what a group has not acknowledged stays, whatever the size, and the log says why", async (t) => {
  const { open, warnings } = busOf(t);
  await using bus = await open();
  let isStuck = true;
  const seen = new Set<number>();
  const slow = await bus.subscribe({ ...ONE_BY_ONE, group: "slow" }, async (batch: Batch) => {
    const { offset } = batch.records[0]!.position;
    seen.add(offset);
    if (isStuck && offset > 5) throw new Error("the store is away");
    await batch.ack();
  });
  const fast = await collect(bus, { group: "fast" });
  await load(bus, 40);
  await until(() => fast.records.length === 40 && seen.has(6), { what: "both groups" });
  await until(async () => (await oldest(bus)) === 6, { what: "what both have read to go" });
  await until(() => warnings.some((line) => line.includes("LOGGIA_BUS_KEEP")), { what: "the warning" });
  t.is((await readAll(bus)).length, 35);
  t.true((await bus.disk()).used_bytes > 2 * BOUND_BYTES);
  isStuck = false;
  await until(() => seen.size === 40, { what: "every record to be delivered" });
  await until(async () => (await bus.disk()).used_bytes <= BOUND_BYTES, { what: "the rest to go" });
  await slow.close();
});

test("after a start nothing goes by size before the group has said where its store stands", async (t) => {
  const { open } = await loaded(t);
  let rounds = 0;
  const clock = { ...HOST_CLOCK, mayRemove: () => ((rounds += 1), true) };
  await using bus = await open({ clock });
  // The size is looked at before the age.
  await until(() => rounds > 0, { what: "a round" });
  t.is(await oldest(bus), 1);
  // The store was replaced by an older one.
  const handler = async () => {
    throw new Error("the store is away");
  };
  const subscription = await bus.subscribe({ ...ONE_BY_ONE, group: "g", from: async () => 11 }, handler);
  await until(async () => (await oldest(bus)) > 1, { what: "what the older store has to go" });
  await until(async () => (await oldest(bus)) === 11, { what: "all that it has to go" });
  t.true((await bus.disk()).used_bytes > BOUND_BYTES);
  t.is((await readAll(bus)).length, 30);
  await subscription.close();
});

test("while the store is in doubt nothing goes by size", async (t) => {
  const { open } = await loaded(t);
  let isInDoubt = true;
  let asked = 0;
  await using bus = await open({ isStoreInDoubt: () => ((asked += 1), isInDoubt) });
  await collect(bus, { group: "g" });
  await until(() => asked > 1, { what: "two looks at the size" });
  t.is(await oldest(bus), 1);
  isInDoubt = false;
  await until(async () => (await bus.disk()).used_bytes <= BOUND_BYTES, { what: "the size to hold" });
});

test("a removal that fails again and again is logged once in a while", async (t) => {
  const { file, open, warnings } = await loaded(t);
  const database = new DatabaseSync(file);
  database.exec("CREATE TRIGGER full BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
  database.close();
  let asked = 0;
  await using bus = await open({ isStoreInDoubt: () => ((asked += 1), false) });
  await collect(bus, { group: "g" });
  await until(() => asked > 4, { what: "four failures" });
  const failures = warnings.filter((line) => line.includes("old records could not be removed from the bus"));
  t.is(failures.length, 1, failures.join(""));
  t.regex(failures[0]!, /the disk is full/);
});

test("a read that is under way finds all that lay ahead of it", async (t) => {
  const { open, warnings } = await loaded(t);
  await using bus = await open();
  const offsets: number[] = [];
  for await (const records of bus.read(ONE_BY_ONE)) {
    offsets.push(...records.map(({ position }) => position.offset));
    if (offsets.length !== 3) continue;
    await collect(bus, { group: "g" });
    await until(() => warnings.some((line) => line.includes("LOGGIA_BUS_KEEP")), { what: "nothing more to go" });
    t.is(await oldest(bus), 3, "what was read is gone");
  }
  t.deepEqual(
    offsets,
    Array.from({ length: 40 }, (_, i) => i + 1),
  );
  await until(async () => (await bus.disk()).used_bytes <= BOUND_BYTES, { what: "the rest to go" });
});

test("with a size alone events stay however old they are, and alerts go after a day", async (t) => {
  const { open } = busOf(t);
  {
    await using bus = await open({ keep_ms: Infinity });
    await bus.append("events", [record("k", "a"), record("k", "b")]);
    await bus.append("alerts", [record("k", "a"), record("k", "b"), record("k", "c")]);
    const { records } = await collect(bus, { group: "g" });
    await until(() => records.length === 2, { what: "both records" });
  }
  const clock = { now: () => Date.now() + 400 * DAY_MS, mayRemove: () => true };
  await using bus = await open({ keep_ms: Infinity, clock, log: SILENT });
  await until(async () => (await bus.lag("alerts", "nobody"))[0]!.first === 3, { what: "old alerts to go" });
  t.is((await readAll(bus)).length, 2);
});

test("the bus reports its size on disk and the moment of its oldest event", async (t) => {
  const { file, open } = busOf(t);
  await using bus = await open();
  const empty = await bus.disk();
  t.is(empty.oldest, null);
  const begun = Date.now();
  await load(bus, 3);
  const { used_bytes, free_bytes, oldest: first } = await bus.disk();
  t.true(used_bytes > 3 * MB && used_bytes < 3.1 * MB, `${used_bytes}`);
  t.true(first !== null && first >= begun && first <= Date.now());
  await bus[Symbol.asyncDispose]();
  t.is(statSync(file).size, used_bytes + free_bytes);
});
