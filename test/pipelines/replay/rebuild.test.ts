import type { ExecutionContext } from "ava";
import test from "ava";

import { rebuild } from "../../../pipelines/replay/rebuild.ts";
import type { RebuildOptions } from "../../../pipelines/replay/rebuild.ts";
import type { ReplayProgress } from "../../../src/operations/operations.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { until } from "../../support/until.ts";
import {
  accept,
  addSubscriber,
  alertsOf,
  caughtUp,
  classFilter,
  makeLog,
  post,
  rows,
  SILENT,
  start,
} from "../fixture.ts";
import type { Ports } from "../fixture.ts";
import { ENGINE_KINDS } from "../engine-kinds.ts";
import { writeEvents } from "../../support/write-events.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const onCluster = realEngines ? test : test.skip;

function open(t: ExecutionContext): Promise<Ports> {
  return ENGINE_KINDS.find(({ name }) => name === "cluster")!.open(t);
}

function run(ports: Ports, options: Partial<RebuildOptions> = {}): Promise<ReplayProgress> {
  const { store } = ports;
  return rebuild({
    ...ports,
    store: { ...store, rebuild: store.rebuild! },
    scheduler: new Scheduler(),
    now: Date.now,
    log: SILENT,
    since: 0,
    signal: new AbortController().signal,
    ...options,
  });
}

onCluster(
  "a rebuild keeps annotations, applies today's filters, and copies events that the bus no longer has",
  async (t) => {
    t.timeout(300_000);
    const ports = await open(t);
    const { store, catalog } = ports;
    const { log } = await makeLog(catalog);
    await catalog.createClassFilter(log, classFilter("first", { text: "something" }));
    const reader = await addSubscriber(catalog, log, "first");
    const pipeline = await start(t, ports);
    const forgotten = Array.from({ length: 30 }, (_, i) => ({
      ...accept(log, { text: `something old ${i}`, data: "d" }),
      pattern: "",
      class: "first",
    }));
    t.true((await writeEvents(store, forgotten)).every(({ kind }) => kind === "done"));
    const events = Array.from({ length: 300 }, (_, i) => accept(log, { text: `something ${i}` }));
    await post(ports.bus, events, 7);
    await caughtUp(pipeline);
    await store.refresh();
    t.true(await store.deleteEvent(log, events[5]!.id));
    t.true(await store.deleteEvent(log, forgotten[5]!.id));
    t.true(await store.deleteAlert(reader, log, events[7]!.id));
    t.true(await store.addBookmark(reader, log, events[8]!.id));
    t.true(await store.addBookmark(reader, log, forgotten[8]!.id));
    const before = await rows(store, log);
    const alerts = await alertsOf(store, log, reader);
    const bookmarks = await rows(store, log, { kind: "bookmarks", user: reader });
    t.is(before.length, 328);
    t.is(alerts.length, 298);

    await catalog.createClassFilter(log, classFilter("second", { text: "something", weight: 9 }));
    const progress = await run(ports);
    t.deepEqual(
      await rows(store, log),
      before.map((row) => ({ ...row, class: "second" })),
    );
    t.deepEqual(await alertsOf(store, log, reader), alerts);
    t.deepEqual(await rows(store, log, { kind: "bookmarks", user: reader }), bookmarks);
    t.is(await store.data(log, forgotten[0]!.id), "d");
    t.like(progress, { events: 300, rebuild: { stage: "done", rebuilt: 300, markers: 4 } });
    t.false(await store.deleteEvent(log, events[5]!.id));
    const late = { ...events[5]!, pattern: "", class: null };
    t.true((await writeEvents(store, [late])).every(({ kind }) => kind === "done"));
    t.is((await rows(store, log)).length, 328);
    t.log(progress.rebuild);

    // Everything works with indices of a later generation too.
    t.true(await store.deleteEvent(log, events[9]!.id));
    t.true(await store.deleteBookmark(reader, log, events[8]!.id));
    await post(ports.bus, [accept(log)]);
    await until(async () => (await rows(store, log)).length === 328, { what: "the new event" });
    const again = await run(ports);
    t.log(again.rebuild);
    t.is((await rows(store, log)).length, 328);
    t.is((await rows(store, log, { kind: "bookmarks", user: reader })).length, 1);
  },
);
