import test from "ava";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { LoggiaError, StartError } from "../../../src/errors.ts";
import { event, listPlan, MORNING, newLog, newUser, row, texts, write } from "../../contract/store-fixture.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { writeAlerts, writeEvents } from "../../support/write-events.ts";
import { open, newFile, startChild, kill, runIn } from "./store-files.ts";

test("everything written survives closing and reopening", async (t) => {
  const file = newFile(t);
  const log = newLog();
  const user = newUser();
  const [kept, gone, late] = [
    event(log, { text: "kept", tags: ["A"], data: "x" }),
    event(log, { text: "gone" }),
    event(log, { text: "late" }),
  ];
  {
    await using store = await open(file);
    await writeEvents(store, [kept, gone], { topic: "events", partition: 3, offset: 9 });
    await writeAlerts(store, [
      { user, event: kept },
      { user, event: gone },
    ]);
    await store.addBookmark(user, log, kept.id);
    await store.deleteAlert(user, log, kept.id);
    await store.deleteEvent(log, gone.id);
  }
  t.false(existsSync(`${file}.wal`), "closing folds the log of changes into the file");
  await using store = await open(file);
  t.is(await store.nextOffset("events", 3), 10);
  await write(t, store, [gone, kept, late]);
  await writeAlerts(store, [
    { user, event: kept },
    { user, event: gone },
    { user, event: late },
  ]);
  t.deepEqual(await store.list(listPlan(log)), { rows: [row(kept), row(late)], total: 2 });
  t.deepEqual(await texts(store, listPlan(log, { from: { kind: "alerts", user } })), ["late"]);
  t.deepEqual(await texts(store, listPlan(log, { from: { kind: "bookmarks", user } })), ["kept"]);
  t.is(await store.data(log, kept.id), "x");
});

test("a killed process loses nothing that it acknowledged, and its position matches its events", async (t) => {
  const file = newFile(t);
  const log = newLog();
  for (let life = 0; life < 3; life++) {
    const { child, lines } = startChild(t, file, log);
    let acknowledged = -1;
    for (let count = 0; count < 5 + life * 7; count++) {
      const line = await lines.next();
      t.regex(String(line.value), /^\d+ done$/);
      acknowledged = parseInt(String(line.value), 10);
    }
    await kill(child);
    await using store = await open(file);
    const next = await store.nextOffset("events", 0);
    const { total, rows } = await store.list(
      listPlan(log, { sort: [{ field: "created", direction: "desc" }], take: 1 }),
    );
    t.true(next! > acknowledged);
    t.is(total % 500, 0, "batches are whole");
    const last = rows[0]!.created - MORNING;
    t.true(last >= acknowledged);
    const where = { kind: "number", field: "@batch", op: "=", value: last } as const;
    const ofLast = await store.list(listPlan(log, { where, take: 1 }));
    t.true(ofLast.total >= 500);
    const isTenth = { kind: "text", field: `@tenth${Math.floor(last / 10)}`, op: "=", value: "x" } as const;
    const ofTenth = await store.list(listPlan(log, { where: { kind: "and", conditions: [where, isTenth] }, take: 1 }));
    t.is(ofTenth.total, ofLast.total);
    if (life === 0) t.is(total, next! * 500, "events and position were committed together");
  }
});

test("on a full disk, writes are to be retried, stored events stay, and the file opens again", async (t) => {
  const file = newFile(t);
  const log = newLog();
  const { child, lines } = startChild(t, file, log, 4000);
  let done = 0;
  let line = await lines.next();
  for (; String(line.value).endsWith(" done"); line = await lines.next()) done += 1;
  t.true(done > 0);
  t.regex(String(line.value), /^\d+ retry$/);
  t.regex(String((await lines.next()).value), /^\d+ retry$/);
  await kill(child);
  await using store = await open(file);
  t.is((await store.list(listPlan(log))).total, done * 500);
  await write(t, store, [event(log)]);
});

test("a closed store rejects calls, and closing waits for those in flight", async (t) => {
  const store = await open(newFile(t));
  const log = newLog();
  const prepared = store.prepareEvents();
  await prepared.add([event(log)]);
  const writing = store.writeEvents(prepared);
  const reading = store.list(listPlan(log));
  await store[Symbol.asyncDispose]();
  t.deepEqual(await writing, [{ kind: "done" }]);
  t.is((await reading).rows.length, (await reading).total);
  t.is((await t.throwsAsync(store.list(listPlan(log)), { instanceOf: LoggiaError })).code, "store_unavailable");
  t.is((await t.throwsAsync(store.ping(), { instanceOf: LoggiaError })).code, "store_unavailable");
  t.is((await writeEvents(store, [event(log)]))[0]?.kind, "retry");
  await store[Symbol.asyncDispose]();
});

test("a store that this or another process has open is reported with its file name", async (t) => {
  const file = newFile(t);
  {
    await using store = await open(file);
    await store.ping();
    await t.throwsAsync(open(file), {
      instanceOf: StartError,
      message: `The store ${file} is already open in this process`,
    });
  }
  const { child, lines } = startChild(t, file, newLog());
  await lines.next();
  const message = `The store ${file} is in use by another process (PID ${child.pid})`;
  await t.throwsAsync(open(file), { instanceOf: StartError, message });
  await kill(child);
  await using store = await open(file);
  await store.ping();
});

test("a file of another format or version is reported with its name and left unchanged", async (t) => {
  const folder = temporaryFolder(t);
  const text = join(folder, "text.duckdb");
  writeFileSync(text, "hello ".repeat(4000));
  await t.throwsAsync(open(text), {
    instanceOf: StartError,
    message: `The file ${text} exists and is not a DuckDB database`,
  });

  const foreign = join(folder, "foreign.duckdb");
  await runIn(foreign, "create table other (a integer)");
  await t.throwsAsync(open(foreign), {
    instanceOf: StartError,
    message: `The file ${foreign} is a DuckDB database, but not a Loggia store`,
  });

  for (const version of [7, 999]) {
    const other = join(folder, `version-${version}.duckdb`);
    await (await open(other))[Symbol.asyncDispose]();
    await runIn(other, `update meta set version = ${version}`);
    await t.throwsAsync(open(other), {
      instanceOf: StartError,
      message:
        `The file ${other} has tables of version ${version}; ` +
        "this release reads version 8: start the release that wrote it",
    });
  }

  const partial = join(folder, "partial.duckdb");
  await (await open(partial))[Symbol.asyncDispose]();
  await runIn(partial, "drop table seen_alerts");
  await t.throwsAsync(open(partial), {
    instanceOf: StartError,
    message: `The file ${partial} lacks the table seen_alerts: start the release that wrote it, or restore a backup`,
  });
});

test("an unwritable folder is reported with its name; missing folders are created", async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "file"), "");
  mkdirSync(join(folder, "folder.duckdb"));
  for (const file of [join(folder, "file", "x.duckdb"), join(folder, "folder.duckdb")]) {
    const error = await t.throwsAsync(open(file), { instanceOf: StartError });
    t.true(error.message.startsWith(`The store ${file} could not be opened: `), error.message);
    t.false(error.message.includes("\n"));
  }
  const deep = join(folder, "a", "b", "x.duckdb");
  await (await open(deep))[Symbol.asyncDispose]();
  t.true(existsSync(deep));
});
