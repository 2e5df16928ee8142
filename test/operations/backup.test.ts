import test, { type ExecutionContext } from "ava";
import { execFile } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { pino } from "pino";

import { openSqliteBus } from "../../src/bus/sqlite/sqlite.ts";
import { LoggiaError } from "../../src/errors.ts";
import { backup } from "../../src/operations/backup.ts";
import type { BackupOptions } from "../../src/operations/backup.ts";
import { refuseIncompleteRestore, restore } from "../../src/operations/restore.ts";
import { accept, caughtUp, makeLog, openEmbedded, post, rows, start } from "../pipelines/fixture.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const SILENT = pino({ level: "silent" });
const DOCUMENTS = ["catalog.sqlite", "notifications.sqlite"];

async function open(t: ExecutionContext) {
  const folder = join(temporaryFolder(t), "data");
  const ports = await openEmbedded(folder);
  t.teardown(() => ports[Symbol.asyncDispose]());
  const to = join(folder, "..", "copies", "first");
  const { bus, store } = ports;
  const options: BackupOptions = { folder, bus, store, documents: DOCUMENTS, to };
  return { folder, to, options, ports };
}

test("a backup under load has all events acknowledged before it, and a service started from it catches up", async (t) => {
  t.timeout(120_000);
  const { folder, to, options, ports } = await open(t);
  const { log } = await makeLog(ports.catalog);
  await start(t, ports);
  const acknowledged: string[] = [];
  const over = new AbortController();
  const producing = (async () => {
    while (!over.signal.aborted) {
      const events = Array.from({ length: 40 }, () => accept(log, { text: "something ".repeat(20) }));
      await post(ports.bus, events);
      acknowledged.push(...events.map(({ id }) => id));
      await ports.store.ping();
    }
  })();
  while (acknowledged.length < 4_000) await ports.store.ping();
  const marked = acknowledged[0]!;
  const deleted = acknowledged[1]!;
  while ((await ports.store.find({ kind: "events" }, log, deleted as never)) === null) await ports.store.ping();
  await ports.store.deleteEvent(log, deleted as never);
  const before = acknowledged.slice();
  const store = {
    copyTo: async (file: string) => {
      const copied = await ports.store.copyTo(file);
      await until(() => acknowledged.length > before.length, { what: "posts during the backup" });
      return copied;
    },
  };
  const { files } = await backup({ ...options, store });
  over.abort();
  await producing;
  t.deepEqual(
    files.map(({ name }) => name).filter((name) => !name.endsWith(".wal")),
    ["events.duckdb", "bus.sqlite", "catalog.sqlite"],
  );

  const restored = join(folder, "..", "restored");
  await restore(to, restored);
  const again = await openEmbedded(restored);
  t.teardown(() => again[Symbol.asyncDispose]());
  const { next = 0, end = 0 } = (await again.bus.lag("events", "pipeline"))[0] ?? {};
  t.true(((await again.store.nextOffset("events", 0)) ?? next) <= end, "the store is not ahead of the bus");
  await caughtUp(await start(t, again));
  const ids = (await rows(again.store, log)).map(({ id }) => id as string);
  const found = new Set(ids);
  t.is(found.size, ids.length);
  t.deepEqual(
    before.filter((id) => !found.has(id)),
    [deleted],
  );
  t.true(found.has(marked));
  t.is(again.catalog.log(log)?.key, log);
});

test("a service whose store was empty when it was copied gets all events from the copied bus", async (t) => {
  const { folder, to, options, ports } = await open(t);
  const { log } = await makeLog(ports.catalog);
  const events = Array.from({ length: 20 }, () => accept(log));
  const pipeline = await start(t, ports);
  const store = {
    copyTo: async (file: string) => {
      const copied = await ports.store.copyTo(file);
      // Posted, indexed and acknowledged between the copies of the store and the bus.
      await post(ports.bus, events);
      await caughtUp(pipeline);
      return copied;
    },
  };
  await backup({ ...options, store });
  await restore(to, join(folder, "..", "restored"));
  const again = await openEmbedded(join(folder, "..", "restored"));
  t.teardown(() => again[Symbol.asyncDispose]());
  await caughtUp(await start(t, again));
  t.deepEqual(
    (await rows(again.store, log)).map(({ id }) => id),
    events.map(({ id }) => id),
  );
});

test("a backup needs a folder of its own, and leaves nothing behind if it fails", async (t) => {
  const { to, options } = await open(t);
  await t.throwsAsync(backup({ ...options, to: "copies" }), { message: /not an absolute path/ });
  mkdirSync(to, { recursive: true });
  writeFileSync(join(to, "mine"), "");
  await t.throwsAsync(backup(options), { message: /is not empty/ });
  rmSync(join(to, "mine"));
  const stop = AbortSignal.abort(new Error("stopped"));
  await t.throwsAsync(backup({ ...options, signal: stop }), { message: "stopped" });
  t.deepEqual(readdirSync(to), []);
  await backup(options);
  t.is(statSync(join(to, "catalog.sqlite")).mode & 0o077, 0, "hashes of passwords are for nobody else");
  await t.throwsAsync(backup(options), { message: /is not empty/ });
});

test("an impossible folder is refused, and nothing is held up", async (t) => {
  const { to, options } = await open(t);
  const notThere = existsSync("/proc/self") ? "/proc/backup/today" : "/dev/null/today";
  await t.throwsAsync(backup({ ...options, to: notThere }), { message: /can't be used for a backup: E[A-Z]+: / });
  await backup(options);
  await t.throwsAsync(restore(to, notThere), {
    name: "StartError",
    message: /^A backup can't be restored into [^\n]*: E[A-Z]+: /,
  });
});

test("a failed backup reports the system's error in one line", async (t) => {
  const { to, options, ports } = await open(t);
  const elsewhere = { copyTo: (file: string) => ports.store.copyTo(join(file, "nowhere")) };
  const error = await t.throwsAsync(backup({ ...options, store: elsewhere }), { instanceOf: LoggiaError });
  t.is(error.code, "store_unavailable");
  t.regex(
    error.message,
    /^The backup to \S+ failed: ENOENT: no such file or directory, copyfile '\S+' -> '\S+nowhere'$/,
  );
  t.deepEqual(readdirSync(to), []);
  // Other callers do not see the path.
  const store = await t.throwsAsync(ports.store.copyTo(join(to, "no", "where")), { instanceOf: LoggiaError });
  t.is(store.message, "The embedded store is unavailable");
});

test("the files are locked again after a backup", async (t) => {
  const { folder, options } = await open(t);
  await backup(options);
  const code = `const { DuckDBInstance } = await import("@duckdb/node-api"); await DuckDBInstance.create(process.argv[1])`;
  const other = promisify(execFile)(process.execPath, [
    "--input-type=module",
    "-e",
    code,
    join(folder, "events.duckdb"),
  ]);
  const error = await t.throwsAsync(other);
  t.regex(error?.message ?? "", /Could not set lock/);
  await t.throwsAsync(openSqliteBus({ file: join(folder, "bus.sqlite"), log: SILENT }), {
    message: /another process has it open/,
  });
});

test("a restore never overwrites files", async (t) => {
  const { folder, to, options, ports } = await open(t);
  await backup(options);
  await t.throwsAsync(restore(to, folder), { name: "StartError", message: /A service is running on/ });
  await ports.bus[Symbol.asyncDispose]();
  await t.throwsAsync(restore(to, folder), { name: "StartError", message: /is not empty/ });
});

test("a damaged or incomplete backup is refused, and nothing of it remains", async (t) => {
  const { folder, to, options } = await open(t);
  const data = join(folder, "..", "restored");
  await t.throwsAsync(restore(to, data), { name: "StartError", message: /no complete backup/ });
  await backup(options);
  const file = join(to, "catalog.sqlite");
  const { size } = statSync(file);
  await promisify(execFile)("truncate", ["-s", "-1", file]);
  await t.throwsAsync(restore(to, data), { name: "StartError", message: /catalog\.sqlite has \d+ bytes/ });
  appendFileSync(file, "x");
  t.is(statSync(file).size, size);
  await t.throwsAsync(restore(to, data), {
    name: "StartError",
    message: /the checksum of [a-z.]+ differs from its manifest/,
  });
  t.deepEqual(readdirSync(data), []);
  // A service on this backup would start with a new admin.
  const begun = "2026-11-21T00:00:00Z";
  writeFileSync(join(to, "backup.json"), JSON.stringify({ version: 1, begun, files: [] }));
  await t.throwsAsync(restore(to, data), { name: "StartError", message: /no backup that this release can read/ });
  refuseIncompleteRestore(data);
  writeFileSync(join(data, "restore-not-finished"), "");
  t.throws(() => refuseIncompleteRestore(data), { name: "StartError", message: /was interrupted/ });
  t.false(existsSync(join(data, "bus.sqlite")));
});
