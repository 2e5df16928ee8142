import test from "ava";

import { writeAlerts } from "../support/write-events.ts";
import { event, listPlan, newLog, newUser, pageOf, row, texts, write } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";

/** Deletions as the bus delivers them, in any order. */
export function deletionsContract({ name, open }: StoreAdapter): void {
  test(`${name}: a deletion holds before, after and among its events, however often it is delivered`, async (t) => {
    const store = await open(t);
    const [log, user] = [newLog(), newUser()];
    const [before, behind, kept] = [event(log, { text: "before" }), event(log), event(log, { text: "kept" })];
    const deletions = [before, behind].map(({ id }) => ({ log, event: id, alertOf: null }));
    t.deepEqual(await store.writeDeletions(deletions.slice(0, 1)), [{ kind: "done" }]);
    await write(t, store, [before, behind, kept]);
    await writeAlerts(
      store,
      [before, behind, kept].map((each) => ({ user, event: each })),
    );
    t.true(await store.addBookmark(user, log, behind.id));
    t.true(await store.addBookmark(user, log, kept.id));
    t.false(await store.addBookmark(user, log, before.id));
    for (let i = 0; i < 2; i++) {
      const outcomes = await store.writeDeletions([...deletions, ...deletions]);
      t.true(outcomes.length === 4 && outcomes.every(({ kind }) => kind === "done"));
      await store.refresh();
      t.deepEqual(await pageOf(store, listPlan(log)), { rows: [row(kept)], total: 1 });
      for (const kind of ["alerts", "bookmarks"] as const) {
        t.deepEqual(await texts(store, listPlan(log, { from: { kind, user } })), ["kept"]);
      }
      await write(t, store, [before, behind]);
    }
    const known = await store.deletionsAmong(log, [before.id, behind.id, kept.id]);
    t.deepEqual(known.map(({ event: id }) => id).toSorted(), [before.id, behind.id].toSorted());
    t.true(known.every((deletion) => deletion.log === log && deletion.alertOf === null));
    t.deepEqual(await store.deletionsAmong(log, []), []);
    t.deepEqual(await store.writeDeletions([]), []);
  });

  test(`${name}: the deletion of an alert holds before and after the alert, and for its owner alone`, async (t) => {
    const store = await open(t);
    const [log, ann, bob] = [newLog(), newUser(), newUser()];
    const [first, second] = [event(log, { text: "first" }), event(log, { text: "second" })];
    const alerts = [ann, bob].flatMap((user) => [first, second].map((each) => ({ user, event: each })));
    await store.writeDeletions([{ log, event: second.id, alertOf: ann }]);
    await writeAlerts(store, alerts);
    await write(t, store, [first, second]);
    await store.refresh();
    const alertsOf = (user: typeof ann) => texts(store, listPlan(log, { from: { kind: "alerts", user } }));
    t.deepEqual(await alertsOf(ann), ["first"]);
    t.deepEqual(await alertsOf(bob), ["first", "second"]);
    const deletions = await store.deletionsOfAlerts(ann);
    t.deepEqual(deletions, [{ log, event: first.id, alertOf: ann }]);
    for (let i = 0; i < 2; i++) {
      t.deepEqual(await store.writeDeletions(deletions), [{ kind: "done" }]);
      await writeAlerts(store, alerts);
      await store.refresh();
      t.deepEqual(await alertsOf(ann), []);
      t.deepEqual(await alertsOf(bob), ["first", "second"]);
      t.deepEqual(await pageOf(store, listPlan(log)), { rows: [row(first), row(second)], total: 2 });
    }
    t.deepEqual(await store.deletionsOfAlerts(ann), []);
  });
}
