import test from "ava";

import type { LogKey } from "../../src/events/event.ts";
import type { Visit } from "../../src/events/visit.ts";
import { EVERYTHING } from "../../src/query/plan.ts";
import type { Store } from "../../src/store/store.ts";
import { event, idAt, listPlan, newLog, newUser, texts, write } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";
import { writeAlerts } from "../support/write-events.ts";

/** Long before the events of all other tests, so that this suite has its months to itself. */
const EARLY = Date.UTC(2011, 2, 15);
const DAY_MS = 86_400_000;

/**
 * Tests of retention. They run one after the other: while one drops a month, writes of another to
 * it would have to be retried.
 */
export function retentionContract({ name, open }: StoreAdapter): void {
  test.serial(`${name}: retention removes events older than their log keeps, and nothing else`, async (t) => {
    const store = await open(t);
    const [short, long, forever] = [newLog(), newLog(), newLog()];
    for (const log of [short, long, forever]) {
      const events = [0, 1, 2, 40, 80].map((day) => event(log, { created: EARLY + day * DAY_MS, text: `day ${day}` }));
      await write(t, store, events);
    }
    const expiry = (days: number) =>
      new Map([
        [short, EARLY + days * DAY_MS],
        [long, EARLY + 1],
      ]);
    t.is(await store.deleteExpired({ before: expiry(2), markersBefore: null }), 3);
    await store.refresh();
    t.deepEqual(
      await texts(store, listPlan(short)),
      ["day 2", "day 40", "day 80"],
      "what is as old as that to the millisecond stays",
    );
    t.deepEqual(await texts(store, listPlan(long)), ["day 1", "day 2", "day 40", "day 80"]);
    t.is((await store.list(listPlan(forever))).total, 5);
    t.is(await store.deleteExpired({ before: expiry(2), markersBefore: null }), 0);
    t.is(await store.deleteExpired({ before: expiry(60), markersBefore: null }), 2);
    await store.refresh();
    t.deepEqual(await texts(store, listPlan(short)), ["day 80"]);
    t.is((await store.list(listPlan(forever))).total, 5);
  });

  test.serial(`${name}: bookmarks, alerts and visits expire with their events`, async (t) => {
    const store = await open(t);
    const [log, other] = [newLog(), newLog()];
    const user = newUser();
    const made = [log, other].flatMap((key) =>
      [0, 10].map((day) => event(key, { created: EARLY + day * DAY_MS, text: `${key} ${day}` })),
    );
    await write(t, store, made);
    await writeAlerts(
      store,
      made.map((each) => ({ user, event: each })),
    );
    for (const each of made) await store.addBookmark(user, each.log, each.id);
    const visits = await store.writeVisits([log, other].flatMap((key) => [visit(key, 0), visit(key, 10)]));
    t.true(visits.every(({ kind }) => kind === "done"));
    await store.refresh();

    t.is(await store.deleteExpired({ before: new Map([[log, EARLY + DAY_MS]]), markersBefore: null }), 2);
    await store.refresh();
    for (const kind of ["bookmarks", "alerts"] as const) {
      const left = await texts(store, listPlan([log, other], { from: { kind, user } }));
      t.deepEqual(
        left.toSorted(),
        made
          .slice(1)
          .map(({ text }) => text)
          .toSorted(),
        kind,
      );
    }
    t.deepEqual(await visitsOf(store, log), [1]);
    t.deepEqual(await visitsOf(store, other), [2]);
    t.deepEqual((await store.annotations([made[0]!.id])).get(made[0]!.id) ?? { bookmarks: [], alerts: [] }, {
      bookmarks: [],
      alerts: [],
    });
  });

  test.serial(`${name}: a deleted event stays deleted for as long as some log could keep it`, async (t) => {
    const store = await open(t);
    const [log, forever] = [newLog(), newLog()];
    const user = newUser();
    const gone = event(forever, { created: EARLY + 100 * DAY_MS, text: "deleted" });
    const kept = event(forever, { created: EARLY + 100 * DAY_MS, text: "kept" });
    await write(t, store, [gone, kept, event(log, { created: EARLY + 100 * DAY_MS })]);
    await writeAlerts(store, [{ user, event: kept }]);
    await store.refresh();
    t.true(await store.deleteEvent(forever, gone.id));
    t.true(await store.deleteAlert(user, forever, kept.id));
    await store.deleteExpired({ before: new Map([[log, EARLY + 200 * DAY_MS]]), markersBefore: null });
    await write(t, store, [gone, kept]);
    await writeAlerts(store, [{ user, event: kept }]);
    await store.refresh();
    t.deepEqual(await texts(store, listPlan(forever)), ["kept"]);
    t.is((await store.list(listPlan(forever, { from: { kind: "alerts", user } }))).total, 0);
  });

  test.serial(`${name}: a whole month of one log is removed and can be written to again`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const month = EARLY - 365 * DAY_MS;
    const events = Array.from({ length: 2500 }, (_, i) => event(log, { created: month + i, text: `event ${i}` }));
    await write(t, store, events);
    const before = new Map([[log, month + 60 * DAY_MS]]);
    const [one, two] = await Promise.all([
      store.deleteExpired({ before, markersBefore: null }),
      store.deleteExpired({ before, markersBefore: null }),
    ]);
    t.true(one + two >= events.length, `${one} and ${two}`);
    await store.refresh();
    t.is((await store.list(listPlan(log))).total, 0);
    await write(t, store, [events[0]!, events[0]!]);
    t.is((await store.list(listPlan(log))).total, 1);
  });

  test.serial(`${name}: an aborted sweep stops`, async (t) => {
    const store = await open(t);
    const stop = AbortSignal.abort(new Error("stopped"));
    const log = newLog();
    await write(t, store, [event(log, { created: EARLY })]);
    await t.throwsAsync(store.deleteExpired({ before: new Map([[log, EARLY + 1]]), markersBefore: null }, stop));
    t.is((await store.list(listPlan(log))).total, 1);
  });
}

function visit(log: LogKey, day: number): Visit {
  const created = EARLY + day * DAY_MS;
  return { id: idAt(created), log, created, user: "visitor", email: "", page: "" };
}

async function visitsOf(store: Store, log: LogKey): Promise<number[]> {
  const page = await store.users({
    kind: "users",
    logs: [log],
    where: EVERYTHING,
    sort: [],
    skip: 0,
    take: 10,
    columns: null,
  });
  return page.rows.map(({ count }) => count);
}
