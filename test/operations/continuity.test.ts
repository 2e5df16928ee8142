import test from "ava";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { pino } from "pino";

import type { LogKey } from "../../src/events/event.ts";
import { createHolds } from "../../src/monitoring/holds.ts";
import { watchContinuity } from "../../src/operations/continuity.ts";
import { restore } from "../../src/operations/restore.ts";
import { environmentOf, KEY, LOG, settled, startService } from "../support/service.ts";
import { readinessOf } from "../support/readiness.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import {
  READY,
  serviceWithHistory,
  loggia,
  loggiaAdmin,
  postAndDrain,
  readiness,
  heldBy,
  remove,
  replayAll,
  send,
  total,
} from "./fixture.ts";

test("embedded: a lost store is not ready, across restarts and posts, until a replay has restored it", async (t) => {
  t.timeout(600_000);
  const { folder, start } = await serviceWithHistory(t);
  remove(folder, "events.duckdb");
  let service = await start();
  t.deepEqual(await readiness(service), heldBy("store"));
  await postAndDrain(service, ["four"]);
  await service.close();
  service = await start();
  t.deepEqual(await readiness(service), heldBy("store"), "the store goes on from where it was emptied");
  await replayAll(service);
  t.deepEqual(await readiness(service), READY);
  t.is(await total(service), 4);
  await service.close();
  t.deepEqual(await readiness(await start()), READY, "the next start");
});

test("embedded: a store lost within seconds of its first events is detected", async (t) => {
  t.timeout(600_000);
  const { folder, start } = await serviceWithHistory(t);
  const marks = join(folder, "marks.json");
  const { ends, ...known } = JSON.parse(readFileSync(marks, "utf8")) as { ends: Record<string, number> };
  // As written by the first check of a first start that was then killed.
  writeFileSync(marks, JSON.stringify({ ...known, ends: { ...ends, 0: 1 }, hasEvents: false }));
  remove(folder, "events.duckdb");
  t.deepEqual(await readiness(await start()), heldBy("store"));
});

test("embedded: visits and malformed records alone do not make a loss", async (t) => {
  t.timeout(600_000);
  const environment = environmentOf("embedded", join(temporaryFolder(t), "data"));
  let service = await startService(environment);
  t.teardown(() => service.close());
  const { bus, store } = service.ports;
  await bus.append("events", [{ key: LOG, value: Buffer.from("no event") }]);
  const body = new URLSearchParams({ apikey: KEY, user: "ann" });
  t.is((await fetch(`${service.postUrl}/1/logs/${LOG}/users`, { method: "POST", body })).status, 201);
  await settled(service);
  t.not(await store.nextOffset("events", 0), null);
  await service.close();
  service = await startService(environment);
  t.deepEqual(await readiness(service), READY);
});

test("embedded: an operator can accept the loss of a store, a bus or a catalog", async (t) => {
  t.timeout(600_000);
  const { folder, start } = await serviceWithHistory(t);
  for (const [name, file] of [
    ["store", "events.duckdb"],
    ["bus", "bus.sqlite"],
  ] as const) {
    remove(folder, file);
    const service = await start();
    t.deepEqual(await readiness(service), heldBy(name));
    t.true((await loggia(service, "holds", "list")).includes(`loggia holds accept ${name}`));
    t.regex(await loggia(service, "holds", "accept", name), new RegExp(`^${name} accepted: the `));
    t.deepEqual(await readiness(service), READY, name);
    await service.close();
    const next = await start();
    t.deepEqual(await readiness(next), READY, `the start after ${name}`);
    await postAndDrain(next, ["more"]);
    await next.close();
  }
});

test("embedded: a gap between the store's end and the start of the bus is detected and can be accepted", async (t) => {
  t.timeout(600_000);
  const { folder, start } = await serviceWithHistory(t);
  const store = join(folder, "events.duckdb");
  copyFileSync(store, join(folder, "..", "store"));
  let service = await start();
  await postAndDrain(service, ["four", "five", "six"]);
  await service.close();
  copyFileSync(join(folder, "..", "store"), store);
  const bus = new DatabaseSync(join(folder, "bus.sqlite"));
  // As the bus does with old records.
  bus.exec("DELETE FROM events WHERE offset <= 5");
  bus.close();
  service = await start();
  t.deepEqual(await readiness(service), heldBy("store"));
  t.regex(await loggia(service, "holds", "list"), /the store ends at record 4, and the bus begins at 6/);
  t.is(await send(service, "/manage/1/holds/store/accept"), 200);
  await service.close();
  service = await start();
  t.deepEqual(await readiness(service), READY, "the start after");
});

test("embedded: a second loss is detected while the first awaits a decision", async (t) => {
  t.timeout(600_000);
  const { folder, start } = await serviceWithHistory(t);
  remove(folder, "events.duckdb");
  let service = await start();
  t.deepEqual(await readiness(service), heldBy("store"));
  await service.close();
  copyFileSync(join(folder, "catalog.sqlite"), join(folder, "..", "catalog.sqlite"));
  service = await start();
  await service.ports.catalog.createAccount({ email: "b@example.org", password: "correct horse b", admin: false });
  await service.close();
  copyFileSync(join(folder, "..", "catalog.sqlite"), join(folder, "catalog.sqlite"));
  t.deepEqual(await readiness(await start()), heldBy("store", "catalog"));
});

test("embedded: a process that has not checked yet is not ready, and says why", async (t) => {
  t.timeout(600_000);
  const { folder, start } = await serviceWithHistory(t);
  const marks = join(folder, "marks.json");
  rmSync(marks);
  mkdirSync(marks);
  const service = await start();
  t.deepEqual(await readiness(service), heldBy());
  const { readiness: reported } = await readinessOf(service.apiUrl);
  t.regex(JSON.stringify(reported), /its state has not been compared yet with the last known one: unexpected error/);
  rmdirSync(marks);
  await until(async () => (await readiness(service)).api === 200, { what: "a comparison" });
});

test("embedded: no admin is created for an emptied catalog until an operator accepts it", async (t) => {
  t.timeout(600_000);
  const { folder, environment, start } = await serviceWithHistory(t);
  const marks = join(folder, "marks.json");
  // As written by the first check of a first start that was then killed.
  const known = JSON.parse(readFileSync(marks, "utf8")) as object;
  writeFileSync(marks, JSON.stringify({ ...known, hasAccounts: false, catalog: 0 }));
  remove(folder, "catalog.sqlite");
  let service = await start();
  t.deepEqual(await readiness(service), { ...heldBy("catalog"), post: 503 });
  t.deepEqual(service.ports.catalog.accounts(), []);
  t.regex(JSON.stringify(await (await fetch(`${service.apiUrl}/health/ready`)).json()), /admin accept-hold catalog/);
  await service.close();
  service = await start();
  t.deepEqual(await readiness(service), { ...heldBy("catalog"), post: 503 }, "the next start");
  t.regex(await loggiaAdmin(environment, "accept-hold", "catalog"), /^catalog accepted/);
  await until(async () => (await readiness(service)).api === 200, { what: "the decision" });
  await until(() => service.ports.catalog.log(LOG as LogKey) !== null, { what: "the first log" });
  await postAndDrain(service, ["more"]);
  await service.close();
  t.deepEqual(await readiness(await start()), READY, "the start after");
});

test("embedded: files older than their last known state are detected", async (t) => {
  t.timeout(600_000);
  const { folder, start } = await serviceWithHistory(t);
  const files = ["bus.sqlite", "catalog.sqlite"];
  for (const name of files) copyFileSync(join(folder, name), join(folder, "..", name));
  let service = await start();
  await service.ports.catalog.createAccount({ email: "b@example.org", password: "correct horse b", admin: false });
  await postAndDrain(service, ["four", "five"]);
  await service.close();
  // As after truncating a write-ahead log: each file by itself is sound and older.
  for (const name of files) {
    t.false(existsSync(join(folder, `${name}-wal`)));
    copyFileSync(join(folder, "..", name), join(folder, name));
  }
  service = await start();
  t.deepEqual(await readiness(service), heldBy("bus", "catalog"));
});

test("embedded: a restored backup and files of a release without marks are ready", async (t) => {
  t.timeout(600_000);
  const { folder, start } = await serviceWithHistory(t);
  let service = await start();
  const to = join(folder, "..", "copy");
  t.is(await send(service, "/manage/1/backup", { to }), 202);
  await until(() => existsSync(join(to, "backup.json")), { what: "the backup" });
  await postAndDrain(service, ["four"]);
  await service.close();
  rmSync(join(folder, "marks.json"));
  service = await start();
  t.deepEqual(await readiness(service), READY, "without marks");
  await service.close();
  rmSync(folder, { recursive: true });
  await restore(to, folder);
  service = await start();
  t.deepEqual(await readiness(service), READY, "restored");
  t.is(await total(service), 3);
});

test("embedded: events stored during the check are not a fault", async (t) => {
  t.timeout(600_000);
  const { start } = await serviceWithHistory(t);
  const service = await start();
  const { bus, store, catalog } = service.ports;
  const holds = createHolds({ log: pino({ level: "silent" }) });
  const watch = watchContinuity({
    bus,
    catalog,
    store: {
      nextOffset: async (topic, partition) => {
        await postAndDrain(service, ["meanwhile"]);
        return await store.nextOffset(topic, partition);
      },
      prepareEvents: () => store.prepareEvents(),
      writeEvents: (events, position) => store.writeEvents(events, position),
    },
    marks: {
      read: async () => null,
      write: async () => true,
      catalog: async () => ({ catalog: 0, catalogId: null }),
      removed: async () => [],
      forgetRemoved: async () => {},
    },
    holds,
    group: "pipeline",
    keepsOffsets: true,
    log: pino({ level: "silent" }),
    interval_ms: 3_600_000,
  });
  await watch.compare();
  t.is(watch.fault(), null);
  t.deepEqual(holds.list(), []);
  await watch[Symbol.asyncDispose]();
});
