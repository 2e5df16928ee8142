import test from "ava";

import type { RecordSource } from "../../src/query/plan.ts";
import {
  deleteAlerts,
  event,
  groupPlan,
  idAt,
  listPlan,
  MORNING,
  newLog,
  newUser,
  row,
  texts,
  write,
} from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";
import { writeAlerts } from "../support/write-events.ts";
import { usualGroups } from "../support/groups.ts";

/** Tests of annotations: bookmarks, alerts and their deletion. */
export function marksContract(adapter: StoreAdapter): void {
  bookmarkContract(adapter);
  alertContract(adapter);
  deletionContract(adapter);
}

function bookmarkContract({ name, open }: StoreAdapter): void {
  test(`${name}: a bookmark belongs to one user and one event of its log, and is stored once`, async (t) => {
    const store = await open(t);
    const [log, other] = [newLog(), newLog()];
    const [ann, bob] = [newUser(), newUser()];
    const [marked, unmarked] = [event(log, { text: "marked" }), event(log, { text: "unmarked" })];
    await write(t, store, [marked, unmarked]);
    t.true(await store.addBookmark(ann, log, marked.id));
    t.true(await store.addBookmark(ann, log, marked.id));
    t.false(await store.addBookmark(ann, other, marked.id));
    t.false(await store.addBookmark(ann, log, idAt(MORNING)));
    await store.refresh();

    const anns: RecordSource = { kind: "bookmarks", user: ann };
    t.deepEqual(await store.list(listPlan(log, { from: anns })), { rows: [row(marked)], total: 1 });
    t.deepEqual(await store.list(listPlan(other, { from: anns })), { rows: [], total: 0 });
    t.deepEqual(await store.list(listPlan(log, { from: { kind: "bookmarks", user: bob } })), { rows: [], total: 0 });
    t.deepEqual(await store.find(anns, log, marked.id), row(marked));
    t.is(await store.find(anns, log, unmarked.id), null);
    t.is(await store.find(anns, other, marked.id), null);
    t.is(await store.find({ kind: "alerts", user: ann }, log, marked.id), null);
  });

  test(`${name}: a page that includes annotations has those of all its events, however many`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const events = Array.from({ length: 30 }, (_, i) =>
      event(log, { text: `quarrel ${i} of ten`, created: MORNING + i }),
    );
    await write(t, store, events);
    const plans = [
      listPlan(log, { take: 30 }),
      listPlan(log, { take: 30, where: { kind: "contains", field: "text", value: "quarrel" } }),
      listPlan(log, { take: 30, where: { kind: "matches", field: "text", pattern: "quarrel \\d+ of" } }),
    ];
    for (const users of [0, 3, 12]) {
      const people = Array.from({ length: users }, newUser);
      await writeAlerts(
        store,
        events.flatMap((each) => people.map((user) => ({ user, event: each }))),
      );
      if (users > 0) t.true(await store.addBookmark(people[0]!, log, events[7]!.id));
      await store.refresh();
      for (const plan of plans) {
        const { rows, annotations } = await store.list(plan);
        t.is(rows.length, 30);
        if (annotations === undefined) continue;
        const known = await store.annotations(rows.map(({ id }) => id));
        t.deepEqual(
          new Map(rows.map(({ id }) => [id, annotations.get(id)])),
          new Map(rows.map(({ id }) => [id, known.get(id)])),
        );
      }
      if (users === 3) t.is((await store.annotations([events[7]!.id])).get(events[7]!.id)?.alerts.length, 3);
    }
  });

  test(`${name}: a page by class has the annotations of events that had another class before`, async (t) => {
    const store = await open(t);
    const [log, ann] = [newLog(), newUser()];
    const revised = event(log, { class: "today" });
    await write(t, store, [revised]);
    t.deepEqual(await writeAlerts(store, [{ user: ann, event: { ...revised, class: "then" } }]), [{ kind: "done" }]);
    await store.refresh();
    const isOfToday = { kind: "text", field: "class", op: "=", value: "today" } as const;
    for (const where of [
      isOfToday,
      { kind: "not", condition: { kind: "and", conditions: [{ ...isOfToday, value: "then" }] } },
    ] as const) {
      const { rows, annotations = await store.annotations([revised.id]) } = await store.list(listPlan(log, { where }));
      t.deepEqual(rows, [row(revised)]);
      t.deepEqual(annotations.get(revised.id), { bookmarks: [], alerts: [ann] });
    }
  });

  test(`${name}: a bookmark can be removed and set again`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const [ann, bob] = [newUser(), newUser()];
    const marked = event(log);
    await write(t, store, [marked]);
    await store.addBookmark(ann, log, marked.id);
    await store.addBookmark(bob, log, marked.id);
    t.false(await store.deleteBookmark(ann, newLog(), marked.id));
    t.true(await store.deleteBookmark(ann, log, marked.id));
    t.false(await store.deleteBookmark(ann, log, marked.id));
    t.is(await store.find({ kind: "bookmarks", user: ann }, log, marked.id), null);
    t.deepEqual(await store.find({ kind: "bookmarks", user: bob }, log, marked.id), row(marked));
    t.true(await store.addBookmark(ann, log, marked.id));
    await store.refresh();
    t.is((await store.list(listPlan(log, { from: { kind: "bookmarks", user: ann } }))).total, 1);
  });

  test(`${name}: annotated events are filtered, sorted, paged and grouped over several logs`, async (t) => {
    const store = await open(t);
    const [log, other] = [newLog(), newLog()];
    const user = newUser();
    const events = Array.from({ length: 12 }, (_, i) =>
      event(i % 2 ? other : log, {
        created: MORNING + i,
        text: `event ${i}`,
        value: i,
        source: i < 6 ? "low" : "high",
      }),
    );
    await write(t, store, events);
    const alerted = events.filter((_, i) => i % 3 === 0);
    for (const { log: key, id } of alerted) await store.addBookmark(user, key, id);
    await writeAlerts(
      store,
      alerted.map((each) => ({ user, event: each })),
    );
    await store.refresh();
    for (const kind of ["bookmarks", "alerts"] as const) {
      const from: RecordSource = { kind, user };
      const high = { kind: "text", field: "source", op: "=", value: "high" } as const;
      t.deepEqual(await texts(store, listPlan([log, other], { from })), ["event 0", "event 3", "event 6", "event 9"]);
      t.deepEqual(await texts(store, listPlan(log, { from })), ["event 0", "event 6"]);
      t.deepEqual(await texts(store, listPlan([log, other], { from, where: high })), ["event 6", "event 9"]);
      const newest = listPlan([log, other], {
        from,
        sort: [{ field: "created", direction: "desc" }],
        skip: 1,
        take: 2,
      });
      const page = await store.list(newest);
      t.deepEqual(page, { rows: [row(events[6]!), row(events[3]!)], total: 4 });
      t.deepEqual(
        await usualGroups(store, groupPlan([log, other], { from, by: [{ kind: "field", field: "source" }] })),
        [
          { key: "high", count: 2, avg: 7.5, sum: 15, min: 6, max: 9 },
          { key: "low", count: 2, avg: 1.5, sum: 3, min: 0, max: 3 },
        ],
      );
    }
  });
}

function alertContract({ name, open }: StoreAdapter): void {
  test(`${name}: an alert is stored once per user and event, however often it is delivered`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const [ann, bob] = [newUser(), newUser()];
    const [first, second] = [event(log, { text: "first" }), event(log, { text: "second" })];
    const alerts = [
      { user: ann, event: first },
      { user: bob, event: first },
      { user: ann, event: first },
      { user: ann, event: second },
    ];
    const done = alerts.map(() => ({ kind: "done" as const }));
    t.deepEqual(await writeAlerts(store, alerts), done);
    t.deepEqual(await writeAlerts(store, alerts), done);
    await write(t, store, [first, second]);
    t.deepEqual(await store.list(listPlan(log, { from: { kind: "alerts", user: ann } })), {
      rows: [row(first), row(second)],
      total: 2,
    });
    t.deepEqual(await store.list(listPlan(log, { from: { kind: "alerts", user: bob } })), {
      rows: [row(first)],
      total: 1,
    });
    t.deepEqual(await store.find({ kind: "alerts", user: bob }, log, first.id), row(first));
    t.is(await store.find({ kind: "alerts", user: bob }, log, second.id), null);
    t.is(await store.find({ kind: "bookmarks", user: ann }, log, first.id), null);
  });

  test(`${name}: an alert of an earlier event may be written later`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const user = newUser();
    const [early, late] = [event(log, { text: "early" }), event(log, { created: MORNING + 86_400_000, text: "late" })];
    await write(t, store, [early, late]);
    await writeAlerts(store, [{ user, event: late }]);
    await writeAlerts(store, [{ user, event: early }]);
    await store.refresh();
    t.deepEqual(await texts(store, listPlan(log, { from: { kind: "alerts", user } })), ["early", "late"]);
  });

  test(`${name}: a deleted alert is gone for its owner alone and does not return`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const [ann, bob] = [newUser(), newUser()];
    const [first, second] = [event(log, { text: "first" }), event(log, { text: "second" })];
    const alerts = [ann, bob].flatMap((user) => [first, second].map((each) => ({ user, event: each })));
    await writeAlerts(store, alerts);
    await write(t, store, [first, second]);
    t.false(await store.deleteAlert(ann, newLog(), first.id));
    t.false(await store.deleteAlert(newUser(), log, first.id));
    t.true(await store.deleteAlert(ann, log, first.id));
    t.false(await store.deleteAlert(ann, log, first.id));
    await writeAlerts(store, alerts);
    await store.refresh();
    t.deepEqual(await texts(store, listPlan(log, { from: { kind: "alerts", user: ann } })), ["second"]);
    t.deepEqual(await texts(store, listPlan(log, { from: { kind: "alerts", user: bob } })), ["first", "second"]);
    t.is(await store.find({ kind: "alerts", user: ann }, log, first.id), null);
    t.deepEqual(await store.find({ kind: "events" }, log, first.id), row(first));
  });

  test(`${name}: deleting all alerts of a user keeps those of others and later ones`, async (t) => {
    const store = await open(t);
    const [log, other] = [newLog(), newLog()];
    const [ann, bob] = [newUser(), newUser()];
    const events = [event(log, { text: "first" }), event(other, { text: "second" })];
    const alerts = [ann, bob].flatMap((user) => events.map((each) => ({ user, event: each })));
    await writeAlerts(store, alerts);
    await write(t, store, events);
    await deleteAlerts(store, ann);
    await deleteAlerts(store, newUser());
    const later = event(log, { text: "later" });
    await write(t, store, [later]);
    await writeAlerts(store, [...alerts, { user: ann, event: later }]);
    await store.refresh();
    t.deepEqual(await texts(store, listPlan([log, other], { from: { kind: "alerts", user: ann } })), ["later"]);
    t.deepEqual(await texts(store, listPlan([log, other], { from: { kind: "alerts", user: bob } })), [
      "first",
      "second",
    ]);
  });
}

function deletionContract({ name, open }: StoreAdapter): void {
  test(`${name}: annotations list who bookmarked and who was alerted, sorted`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const users = [newUser(), newUser(), newUser()].toSorted();
    const [all, some, none] = [event(log), event(log), event(log)];
    await write(t, store, [all, some, none]);
    for (const user of users.toReversed()) {
      await store.addBookmark(user, log, all.id);
      await writeAlerts(store, [{ user, event: all }]);
    }
    await store.addBookmark(users[1]!, log, some.id);
    await writeAlerts(store, [{ user: users[2]!, event: some }]);
    await store.deleteAlert(users[0]!, log, all.id);
    await store.deleteBookmark(users[2]!, log, all.id);
    await store.refresh();
    const marks = await store.annotations([none.id, some.id, idAt(MORNING), all.id]);
    t.deepEqual(marks.get(all.id), { bookmarks: users.slice(0, 2), alerts: users.slice(1) });
    t.deepEqual(marks.get(some.id), { bookmarks: [users[1]!], alerts: [users[2]!] });
    t.deepEqual(marks.get(none.id) ?? { bookmarks: [], alerts: [] }, { bookmarks: [], alerts: [] });
    t.is((await store.annotations([])).size, 0);
  });

  test(`${name}: returns all annotations of the given events and of the events between them`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const users = Array.from({ length: 1_200 }, newUser).toSorted();
    const [first, between, last] = [event(log), event(log), event(log)];
    await write(t, store, [first, between, last]);
    const alerts = [between, last].flatMap((marked) => users.map((user) => ({ user, event: marked })));
    t.true((await writeAlerts(store, alerts)).every(({ kind }) => kind === "done"));
    await store.addBookmark(users[0]!, log, first.id);
    await store.refresh();
    const marks = await store.annotations([first.id, last.id]);
    t.deepEqual(marks.get(first.id), { bookmarks: [users[0]!], alerts: [] });
    t.deepEqual(marks.get(last.id), { bookmarks: [], alerts: users });
    t.is(marks.size, 2);
  });

  test(`${name}: deleting an event deletes its bookmarks and alerts, also an alert that arrives later`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const [ann, bob] = [newUser(), newUser()];
    const [gone, kept] = [event(log, { text: "gone" }), event(log, { text: "kept" })];
    await write(t, store, [gone, kept]);
    await writeAlerts(store, [
      { user: ann, event: gone },
      { user: ann, event: kept },
    ]);
    await store.addBookmark(ann, log, gone.id);
    await store.addBookmark(ann, log, kept.id);
    t.true(await store.deleteEvent(log, gone.id));
    await writeAlerts(store, [
      { user: ann, event: gone },
      { user: bob, event: gone },
    ]);
    await write(t, store, [gone]);
    t.false(await store.addBookmark(bob, log, gone.id));
    await store.refresh();
    for (const kind of ["bookmarks", "alerts"] as const) {
      t.deepEqual(await texts(store, listPlan(log, { from: { kind, user: ann } })), ["kept"]);
      t.deepEqual(await texts(store, listPlan(log, { from: { kind, user: bob } })), []);
      t.is(await store.find({ kind, user: ann }, log, gone.id), null);
    }
    const marks = await store.annotations([gone.id, kept.id]);
    t.deepEqual(marks.get(gone.id) ?? { bookmarks: [], alerts: [] }, { bookmarks: [], alerts: [] });
    t.deepEqual(marks.get(kept.id), { bookmarks: [ann], alerts: [ann] });
    t.false(await store.deleteAlert(ann, log, gone.id));
    t.false(await store.deleteBookmark(ann, log, gone.id));
  });

  test(`${name}: an alert of a deleted event that is the first of its store leaves nothing`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const user = newUser();
    const gone = event(log);
    await write(t, store, [gone]);
    await store.deleteEvent(log, gone.id);
    t.deepEqual(await writeAlerts(store, [{ user, event: gone }]), [{ kind: "done" }]);
    await store.refresh();
    t.deepEqual(await store.list(listPlan(log, { from: { kind: "alerts", user } })), { rows: [], total: 0 });
    t.deepEqual((await store.annotations([gone.id])).get(gone.id)?.alerts ?? [], []);
    t.false(await store.deleteAlert(user, log, gone.id));
  });
}
