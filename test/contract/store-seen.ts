import test from "ava";

import type { RecordSource } from "../../src/query/plan.ts";
import type { Store } from "../../src/store/store.ts";
import { uniqueName } from "../support/temporary.ts";
import { writeAlerts } from "../support/write-events.ts";
import { event, idAt, listPlan, MORNING, newLog, newUser, row, texts, write } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";

type User = ReturnType<typeof newUser>;
type Log = ReturnType<typeof newLog>;

async function stateOf(store: Store, logs: Log | Log[], user: User): Promise<{ seen: string[]; unseen: string[] }> {
  const textsOf = (state: "seen" | "unseen") => texts(store, listPlan(logs, { from: { kind: "alerts", user, state } }));
  await store.refresh();
  return { seen: await textsOf("seen"), unseen: await textsOf("unseen") };
}

/** Tests of marking alerts as seen or unseen. */
export function seenContract({ name, open }: StoreAdapter): void {
  test(`${name}: an alert is seen for its owner alone and keeps its state`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const [ann, bob] = [newUser(), newUser()];
    const [first, second] = [event(log, { text: "first", data: "more" }), event(log, { text: "second" })];
    const alerts = [ann, bob].flatMap((user) => [first, second].map((each) => ({ user, event: each })));
    await writeAlerts(store, alerts);
    await write(t, store, [first, second]);
    t.deepEqual(await stateOf(store, log, ann), { seen: [], unseen: ["first", "second"] });
    const alert = { user: ann, log, id: first.id };
    t.true(await store.setAlertSeen(alert, true));
    t.true(await store.setAlertSeen(alert, true));
    for (const other of [{ log: newLog() }, { user: newUser() }, { id: idAt(MORNING) }])
      t.false(await store.setAlertSeen({ ...alert, ...other }, true));
    // A replay writes the alerts again.
    await writeAlerts(store, alerts);
    await write(t, store, [first, second]);
    t.deepEqual(await stateOf(store, log, ann), { seen: ["first"], unseen: ["second"] });
    t.deepEqual(await stateOf(store, log, bob), { seen: [], unseen: ["first", "second"] });

    const all: RecordSource = { kind: "alerts", user: ann };
    t.deepEqual(await store.list(listPlan(log, { from: all })), { rows: [row(first), row(second)], total: 2 });
    const unseen: RecordSource = { ...all, state: "unseen" };
    t.deepEqual(await store.list(listPlan(log, { from: unseen })), { rows: [row(second)], total: 1 });
    const matching = { kind: "contains", field: "text", value: "first" } as const;
    t.deepEqual(await texts(store, listPlan(log, { from: unseen, where: matching })), []);

    t.true(await store.setAlertSeen(alert, false));
    t.true(await store.setAlertSeen(alert, false));
    t.deepEqual(await stateOf(store, log, ann), { seen: [], unseen: ["first", "second"] });
    t.true(await store.setAlertSeen(alert, true));
    t.true(await store.deleteAlert(ann, log, first.id));
    t.false(await store.setAlertSeen(alert, false));
    await store.deleteEvent(log, second.id);
    t.deepEqual(await stateOf(store, log, ann), { seen: [], unseen: [] });
  });

  test(`${name}: marking all alerts can be undone for exactly the alerts that it marked`, async (t) => {
    const store = await open(t);
    const [log, other] = [newLog(), newLog()];
    const [ann, bob] = [newUser(), newUser()];
    const events = ["one", "two", "three", "four"].map((text, i) =>
      event(i < 3 ? log : other, { text, created: MORNING + i }),
    );
    const later = event(log, { text: "later", created: MORNING + 9 });
    const alerts = [ann, bob].flatMap((user) => [...events, later].map((each) => ({ user, event: each })));
    await writeAlerts(store, alerts);
    await write(t, store, [...events, later]);
    const [logs, mark] = [[log, other], uniqueName("mark")];
    await store.setAlertSeen({ user: ann, log, id: events[0]!.id }, true);
    t.is(await store.markAlertsSeen({ user: ann, logs, mark, until: events[3]!.id }), 3);
    t.is(await store.markAlertsSeen({ user: ann, logs, mark: uniqueName("mark"), until: events[3]!.id }), 0);
    t.deepEqual(await stateOf(store, logs, ann), { seen: ["one", "two", "three", "four"], unseen: ["later"] });
    t.is((await stateOf(store, logs, bob)).seen.length, 0);
    // Marked on its own in between, so the undo leaves it as it is.
    await store.setAlertSeen({ user: ann, log, id: events[1]!.id }, false);
    await store.setAlertSeen({ user: ann, log, id: events[1]!.id }, true);
    t.is(await store.unmarkAlertsSeen({ user: bob, logs, mark }), 0);
    t.is(await store.unmarkAlertsSeen({ user: ann, logs: [newLog()], mark }), 0);
    t.is(await store.unmarkAlertsSeen({ user: ann, logs, mark }), 2);
    t.deepEqual(await stateOf(store, logs, ann), { seen: ["one", "two"], unseen: ["three", "four", "later"] });
    t.is(await store.markAlertsSeen({ user: ann, logs: [other], mark: uniqueName("mark"), until: null }), 1);
    t.is(await store.markAlertsSeen({ user: ann, logs: [], mark: uniqueName("mark"), until: null }), 0);
    t.is(await store.markAlertsSeen({ user: ann, logs, mark: uniqueName("mark"), until: null }), 2);
    t.is((await stateOf(store, logs, ann)).unseen.length, 0);
  });

  test(`${name}: marks more alerts than one step takes, while others are marked on their own`, async (t) => {
    t.timeout(600_000);
    const store = await open(t);
    const [log, user] = [newLog(), newUser()];
    const events = Array.from({ length: 2_300 }, (_, i) => event(log, { text: `event ${i}`, created: MORNING + i }));
    await writeAlerts(
      store,
      events.map((each) => ({ user, event: each })),
    );
    await write(t, store, events);
    const total = async (state: "seen" | "unseen") => {
      await store.refresh();
      return (await store.list(listPlan(log, { from: { kind: "alerts", user, state } }))).total;
    };
    const mark = uniqueName("mark");
    const [count] = await Promise.all([
      store.markAlertsSeen({ user, logs: [log], mark, until: null }),
      ...events.slice(2_000, 2_010).map(({ id }) => store.setAlertSeen({ user, log, id }, true)),
    ]);
    t.true(count >= 2_290 && count <= 2_300, String(count));
    t.deepEqual([await total("seen"), await total("unseen")], [2_300, 0]);
    t.is(await store.unmarkAlertsSeen({ user, logs: [log], mark }), count);
    t.is(await total("unseen"), count);
  });
}
