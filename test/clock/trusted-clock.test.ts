import test from "ava";

import { TrustedTime } from "../../src/clock/trusted-clock.ts";
import { Machine } from "./machine.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function clockOf(machine: Machine): { clock: TrustedTime; changes: number[] } {
  const changes: number[] = [];
  const { host, elapsed } = machine;
  return { clock: new TrustedTime({ host, elapsed, changed: (ahead_ms) => changes.push(ahead_ms) }), changes };
}

for (const [what, step_ms] of [
  ["minutes", 10 * MINUTE_MS],
  ["a hundred days", 100 * DAY_MS],
  ["a year", 365 * DAY_MS],
] as const) {
  test(`a host's clock that jumps forward by ${what} does not move the trusted time`, (t) => {
    const machine = new Machine();
    const { clock } = clockOf(machine);
    machine.pass(HOUR_MS);
    t.is(clock.now(), machine.host());
    machine.step(step_ms);
    machine.pass(2 * MINUTE_MS);
    const truth_ms = machine.host() - step_ms;
    t.true(Math.abs(clock.now() - truth_ms) < 1_000, String(clock.now() - truth_ms));
    t.is(clock.mayRemove(), step_ms < HOUR_MS);
    machine.step(-step_ms);
    t.is(clock.now(), machine.host());
    t.true(clock.mayRemove());
  });
}

test("disagreement of clocks is reported once, and their agreement once", (t) => {
  const machine = new Machine();
  const { clock, changes } = clockOf(machine);
  machine.step(DAY_MS);
  for (let i = 0; i < 5; i++) clock.check();
  t.is(changes.length, 1);
  machine.step(-DAY_MS);
  for (let i = 0; i < 5; i++) clock.check();
  t.is(changes.length, 2);
});

test("a host's clock that is slewed is followed for years", (t) => {
  const machine = new Machine();
  const { clock, changes } = clockOf(machine);
  for (let hour = 0; hour < 20_000; hour++) {
    machine.pass(HOUR_MS);
    machine.step(hour < 10_000 ? 100 : -100);
    t.is(clock.now(), machine.host());
  }
  t.deepEqual(changes, []);
});

test("a host's clock that is set back is trusted at once, and contradicted if it is far off", (t) => {
  const machine = new Machine();
  const { clock } = clockOf(machine);
  machine.step(-DAY_MS);
  t.is(clock.now(), machine.host());
  t.false(clock.mayRemove());
  clock.trust(machine.host());
  t.true(clock.mayRemove());
});
