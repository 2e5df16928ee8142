import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import type { ListPlan } from "../../../src/query/plan.ts";
import { openDuckdbStore } from "../../../src/store/duckdb/store.ts";
import { event, listPlan, MORNING, newLog } from "../../contract/store-fixture.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { writeEvents } from "../../support/write-events.ts";

/** More than two of the spans in which a list with a bounded count is counted. */
const COUNT = 260_000;
const BATCH = 20_000;

test("a list with a bounded count has the same pages in a large store, wherever a log's events are", async (t) => {
  t.timeout(120_000);
  const file = join(temporaryFolder(t), "events.duckdb");
  const store = await openDuckdbStore({ file, log: pino({ level: "silent" }), memoryLimit_mb: 256, threads: 2 });
  t.teardown(() => store[Symbol.asyncDispose]());
  const [dense, early, coarse] = [newLog(), newLog(), newLog()];
  for (let from = 0; from < COUNT; from += BATCH) {
    const events = Array.from({ length: BATCH }, (_, i) => from + i).map((i) => {
      const log = i % 50 === 0 && i < 100_000 ? early : i % 50 === 1 ? coarse : dense;
      // In `coarse`, 500 events share each moment, more than the store reads around a page.
      const created = MORNING + (log === coarse ? i - (i % 25_000) : i);
      return event(log, { created, text: "x", value: i % 97 });
    });
    await writeEvents(store, events);
  }
  const rare: ListPlan["where"] = { kind: "number", field: "value", op: "=", value: 3 };
  for (const log of [dense, early, coarse]) {
    for (const direction of ["asc", "desc"] as const) {
      for (const where of [listPlan(log).where, rare]) {
        for (const skip of [0, 450, 1_900, 2_400, 9_950]) {
          const plan = listPlan(log, { where, skip, take: 100, sort: [{ field: "created", direction }] });
          const whole = await store.list(plan);
          const part = await store.list(plan, { countUpTo: 10_101 });
          t.deepEqual(part.rows, whole.rows);
          if (whole.total <= 10_101) t.is(part.total, whole.total);
          else t.true(part.total >= 10_101 && part.total <= whole.total);
        }
      }
    }
  }
});
