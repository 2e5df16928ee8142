import test from "ava";

import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import { readBatch } from "../../../src/ingest/posting/batch.ts";
import { FairTurns } from "../../../src/scheduling/fair-turns.ts";
import { turnsDuring } from "../../support/turns.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const RANGE = { read_ms: Date.now(), trusted_ms: Date.now(), retentionDays: null };

test("a small batch is read at once, large ones one after the other, yielding to other work", async (t) => {
  const ended: string[] = [];
  const turns = new FairTurns();
  const bodyOf = (count: number) => {
    const body = Buffer.from(JSON.stringify(Array.from({ length: count }, (_, i) => ({ text: `${i}`.repeat(50) }))));
    return { body, sent_bytes: body.length };
  };
  const read = (name: string, count: number) =>
    readBatch(
      "array",
      bodyOf(count),
      { limits: DEFAULT_LIMITS, range: RANGE, secret: "", scheduler: new Scheduler() },
      (work) => turns.run("ann", work),
    ).then(({ accepted }) => {
      ended.push(name);
      return accepted;
    });
  const passed = await turnsDuring(async () => {
    t.deepEqual(
      await Promise.all([read("first", 5_000), read("second", 3_000), read("small", 10)]),
      [5_000, 3_000, 10],
    );
  });
  t.deepEqual(ended, ["small", "first", "second"]);
  t.true(passed >= 20, `${passed} turns`);
});
