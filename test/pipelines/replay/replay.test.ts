import test from "ava";

import { replay } from "../../../pipelines/replay/replay.ts";
import type { ReplayOptions } from "../../../pipelines/replay/replay.ts";
import type { LogKey } from "../../../src/events/event.ts";
import { encodeRecord } from "../../../src/events/record.ts";
import { until } from "../../support/until.ts";
import {
  accept,
  addSubscriber,
  alertsOf,
  caughtUp,
  classFilter,
  deadLetters,
  makeLog,
  overBus,
  post,
  rows,
  SILENT,
  start,
} from "../fixture.ts";
import type { Ports } from "../fixture.ts";
import { ENGINE_KINDS } from "../engine-kinds.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const DAY_MS = 86_400_000;

function run(ports: Ports, options: Partial<ReplayOptions> = {}) {
  return replay({
    ...ports,
    scheduler: new Scheduler(),
    now: Date.now,
    log: SILENT,
    since: 0,
    signal: new AbortController().signal,
    ...options,
  });
}

/** Removes all events of a log from the store, but not the markers of deletions. */
async function lose({ store }: Ports, log: LogKey): Promise<void> {
  await store.refresh();
  await store.deleteExpired({ before: new Map([[log, Date.now() + DAY_MS]]), markersBefore: null });
  await store.refresh();
}

/** When the oldest record on the bus was appended. */
async function firstAppended({ bus }: Ports): Promise<number> {
  let oldest = Infinity;
  for await (const records of bus.read({ topic: "events", maxRecords: 100, maxBytes: 1e6 })) {
    for (const { appended } of records) oldest = Math.min(oldest, appended);
  }
  return oldest;
}

for (const { name, open } of ENGINE_KINDS) {
  test(`${name}: a replay restores lost events, and no deleted ones`, async (t) => {
    const ports = await open(t);
    const { log } = await makeLog(ports.catalog);
    await ports.catalog.createClassFilter(log, classFilter("every", { text: "something" }));
    const reader = await addSubscriber(ports.catalog, log, "every");
    const pipeline = await start(t, ports);
    const events = Array.from({ length: 300 }, () => accept(log));
    await post(ports.bus, events, 7);
    await caughtUp(pipeline);
    await ports.store.refresh();
    t.true(await ports.store.deleteEvent(log, events[5]!.id));
    await lose(ports, log);
    t.is((await rows(ports.store, log)).length, 0);

    const { oldest, ...progress } = await run(ports);
    t.deepEqual(progress, { records: 43, events: 300, visits: 0, expired: 0, refused: 0 });
    t.is(oldest, await firstAppended(ports));
    const expected = events.filter((_, i) => i !== 5).map(({ id }) => id);
    t.deepEqual(
      (await rows(ports.store, log)).map(({ id }) => id),
      expected,
    );
    t.is((await alertsOf(ports.store, log, reader)).length, 299);

    t.true(await ports.store.deleteAlert(reader, log, events[7]!.id));
    t.true(await ports.store.addBookmark(reader, log, events[8]!.id));
    await run(ports);
    t.deepEqual(
      (await rows(ports.store, log)).map(({ id }) => id),
      expected,
      "a second time changes nothing",
    );
    t.is((await alertsOf(ports.store, log, reader)).length, 298);
    t.is((await rows(ports.store, log, { kind: "bookmarks", user: reader })).length, 1);
    t.true((await pipeline.lag()).every(({ next, end }) => next === end));
  });

  test(`${name}: a replay starts at the given time, and makes no mail, no dead letter and no expired event`, async (t) => {
    const ports = await open(t);
    const { log } = await makeLog(ports.catalog);
    await ports.catalog.createClassFilter(log, classFilter("every", { text: "something" }));
    const appended: string[] = [];
    await post(ports.bus, [accept(log, { text: "early" })]);
    await until(() => true, { what: "a turn" });
    const early = Date.now();
    await until(() => Date.now() > early + 20, { what: "the clock to move on" });
    await post(ports.bus, [accept(log, { text: "late" }), accept(log, { text: "old", created: early - 8 * DAY_MS })]);
    await ports.bus.append("events", [{ key: log, value: encodeRecord(log, ["oops"]) }]);
    const pipeline = await start(t, ports);
    await caughtUp(pipeline);
    t.is((await deadLetters(ports.bus)).length, 1);
    await lose(ports, log);
    await ports.catalog.updateLog(log, { retentionDays: 7 });
    const bus = overBus(ports.bus, {
      append: async (topic, records) => {
        appended.push(topic);
        await ports.bus.append(topic, records);
      },
    });
    const { oldest, ...progress } = await run({ ...ports, bus }, { since: early + 10 });
    t.deepEqual(progress, { records: 2, events: 2, visits: 0, expired: 1, refused: 1 });
    t.true(oldest !== null && oldest > early && oldest <= Date.now());
    t.deepEqual(
      (await rows(ports.store, log)).map(({ text }) => text),
      ["late"],
    );
    t.deepEqual(appended, []);
    t.is((await deadLetters(ports.bus)).length, 1);
  });
}

test("a replay waits for an unreachable store, and stops when it is aborted", async (t) => {
  const ports = await ENGINE_KINDS[0]!.open(t);
  const { log } = await makeLog(ports.catalog);
  await post(ports.bus, [accept(log)]);
  const stop = new AbortController();
  let writes = 0;
  const store = {
    ...ports.store,
    writeEvents: async () => {
      writes += 1;
      return [{ kind: "retry" as const, reason: "away" }];
    },
  };
  const running = run({ ...ports, store }, { signal: stop.signal });
  await until(() => writes >= 3, { what: "tries" });
  stop.abort(new Error("enough"));
  await t.throwsAsync(running, { message: "enough" });
});
