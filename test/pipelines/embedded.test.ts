import { spawn } from "node:child_process";
import { once } from "node:events";
import test from "ava";
import { killAfterExit } from "../../infra/engines/guard.ts";
import { temporaryFolder } from "../support/temporary.ts";
import {
  accept,
  addSubscriber,
  alertsOf,
  caughtUp,
  classFilter,
  deadLetters,
  EMBEDDED,
  makeLog,
  openEmbedded,
  post,
  rows,
  start,
  uniqueLog,
} from "./fixture.ts";

test("a process killed repeatedly while it writes loses and duplicates nothing", async (t) => {
  const folder = temporaryFolder(t);
  const events: string[] = [];
  const { log, reader } = await (async () => {
    await using ports = await openEmbedded(folder);
    const { log } = await makeLog(ports.catalog);
    await ports.catalog.createClassFilter(log, classFilter("every", { text: "something" }));
    const reader = await addSubscriber(ports.catalog, log, "every");
    const accepted = Array.from({ length: 6_000 }, () => accept(log));
    events.push(...accepted.map(({ id }) => id));
    await post(ports.bus, accepted, 1);
    await ports.bus.append("events", [{ key: log, value: Buffer.from("no record") }]);
    return { log, reader };
  })();

  for (const batches of [3, 7, 12]) {
    const child = spawn(process.execPath, [`${import.meta.dirname}/process.ts`, folder, String(batches)], {
      stdio: "inherit",
    });
    killAfterExit(child);
    await once(child, "close");
    t.is(child.signalCode, "SIGKILL");
  }

  await using ports = await openEmbedded(folder);
  const before = (await rows(ports.store, log)).length;
  t.true(before > 0 && before < events.length, `killed in the midst: ${before}`);
  await caughtUp(await start(t, ports));
  t.deepEqual(
    (await rows(ports.store, log)).map(({ id }) => id),
    events,
  );
  t.deepEqual(
    (await alertsOf(ports.store, log, reader)).map(({ id }) => id),
    events,
  );
  t.is((await deadLetters(ports.bus)).length, 1);
});

test("the pipeline continues at the store's own offset, whatever the group's", async (t) => {
  const ports = await EMBEDDED.open(t);
  const log = uniqueLog();
  await post(ports.bus, [accept(log), accept(log)], 1);
  const first = await start(t, ports);
  await caughtUp(first);
  await first.close();
  t.is(await ports.store.nextOffset("events", 0), 3);

  await post(ports.bus, [accept(log)], 1);
  const second = await start(t, ports, { group: "another" });
  await caughtUp(second);
  t.is(second.stats().records, 1);
  t.is((await rows(ports.store, log)).length, 3);
});

test("a batch of which nothing is stored moves the offset too", async (t) => {
  const ports = await EMBEDDED.open(t);
  await ports.bus.append("events", [
    { key: "a", value: Buffer.from("one") },
    { key: "a", value: Buffer.from("two") },
  ]);
  await caughtUp(await start(t, ports));
  t.is(await ports.store.nextOffset("events", 0), 3);
  t.is((await deadLetters(ports.bus)).length, 2);
});
