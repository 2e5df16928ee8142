import test from "ava";

import type { LogKey } from "../../../src/events/event.ts";
import { retentionExpiry } from "../../../pipelines/retention/expiry.ts";
import { withRetentionFilter } from "../../../pipelines/retention/filter.ts";
import { startRetention } from "../../../pipelines/retention/job.ts";
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
import { ENGINE_KINDS } from "../engine-kinds.ts";
import { writeEvents } from "../../support/write-events.ts";

const DAY_MS = 86_400_000;

function logOf(key: string, retentionDays: number | null) {
  return {
    key: key as LogKey,
    display: key,
    plan: "development",
    retentionDays,
    origins: [],
    shares: [],
    apiKeys: [],
  } as const;
}

function clockAt(now_ms: number) {
  return { now: () => now_ms, mayRemove: () => true };
}

test("markers are needed for as long as some log keeps everything", (t) => {
  const now = 1_000 * DAY_MS;
  t.deepEqual(retentionExpiry([logOf("a", 10), logOf("b", 30), logOf("c", null)], now), {
    before: new Map([
      ["a" as LogKey, now - 10 * DAY_MS],
      ["b" as LogKey, now - 30 * DAY_MS],
    ]),
    markersBefore: null,
  });
  t.is(retentionExpiry([logOf("a", 10), logOf("b", 30)], now).markersBefore, now - 30 * DAY_MS);
  t.is(retentionExpiry([], now).markersBefore, null);
});

for (const { name, open } of ENGINE_KINDS) {
  test(`${name}: each log keeps events for its number of days, by their created time`, async (t) => {
    const ports = await open(t);
    const [week, forever] = [await makeLog(ports.catalog), await makeLog(ports.catalog)];
    await ports.catalog.updateLog(week.log, { retentionDays: 7 });
    const now = Date.now();
    const unknown = `${week.log}x` as LogKey;
    for (const log of [week.log, forever.log, unknown]) {
      const events = [0, 6, 8, 400].map((days) =>
        accept(log, { text: `${days} days old`, created: now - days * DAY_MS }),
      );
      // Written while the log had no retention.
      await writeEvents(
        ports.store,
        events.map((event) => ({ ...event, pattern: "", class: null })),
      );
    }
    await ports.store.refresh();
    const retention = startRetention({ ...ports, log: SILENT, clock: clockAt(now) });
    t.teardown(() => retention.close());
    t.is(await retention.removeExpired(), 2);
    const texts = async (log: LogKey) => (await rows(ports.store, log)).map(({ text }) => text);
    t.deepEqual(await texts(week.log), ["6 days old", "0 days old"]);
    t.is((await texts(forever.log)).length, 4);
    t.is((await texts(unknown)).length, 4, "a log that is not in the catalog keeps its events");
    await ports.catalog.updateLog(week.log, { retentionDays: null });
    const later = startRetention({ ...ports, log: SILENT, clock: clockAt(now + 1_000 * DAY_MS) });
    t.teardown(() => later.close());
    t.is(await later.removeExpired(), 0);
  });

  test(`${name}: expired events are not stored by the pipeline and raise no alert`, async (t) => {
    const ports = await open(t);
    const { log } = await makeLog(ports.catalog);
    await ports.catalog.updateLog(log, { retentionDays: 7 });
    await ports.catalog.createClassFilter(log, classFilter("every", { text: "something" }));
    const reader = await addSubscriber(ports.catalog, log, "every");
    const now = Date.now();
    let left = 0;
    const store = withRetentionFilter({ ...ports, now: Date.now, onExpired: (count) => void (left += count) });
    const pipeline = await start(t, { ...ports, store });
    await post(ports.bus, [accept(log, { created: now - 8 * DAY_MS }), accept(log, { created: now - 6 * DAY_MS })]);
    await post(ports.bus, [accept(log, { created: now - 9 * DAY_MS })]);
    await caughtUp(pipeline);
    t.deepEqual(
      (await rows(ports.store, log)).map(({ created }) => created),
      [now - 6 * DAY_MS],
    );
    t.is((await alertsOf(ports.store, log, reader)).length, 1);
    t.is(left, 2);
  });

  test(`${name}: expired events count as written, at any position and in any selection`, async (t) => {
    const ports = await open(t);
    const { log } = await makeLog(ports.catalog);
    await ports.catalog.updateLog(log, { retentionDays: 7 });
    const now = Date.now();
    const store = withRetentionFilter({ ...ports, now: Date.now });
    const days = [1, 8, 2, 9, 9, 3, 4, 8];
    const events = days.map((day) => accept(log, { text: `${day} days old`, created: now - day * DAY_MS }));
    const prepared = store.prepareEvents();
    for (const some of [events.slice(0, 3), events.slice(3)]) {
      await prepared.add(some.map((event) => ({ ...event, pattern: "", class: null })));
    }
    t.is(prepared.length, 8);
    t.deepEqual(
      prepared.ids(),
      events.map(({ id }) => id),
    );
    const picked = await prepared.pick([1, 2, 4, 6, 7]);
    t.deepEqual(
      picked.ids(),
      [1, 2, 4, 6, 7].map((i) => events[i]!.id),
    );
    t.deepEqual(
      (await store.writeEvents(picked)).map(({ kind }) => kind),
      ["done", "done", "done", "done", "done"],
    );
    await store.refresh();
    const stored = (await rows(ports.store, log)).map(({ text }) => text);
    t.deepEqual(stored.toSorted(), ["2 days old", "4 days old"]);
  });
}

test("sweeps run periodically, survive a failure, and end with the process", async (t) => {
  let sweeps = 0;
  const retention = startRetention({
    catalog: { logs: () => [], refresh: async () => {} },
    store: {
      deleteExpired: async () => {
        sweeps += 1;
        if (sweeps === 1) throw new Error("away");
        return 1;
      },
    },
    log: SILENT,
    first_ms: 1,
    interval_ms: 5,
  });
  await until(() => sweeps >= 3, { what: "sweeps after one that failed" });
  await retention.close();
  const before = sweeps;
  await until(() => true, { what: "a turn" });
  t.is(sweeps, before);
});
