import test from "ava";

import type { LogKey } from "../../../../src/events/event.ts";
import type { ColumnsOfLogs } from "../../../../src/store/elasticsearch/write/columns.ts";
import { ElasticsearchEvents } from "../../../../src/store/elasticsearch/write/prepared.ts";
import { event } from "../../../contract/store-fixture.ts";
import { holdOfBest_ms } from "../../../support/turns.ts";
import { Scheduler } from "../../../../src/scheduling/scheduler.ts";

const HOLD_LIMIT_MS = 50;

test("events with long data are prepared in short steps", async (t) => {
  const data = "at Pool.acquire (pool.ts:4711:12) order=8831 ".repeat(1_400);
  const events = Array.from({ length: 100 }, () => event("shop" as LogKey, { data }));
  const hold_ms = await holdOfBest_ms(HOLD_LIMIT_MS, async () => {
    const prepared = new ElasticsearchEvents(() => "events", {} as ColumnsOfLogs, new Scheduler());
    await prepared.add(events);
    t.is(prepared.length, events.length);
    t.is(prepared.operations.length, events.length);
  });
  t.true(hold_ms < HOLD_LIMIT_MS, `the process was held for ${Math.round(hold_ms)} ms`);
});
