import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import { openDuckdbStore } from "../../../../src/store/duckdb/store.ts";
import { event, listPlan, newLog } from "../../../contract/store-fixture.ts";
import { temporaryFolder } from "../../../support/temporary.ts";

test("events that together need more memory than the store has are written in smaller transactions", async (t) => {
  t.timeout(120_000);
  const file = join(temporaryFolder(t), "events.duckdb");
  const store = await openDuckdbStore({ file, log: pino({ level: "silent" }), memoryLimit_mb: 128, threads: 1 });
  t.teardown(() => store[Symbol.asyncDispose]());
  const log = newLog();
  // Stored outside of columns, each value repeats the name.
  const attributes = JSON.stringify({ ["n".repeat(200)]: Array.from({ length: 8_000 }, (_, i) => i % 10) });
  let left = Array.from({ length: 100 }, () => event(log, { attributes }));
  let failures = 0;
  for (; left.length > 0 && failures < 10; failures++) {
    const prepared = store.prepareEvents();
    await prepared.add(left);
    const outcomes = await store.writeEvents(prepared);
    left = left.filter((_, i) => outcomes[i]!.kind !== "done");
  }
  t.is(left.length, 0);
  t.true(failures > 0);
  t.is((await store.list(listPlan(log))).total, 100);
});
