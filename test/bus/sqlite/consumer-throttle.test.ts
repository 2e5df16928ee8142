import test from "ava";
import { averageLoad, throttleLeft_ms } from "../../../src/bus/sqlite/consumer-throttle.ts";

const QUIET = { worked_ms: 20, rested_ms: 0, busy: 0.3, appended_bytes_s: 100_000, behind_ms: 25 };

test("a handler pauses twice as long as it worked, up to a limit", (t) => {
  t.is(throttleLeft_ms(QUIET), 40);
  t.is(throttleLeft_ms({ ...QUIET, rested_ms: 30 }), 10);
  t.is(throttleLeft_ms({ ...QUIET, rested_ms: 40 }), 0);
  t.is(throttleLeft_ms({ ...QUIET, worked_ms: 1_000 }), 300);
  t.is(throttleLeft_ms({ ...QUIET, behind_ms: 60_000 }), 40, "however far it is behind");
});

test("a handler pauses while producers keep the thread busy, until readers have waited for seconds", (t) => {
  const burst = { ...QUIET, rested_ms: 40, busy: 0.9, appended_bytes_s: 5_000_000 };
  t.is(throttleLeft_ms(burst), 100);
  t.is(throttleLeft_ms({ ...burst, rested_ms: 4_000, behind_ms: 4_999 }), 100);
  t.is(throttleLeft_ms({ ...burst, busy: 0.5 }), 0);
  t.is(
    throttleLeft_ms({ ...burst, busy: 0.5, appended_bytes_s: 50_000_000 }),
    100,
    "more than the handler could carry beside it",
  );
  t.is(throttleLeft_ms({ ...burst, appended_bytes_s: 100_000 }), 0, "others keep it busy");
  t.is(throttleLeft_ms({ ...burst, behind_ms: 5_000 }), 0);
  t.is(throttleLeft_ms({ ...burst, rested_ms: 5_000, behind_ms: -3_600_000 }), 0, "the clock was set back");
});

test("a short pause counts little in the average load", (t) => {
  const before = { busy: 0.5, appended_bytes_s: 0 };
  const seen = { busy: 1, appended_bytes_s: 1_000 };
  t.deepEqual(averageLoad(before, seen, 50), { busy: 0.625, appended_bytes_s: 250 });
  t.deepEqual(averageLoad(before, seen, 100), { busy: 0.75, appended_bytes_s: 500 });
  t.deepEqual(averageLoad(before, seen, 200), seen);
  t.deepEqual(averageLoad(before, seen, 1_000), seen);
});

test("producers that stop are noticed sooner than those that slow down", (t) => {
  const before = { busy: 1, appended_bytes_s: 50_000_000 };
  const silent = { busy: 0.5, appended_bytes_s: 0 };
  t.deepEqual(averageLoad(before, silent, 25), silent);
  t.deepEqual(averageLoad(before, silent, 12.5), { busy: 0.96875, appended_bytes_s: 46_875_000 }, "it may be chance");
  const busy = { ...silent, busy: 0.6 };
  t.deepEqual(averageLoad({ ...before, busy: 0.6 }, busy, 25).appended_bytes_s, 43_750_000, "the thread had no time");
  const slow = { ...silent, appended_bytes_s: 1_000 };
  t.deepEqual(averageLoad(before, slow, 100), { busy: 0.75, appended_bytes_s: 25_000_500 });
});
