import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import type { LogKey } from "../../../src/events/event.ts";
import type { Annotations } from "../../../src/store/store.ts";
import { openDuckdbStore } from "../../../src/store/duckdb/store.ts";
import type { DuckdbStore } from "../../../src/store/duckdb/store.ts";
import { event, listPlan, newLog, newUser } from "../../contract/store-fixture.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { writeAlerts, writeEvents } from "../../support/write-events.ts";

/** Returns the annotations of all events of a log, as its list shows them. */
async function marksOf(store: DuckdbStore, log: LogKey): Promise<Annotations[]> {
  const { rows, annotations = await store.annotations(rows.map(({ id }) => id)) } = await store.list(listPlan(log));
  return [...annotations.values()];
}

test("the first annotation of a log is in every later list, also after a restart", async (t) => {
  const file = join(temporaryFolder(t), "events.duckdb");
  const open = (): Promise<DuckdbStore> => openDuckdbStore({ file, log: pino({ level: "silent" }) });
  const [bookmarked, alerted, plain] = [newLog(), newLog(), newLog()];
  const [ann, bob] = [newUser(), newUser()];
  const [first, second] = [event(bookmarked), event(alerted)];
  {
    await using store = await open();
    await writeEvents(store, [first, second, event(plain)]);
    t.deepEqual(await marksOf(store, bookmarked), []);
    t.deepEqual(await store.annotations([first.id, second.id]), new Map());

    await store.addBookmark(ann, bookmarked, first.id);
    t.deepEqual(await marksOf(store, bookmarked), [{ bookmarks: [ann], alerts: [] }]);
    t.deepEqual(await marksOf(store, alerted), []);
    await writeAlerts(store, [{ user: bob, event: second }]);
    t.deepEqual(await marksOf(store, alerted), [{ bookmarks: [], alerts: [bob] }]);
  }
  await using store = await open();
  t.deepEqual(await marksOf(store, bookmarked), [{ bookmarks: [ann], alerts: [] }]);
  t.deepEqual(await marksOf(store, alerted), [{ bookmarks: [], alerts: [bob] }]);
  t.deepEqual(await marksOf(store, plain), []);
  t.truthy((await store.list(listPlan(plain))).annotations);
});
