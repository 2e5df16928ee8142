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
} from "../house.ts";
import type { House } from "../house.ts";
import { PLACES } from "../places.ts";

const DAY_MS = 86_400_000;

function run(house: House, options: Partial<ReplayOptions> = {}) {
  return replay({ ...house, now: Date.now, log: SILENT, since: 0, signal: new AbortController().signal, ...options });
}

/** Removes all events of a log from the store, but not the markers of deletions. */
async function lose({ store }: House, log: LogKey): Promise<void> {
  await store.refresh();
  await store.deleteExpired({ before: new Map([[log, Date.now() + DAY_MS]]), markersBefore: null });
  await store.refresh();
}

/** When the oldest record on the bus was appended. */
async function firstAppended({ bus }: House): Promise<number> {
  let oldest = Infinity;
  for await (const records of bus.read({ topic: "events", maxRecords: 100, maxBytes: 1e6 })) {
    for (const { appended } of records) oldest = Math.min(oldest, appended);
  }
  return oldest;
}

for (const { name, open } of PLACES) {
  test(`${name}: a replay restores lost events, and no deleted ones`, async (t) => {
    const house = await open(t);
    const { log } = await makeLog(house.catalog);
    await house.catalog.createClassFilter(log, classFilter("every", { text: "something" }));
    const reader = await addSubscriber(house.catalog, log, "every");
    const pipeline = await start(t, house);
    const events = Array.from({ length: 300 }, () => accept(log));
    await post(house.bus, events, 7);
    await caughtUp(pipeline);
    await house.store.refresh();
    t.true(await house.store.deleteEvent(log, events[5]!.id));
    await lose(house, log);
    t.is((await rows(house.store, log)).length, 0);

    const { oldest, ...progress } = await run(house);
    t.deepEqual(progress, { records: 43, events: 300, visits: 0, expired: 0, refused: 0 });
    t.is(oldest, await firstAppended(house));
    const expected = events.filter((_, i) => i !== 5).map(({ id }) => id);
    t.deepEqual(
      (await rows(house.store, log)).map(({ id }) => id),
      expected,
    );
    t.is((await alertsOf(house.store, log, reader)).length, 299);

    t.true(await house.store.deleteAlert(reader, log, events[7]!.id));
    t.true(await house.store.addBookmark(reader, log, events[8]!.id));
    await run(house);
    t.deepEqual(
      (await rows(house.store, log)).map(({ id }) => id),
      expected,
      "a second time changes nothing",
    );
    t.is((await alertsOf(house.store, log, reader)).length, 298);
    t.is((await rows(house.store, log, { kind: "bookmarks", user: reader })).length, 1);
    t.true((await pipeline.lag()).every(({ next, end }) => next === end));
  });

  test(`${name}: a replay starts at the given time, and makes no mail, no dead letter and no expired event`, async (t) => {
    const house = await open(t);
    const { log } = await makeLog(house.catalog);
    await house.catalog.createClassFilter(log, classFilter("every", { text: "something" }));
    const appended: string[] = [];
    await post(house.bus, [accept(log, { text: "early" })]);
    await until(() => true, { what: "a turn" });
    const early = Date.now();
    await until(() => Date.now() > early + 20, { what: "the clock to move on" });
    await post(house.bus, [accept(log, { text: "late" }), accept(log, { text: "old", created: early - 8 * DAY_MS })]);
    await house.bus.append("events", [{ key: log, value: encodeRecord(log, ["oops"]) }]);
    const pipeline = await start(t, house);
    await caughtUp(pipeline);
    t.is((await deadLetters(house.bus)).length, 1);
    await lose(house, log);
    await house.catalog.updateLog(log, { retentionDays: 7 });
    const bus = overBus(house.bus, {
      append: async (topic, records) => {
        appended.push(topic);
        await house.bus.append(topic, records);
      },
    });
    const { oldest, ...progress } = await run({ ...house, bus }, { since: early + 10 });
    t.deepEqual(progress, { records: 2, events: 2, visits: 0, expired: 1, refused: 1 });
    t.true(oldest !== null && oldest > early && oldest <= Date.now());
    t.deepEqual(
      (await rows(house.store, log)).map(({ text }) => text),
      ["late"],
    );
    t.deepEqual(appended, []);
    t.is((await deadLetters(house.bus)).length, 1);
  });
}

test("a replay waits for an unreachable store, and stops when it is aborted", async (t) => {
  const house = await PLACES[0]!.open(t);
  const { log } = await makeLog(house.catalog);
  await post(house.bus, [accept(log)]);
  const stop = new AbortController();
  let writes = 0;
  const store = {
    ...house.store,
    writeEvents: async () => {
      writes += 1;
      return [{ kind: "retry" as const, reason: "away" }];
    },
  };
  const running = run({ ...house, store }, { signal: stop.signal });
  await until(() => writes >= 3, { what: "tries", timeout_ms: 20_000 });
  stop.abort(new Error("enough"));
  await t.throwsAsync(running, { message: "enough" });
});
