import test from "ava";
import { busySince, restLeft } from "../../src/bus/rest.ts";

const QUIET = { worked_ms: 20, rested_ms: 0, busy: 0.3, behind_ms: 25 };

test("a handler rests twice as long as it worked, and not for long", (t) => {
  t.is(restLeft(QUIET), 40);
  t.is(restLeft({ ...QUIET, rested_ms: 30 }), 10);
  t.is(restLeft({ ...QUIET, rested_ms: 40 }), 0);
  t.is(restLeft({ ...QUIET, worked_ms: 1_000 }), 300);
  t.is(restLeft({ ...QUIET, behind_ms: 60_000 }), 40, "however far it is behind");
});

test("where producers keep the thread busy it rests for as long as they do, until readers have waited for some seconds", (t) => {
  const burst = { ...QUIET, rested_ms: 40, busy: 0.9 };
  t.is(restLeft(burst), 100);
  t.is(restLeft({ ...burst, rested_ms: 4_000, behind_ms: 4_999 }), 100);
  t.is(restLeft({ ...burst, busy: 0.5 }), 0);
  t.is(restLeft({ ...burst, behind_ms: 5_000 }), 0);
});

test("how busy the thread is, a short rest says little about", (t) => {
  t.is(busySince(0, 1, 50), 0.25);
  t.is(busySince(0.5, 1, 100), 0.75);
  t.is(busySince(0.25, 0.75, 200), 0.75);
  t.is(busySince(0.25, 0.75, 1_000), 0.75);
});
