import test from "ava";
import { pino } from "pino";

import { createHealth } from "../../src/monitoring/health.ts";
import { createHolds } from "../../src/monitoring/holds.ts";
import type { NewHold } from "../../src/monitoring/holds.ts";

const HOUR_MS = 3_600_000;
const silent = pino({ level: "silent" });

function holdOf(changes: Partial<NewHold> = {}): NewHold {
  return { name: "clock", why: "it is ahead", todo: "set it right", blocks: null, accept: () => {}, ...changes };
}

test("a hold lasts until its cause is gone or an operator accepts it", async (t) => {
  const holds = createHolds({ log: silent });
  const accepted: string[] = [];
  holds.set(holdOf({ accept: () => void accepted.push("clock") }));
  t.deepEqual(holds.list(), [{ name: "clock", why: "it is ahead", todo: "set it right", blocks: null }]);
  await t.throwsAsync(holds.accept("store"), { message: /There is no hold named store in this process/ });
  t.is((await holds.accept("clock")).why, "it is ahead");
  t.deepEqual(accepted, ["clock"]);
  t.deepEqual(holds.list(), []);
  holds.set(holdOf());
  holds.clear("clock");
  t.deepEqual(holds.list(), []);
});

test("a hold whose acceptance fails stays", async (t) => {
  const holds = createHolds({ log: silent });
  holds.set(holdOf({ accept: () => Promise.reject(new Error("the disk is full")) }));
  await t.throwsAsync(holds.accept("clock"), { message: "the disk is full" });
  t.is(holds.list().length, 1);
});

test("a hold is logged when it begins and once an hour", (t) => {
  const lines: string[] = [];
  let now_ms = 0;
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
  const holds = createHolds({ log, elapsed: () => now_ms });
  for (now_ms = 0; now_ms < 2 * HOUR_MS; now_ms += HOUR_MS / 4) holds.set(holdOf());
  t.is(lines.length, 2);
  t.regex(lines[0]!, /it is ahead/);
  holds.clear("clock");
  holds.set(holdOf());
  t.is(lines.length, 4, "its end, and the next one");
});

test("readiness lists each hold, and fails for a listener whose dependency it blocks", async (t) => {
  const holds = createHolds({ log: silent });
  const well = { ping: () => Promise.resolve() };
  const ports = { bus: well, store: well, catalog: well };
  const health = createHealth({
    ports,
    appends: { fault: () => null },
    holds,
    deliveries: () => null,
    comparison: () => null,
    process: () => null,
    log: silent,
  });
  t.false("holds" in (await health.ready(["bus", "store"])));
  holds.set(holdOf());
  const mentioned = await health.ready(["bus", "store"]);
  t.is(mentioned.status, "ready");
  t.deepEqual(mentioned.holds, [{ name: "clock", why: "it is ahead", todo: "set it right", blocks: null }]);
  holds.set(holdOf({ name: "store", blocks: "store" }));
  t.is((await health.ready(["bus", "store"])).status, "not ready");
  t.is((await health.ready(["bus", "appends"])).status, "ready", "posting does not need the store");
});
