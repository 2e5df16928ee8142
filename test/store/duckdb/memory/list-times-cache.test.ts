import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import type { StoredEvent } from "../../../../src/events/event.ts";
import type { ListPlan } from "../../../../src/query/plan.ts";
import { ListTimesCache } from "../../../../src/store/duckdb/memory/list-times-cache.ts";
import { openDuckdbStore } from "../../../../src/store/duckdb/store.ts";
import { event, idAt, listPlan, MORNING, newLog } from "../../../contract/store-fixture.ts";
import { temporaryFolder } from "../../../support/temporary.ts";
import { writeEvents } from "../../../support/write-events.ts";

/** More events than a store scans as a whole. */
const COUNT = 120_000;
const BATCH = 20_000;

test("pages of a list that was counted before reflect every later write and deletion", async (t) => {
  t.timeout(120_000);
  const file = join(temporaryFolder(t), "events.duckdb");
  await using store = await openDuckdbStore({ file, log: pino({ level: "silent" }), memoryLimit_mb: 256, threads: 2 });
  const log = newLog();
  const written: StoredEvent[] = [];
  const add = async (events: readonly StoredEvent[]): Promise<void> => {
    await writeEvents(store, events);
    written.push(...events.filter(({ source }) => source === "rare"));
  };
  const rare = (created: number, accepted = created): StoredEvent =>
    event(log, { id: idAt(accepted), created, source: "rare" });
  let now = MORNING + COUNT;
  const later = (created: number): StoredEvent => rare(created, (now += 1));
  for (let from = 0; from < COUNT; from += BATCH) {
    const at = (i: number): number => MORNING + from + i;
    await add(Array.from({ length: BATCH }, (_, i) => (i % 500 === 0 ? rare(at(i)) : event(log, { created: at(i) }))));
  }
  const where: ListPlan["where"] = { kind: "text", field: "source", op: "=", value: "rare" };
  const hold = async (what: string): Promise<void> => {
    for (const direction of ["asc", "desc"] as const) {
      const sign = direction === "asc" ? 1 : -1;
      const expected = written.toSorted((a, b) => sign * (a.created - b.created || (a.id < b.id ? -1 : 1)));
      for (const skip of [0, 100, 200, 10_000]) {
        const plan = listPlan(log, { where, skip, take: 100, sort: [{ field: "created", direction }] });
        const { rows, total } = await store.list(plan, { countUpTo: 10_101 });
        const found = rows.map(({ id }) => id);
        const ids = expected.slice(skip, skip + 100).map(({ id }) => id);
        t.deepEqual({ found, total }, { found: ids, total: written.length }, `${what}, ${direction} from ${skip}`);
      }
    }
  };
  await hold("at first");
  await hold("again");
  await add([later(MORNING + 7), later(MORNING + 60_000), later(MORNING + COUNT + 1)]);
  await hold("after later events");
  await hold("after later events, again");
  await add(Array.from({ length: 300 }, () => later(MORNING + 500)));
  await hold("after many of one moment");
  await add([rare(MORNING + 9, MORNING - 1_000)]);
  await hold("after an event with an early id");
  await store.indexed();
  await hold("after an event with an early id, again");
  await add([rare(MORNING + 11, MORNING + COUNT)]);
  await hold("after an event whose id lies before the latest");
  const [gone] = written.splice(50, 1);
  t.true(await store.deleteEvent(log, gone!.id));
  await hold("after a deletion");
  const adding = (async () => {
    for (let i = 0; i < 20; i++) await add([later(MORNING + i * 1_000)]);
  })();
  const plan = listPlan(log, { where, take: 100 });
  for (let i = 0; i < 20; i++) {
    const { rows, total } = await store.list(plan, { countUpTo: 10_101 });
    t.is(rows.length, 100);
    t.true(total <= written.length + 1);
  }
  await adding;
  await hold("after writing beside lists");
});

test("cached times are dropped by a change, and not stored during a write", (t) => {
  const database: { changeVersion: number; writeVersion: number | null } = { changeVersion: 0, writeVersion: 1 };
  const cache = new ListTimesCache(database);
  const found = { times: BigInt64Array.of(1n, 2n), upTo: 7n };
  const plan = listPlan(newLog(), { skip: 100 });
  cache.set(plan, 1, found);
  t.like(cache.get({ ...plan, skip: 0 }), found);
  t.is(cache.get(listPlan(newLog())), null);
  t.is(cache.get({ ...plan, sort: [{ field: "created", direction: "desc" }] }), null);

  database.writeVersion = 2;
  t.like(cache.get(plan), { ...found, writeVersion: 1 });
  database.changeVersion += 1;
  t.is(cache.get(plan), null);
  database.changeVersion -= 1;
  t.is(cache.get(plan), null);

  cache.set(plan, 1, found);
  t.is(cache.get(plan), null);
  database.writeVersion = null;
  cache.set(plan, null, found);
  t.is(cache.get(plan), null);

  database.writeVersion = 3;
  const plans = Array.from({ length: 40 }, () => listPlan(newLog()));
  for (const each of plans) cache.set(each, 3, found);
  t.deepEqual(
    plans.map((each) => cache.get(each) !== null),
    plans.map((_, i) => i >= 8),
  );
});
