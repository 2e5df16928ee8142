import test, { type ExecutionContext } from "ava";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { pino } from "pino";
import type { BusRecord } from "../../../src/bus/bus.ts";
import { openBusFile } from "../../../src/bus/sqlite/file.ts";
import { openFailureReason } from "../../../src/bus/sqlite/errors.ts";
import { openSqliteBus } from "../../../src/bus/sqlite/sqlite.ts";
import { LateAppend, LoggiaError, StartError } from "../../../src/errors.ts";
import { behind, collect, record, texts } from "../../contract/bus.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

const log = pino({ level: "silent" });

function busFile(t: ExecutionContext): string {
  return join(temporaryFolder(t), "bus.sqlite");
}

/** Starts a process that appends to `file`; returns the lines that it prints. */
function startAppender(t: ExecutionContext, file: string): { lines: string[]; kill(): Promise<void> } {
  const child = spawn(process.execPath, [join(import.meta.dirname, "./appender.ts"), file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  const kill = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  t.teardown(kill);
  return { lines, kill };
}

test("a killed process leaves every record that it acknowledged, once and in order", async (t) => {
  const file = busFile(t);
  const appender = startAppender(t, file);
  await until(() => appender.lines.length > 2000, { what: "a few thousand acknowledged appends" });
  await appender.kill();
  const acknowledged = appender.lines.filter((line) => line !== "open").map(Number);
  await using bus = await openSqliteBus({ file, log });
  const { records } = await collect(bus, { group: "g" });
  await until(async () => records.length > 0 && (await behind(bus, "g")) === 0, { what: "all records" });
  const numbers = texts(records).map(Number);
  t.deepEqual(
    numbers,
    numbers.map((_, i) => i),
  );
  const missing = acknowledged.filter((number) => number >= numbers.length);
  t.deepEqual(missing, []);
});

test("a file open in another process or bus is refused, and usable once that has closed it", async (t) => {
  const file = busFile(t);
  const appender = startAppender(t, file);
  await until(() => appender.lines.includes("open"), { what: "the other process" });
  const refused = await t.throwsAsync(openSqliteBus({ file, log }), { instanceOf: StartError });
  t.regex(refused.message, /bus\.sqlite cannot be used: another process has it open/);
  t.notRegex(refused.message, /\n/);
  await appender.kill();
  await using bus = await openSqliteBus({ file, log });
  await bus.ping();
  await t.throwsAsync(openSqliteBus({ file, log }), { instanceOf: StartError, message: /has it open/ });
  // The failed attempt does not affect the first bus.
  await bus.append("events", [record("k", "still ours")]);
});

test("files that are not a bus of this version are refused in one line and left unchanged", async (t) => {
  const folder = temporaryFolder(t);
  const notes = join(folder, "notes.txt");
  writeFileSync(notes, "just some text, more than a header long. ".repeat(50));
  const foreign = join(folder, "foreign.sqlite");
  runSql(foreign, "CREATE TABLE theirs (a)");
  const [older, newer] = ["older", "newer"].map((name) => join(folder, `${name}.sqlite`)) as [string, string];
  for (const [file, version] of [
    [older, 2],
    [newer, 4],
  ] as const) {
    await (await openSqliteBus({ file, log }))[Symbol.asyncDispose]();
    runSql(file, `PRAGMA user_version = ${version}`);
  }
  const refusals: [string, RegExp][] = [
    [notes, /notes\.txt cannot be used: it is not a SQLite database/],
    [foreign, /foreign\.sqlite cannot be used: it is a database of another application/],
    [older, /older\.sqlite cannot be used: its layout is version 2, this process reads 3; start the release/],
    [newer, /newer\.sqlite cannot be used: its layout is version 4, this process reads 3; start the release/],
    [join(notes, "bus.sqlite"), /bus\.sqlite cannot be used: /],
    [folder, /cannot be used: it cannot be opened for writing/],
  ];
  for (const [file, message] of refusals) {
    const error = await t.throwsAsync(openSqliteBus({ file, log }), { instanceOf: StartError, message });
    t.notRegex(error.message, /\n/);
  }
  t.true(readFileSync(notes, "utf8").startsWith("just some text"));
});

test("a read-only file system, of which SQLite knows only that the disk failed, is named as a cause", (t) => {
  const found = Object.assign(new Error("disk I/O error"), { errcode: 10 | (8 << 8) });
  t.regex(openFailureReason(found), /check the disk, and that its file system is not mounted read-only$/);
});

test("on a full disk appends fail as a whole, readers continue, and appends work again with space", async (t) => {
  await using bus = await openSqliteBus({ file: busFile(t), log, keep_ms: 0, maxFile_bytes: 1024 * 1024 });
  const block = { key: "k", value: randomBytes(50_000) };
  let stored = 0;
  const full = await t.throwsAsync(
    async () => {
      for (; stored < 1000; stored++) await bus.append("events", [block]);
    },
    { instanceOf: LoggiaError },
  );
  t.is(full.code, "bus_unavailable");
  t.regex(full.message, /disk is full/);
  t.is(full.retryAfter_s, 5);
  // Many appends share one transaction, so none of them is stored.
  const appends = await Promise.allSettled(Array.from({ length: 30 }, () => bus.append("events", [block])));
  t.true(appends.every(({ status }) => status === "rejected"));
  t.is(await behind(bus, "g"), stored);
  await bus.ping();

  // An acknowledgement needs no space, also if it shares its transaction with an append that fails.
  const records: BusRecord[] = [];
  const outcomes: string[][] = [];
  await bus.subscribe({ topic: "events", group: "g", maxRecords: 5, maxBytes: 1e6 }, async (batch) => {
    records.push(...batch.records);
    const work = outcomes.length === 0 ? [batch.ack(), bus.append("events", [block])] : [batch.ack()];
    outcomes.push((await Promise.allSettled(work)).map(({ status }) => status));
  });
  await until(() => records.length === stored, { what: "all that was stored" });
  t.deepEqual(outcomes[0], ["fulfilled", "rejected"]);
  // Acknowledged records are removed at the latest when an append finds no space.
  await until(
    () =>
      bus.append("events", [block]).then(
        () => true,
        () => false,
      ),
    { what: "room" },
  );
  await until(() => records.length === stored + 1, { what: "the record behind the gap" });
  t.true(records.every(({ value }) => value.equals(block.value)));
});

test("the last record survives restarts, and no offset is assigned twice", async (t) => {
  const file = busFile(t);
  let offset = 0;
  {
    await using bus = await openSqliteBus({ file, log });
    t.deepEqual(await bus.last("events"), []);
    await bus.append("events", [record("k", "1"), record("k", "2")]);
    offset = (await bus.last("events"))[0]?.position.offset ?? 0;
  }
  runSql(file, "DELETE FROM events");
  await using bus = await openSqliteBus({ file, log });
  t.deepEqual(await bus.last("events"), []);
  await bus.append("events", [record("k", "3")]);
  const [last] = await bus.last("events");
  t.is(last?.value.toString(), "3");
  t.is(last?.position.offset, offset + 1);
});

test("a store whose position is ahead of a new bus file misses no record", async (t) => {
  await using bus = await openSqliteBus({ file: busFile(t), log });
  await bus.append("events", [record("k", "before the store asked")]);
  const { records } = await collect(bus, { group: "g", from: async () => 5000 });
  await until(() => records.length === 1, { what: "what the new file holds" });
  await bus.append("events", [record("k", "after")]);
  await until(() => records.length === 2, { what: "what comes next" });
  t.deepEqual(
    records.map(({ position }) => position.offset),
    [1, 5000],
  );
});

test("a subscription to a damaged file rejects `done`", async (t) => {
  const file = busFile(t);
  {
    await using bus = await openSqliteBus({ file, log });
    await bus.append(
      "events",
      Array.from({ length: 500 }, () => ({ key: "k", value: randomBytes(2000) })),
    );
  }
  const bytes = readFileSync(file);
  bytes.fill(0xff, 8 * 4096, bytes.length - 4096);
  writeFileSync(file, bytes);
  await using bus = await openSqliteBus({ file, log });
  const { subscription } = await collect(bus, { group: "g" });
  await t.throwsAsync(subscription.done, { message: /malformed/ });
});

test("a full queue refuses appends and accepts later ones", async (t) => {
  await using bus = await openSqliteBus({ file: busFile(t), log });
  const many = Array.from({ length: 50_000 }, () => record("k", "x"));
  const first = bus.append("events", many);
  const error = await t.throwsAsync(bus.append("events", [record("k", "y")]), { instanceOf: LoggiaError });
  t.is(error.code, "overloaded");
  t.is(error.retryAfter_s, 1);
  await first;
  await bus.append("events", [record("k", "z")]);
  t.is(await behind(bus, "g"), 50_001);
});

test("an append whose deadline has passed before its turn is not stored", async (t) => {
  await using bus = await openSqliteBus({ file: busFile(t), log });
  const error = await t.throwsAsync(bus.append("events", [record("k", "late")], { deadline_ms: 0 }), {
    instanceOf: LoggiaError,
  });
  t.is(error.code, "bus_unavailable");
  t.true(error instanceof LateAppend && !(await error.isStored));
  t.is(await behind(bus, "g"), 0);
});

test("an append whose deadline passes during its commit says later whether it is stored", async (t) => {
  await using bus = await openSqliteBus({ file: busFile(t), log });
  const large = [record("k", "x".repeat(8_000_000))];
  let stored = 0;
  const late = await until(
    async () => {
      const began_ms = performance.now();
      await bus.append("events", large);
      const deadline_ms = (performance.now() - began_ms) / 2;
      stored += 1;
      const error = await bus.append("events", large, { deadline_ms }).catch((thrown: unknown) => thrown);
      if (!(error instanceof LateAppend)) stored += 1;
      // Otherwise the deadline passed before the turn of the append.
      return error instanceof LateAppend && (await error.isStored) ? error : null;
    },
    { what: "a deadline during a commit" },
  );
  t.is(late.code, "bus_unavailable");
  t.is(await behind(bus, "g"), stored + 1);
});

test("appends made during a commit are stored after it, in order", async (t) => {
  await using bus = await openSqliteBus({ file: busFile(t), log });
  const { records } = await collect(bus, { group: "g" });
  const large = bus.append("events", [record("k", "x".repeat(8_000_000))]);
  await new Promise((resolve) => setImmediate(resolve));
  const many = Array.from({ length: 100 }, (_, i) => bus.append("events", [record("k", String(i))]));
  await Promise.all([large, ...many]);
  await until(() => Promise.resolve(records.length === 101), { what: "all records" });
  t.deepEqual(
    records.slice(1).map(({ value }) => String(value)),
    Array.from({ length: 100 }, (_, i) => String(i)),
  );
});

function runSql(file: string, sql: string): void {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
}

test("a copy requested during a commit waits for its end and contains the earlier records", async (t) => {
  const folder = temporaryFolder(t);
  const bus = openBusFile(join(folder, "bus.sqlite"), 0);
  t.teardown(() => bus.close());
  const commit = (): void => {
    const records = Array.from({ length: 5_000 }, (_, i) => record("k", String(i)));
    bus.commit({ appends: [{ topic: "events", records }], acks: [] }, Date.now());
  };
  for (let i = 0; i < 20; i++) {
    const before = bus.end("events") - 1;
    const file = join(folder, `copy-${i}.sqlite`);
    const copied = bus.copyTo(file, new Map());
    // Another thread copies; this commit runs before the copy begins or while it begins.
    commit();
    await copied;
    const copy = new DatabaseSync(file);
    const { records } = copy.prepare("SELECT count(*) AS records FROM events").get()!;
    copy.close();
    t.true(Number(records) >= before, `copy ${i} holds ${String(records)} of ${before} records`);
  }
});

test("transient values are complete at each delivery and empty once the handler has settled", async (t) => {
  await using bus = await openSqliteBus({ file: busFile(t), log });
  await bus.append("events", [record("a", "first"), record("b", "second")]);
  const seen: string[][] = [];
  const kept: BusRecord[] = [];
  const options = { topic: "events", group: "g", maxRecords: 10, maxBytes: 1e6, transient: true } as const;
  const subscription = await bus.subscribe(options, async (batch) => {
    seen.push(texts(batch.records));
    kept.push(...batch.records);
    await new Promise((resolve) => setImmediate(resolve));
    t.deepEqual(texts(batch.records), ["first", "second"]);
    if (seen.length === 1) throw new Error("once more");
    await batch.ack();
  });
  await until(async () => seen.length === 2 && (await behind(bus, "g")) === 0, { what: "the second delivery" });
  await subscription.close();
  t.deepEqual(seen, [
    ["first", "second"],
    ["first", "second"],
  ]);
  t.deepEqual(
    kept.map(({ value }) => value.length),
    [0, 0, 0, 0],
  );
});

test("records read ahead are discarded when a batch is redelivered, and none is lost", async (t) => {
  await using bus = await openSqliteBus({ file: busFile(t), log });
  const all = Array.from({ length: 40 }, (_, i) => `${i} ${"x".repeat(1_000)}`);
  await bus.append(
    "events",
    all.map((text) => record("k", text)),
  );
  const seen: string[] = [];
  let batches = 0;
  // Full batches, so that each is read while the one before is handled.
  const options = { topic: "events", group: "g", maxRecords: 8, maxBytes: 1e6 } as const;
  const subscription = await bus.subscribe(options, async (batch) => {
    batches += 1;
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (batches % 2 === 0) throw new Error("once more");
    seen.push(...texts(batch.records));
    await batch.ack();
  });
  await until(async () => (await behind(bus, "g")) === 0, { what: "all records" });
  await subscription.close();
  t.deepEqual(seen, all);
});
