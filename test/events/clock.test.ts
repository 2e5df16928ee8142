import test from "ava";

import { createSteadyClock } from "../../src/events/clock.ts";
import { createIdSource } from "../../src/events/id.ts";
import { until } from "../support/until.ts";

const HOUR_MS = 3_600_000;

test("follows the host's clock, and runs on when that is set back until it catches up", (t) => {
  const host = { now: 50_000, elapsed: 7 };
  const clock = createSteadyClock({ now: () => host.now, elapsed: () => host.elapsed });
  const at = (now: number, elapsed: number): number => {
    Object.assign(host, { now, elapsed });
    return clock();
  };
  t.is(at(50_000, 7), 50_000);
  t.is(at(50_010, 17), 50_010);
  t.is(at(50_010 - HOUR_MS, 17), 50_010);
  t.is(at(50_025 - HOUR_MS, 32.6), 50_025);
  t.is(at(60_000, 40), 60_000);
});

test("continues where an earlier process ended", (t) => {
  let elapsed = 0;
  const clock = createSteadyClock({ now: () => 1_000, elapsed: () => elapsed, from: 5_000 });
  t.is(clock(), 5_000);
  elapsed = 3;
  t.is(clock(), 5_003);
});

test("events accepted after the clock was set back between restarts get distinct times", async (t) => {
  const earlier = createIdSource({ now: () => Date.now() + HOUR_MS })();
  const next = createIdSource({ now: createSteadyClock({ from: earlier.created + 1 }) });
  const first = next();
  t.true(first.id > earlier.id);
  t.true(first.created > earlier.created);
  await until(() => next().created > first.created + 2, { what: "the moment of acceptance goes on" });
});
