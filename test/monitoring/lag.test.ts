import test from "ava";
import { pino } from "pino";

import type { PartitionLag } from "../../src/bus/bus.ts";
import { watchLag } from "../../src/monitoring/lag.ts";
import { until } from "../support/until.ts";

const log = pino({ level: "silent" });

test("reports the number of waiting records and the age of the oldest", async (t) => {
  let lags: PartitionLag[] | Error = new Error("away");
  let samples = 0;
  const bus = {
    lag: () => {
      samples += 1;
      return lags instanceof Error ? Promise.reject(lags) : Promise.resolve(lags);
    },
  };
  let now_ms = 0;
  await using lag = watchLag({ bus, group: "pipeline", log, now: () => now_ms });
  t.is(lag.current(), null, "the bus has not reported yet");

  lags = [
    { partition: 0, first: 0, end: 10, next: 7 },
    { partition: 1, first: 0, end: 5, next: 5 },
  ];
  await until(() => lag.current()?.records === 3, { what: "a lag of three records" });
  t.is(lag.current()?.age_s, 0);
  now_ms = 3_000;
  t.is(lag.current()?.age_s, 3);
  const before = samples;
  await until(() => samples > before, { what: "the ends of this time" });

  // The previous records have been processed, and new ones have arrived.
  lags = [
    { partition: 0, first: 0, end: 14, next: 12 },
    { partition: 1, first: 0, end: 5, next: 5 },
  ];
  await until(() => lag.current()?.records === 2, { what: "the new records" });
  t.is(lag.current()?.age_s, 0);
  now_ms = 4_000;
  t.is(lag.current()?.age_s, 1);

  lags = [
    { partition: 0, first: 0, end: 14, next: 14 },
    { partition: 1, first: 0, end: 5, next: 5 },
  ];
  await until(() => lag.current()?.records === 0, { what: "no lag" });
  t.is(lag.current()?.age_s, 0);
});

test("while the bus is unreachable the last known lag stays, and its age grows", async (t) => {
  let away = false;
  let attempts = 0;
  const bus = {
    lag: () => {
      attempts += 1;
      if (away) return Promise.reject(new Error("away"));
      return Promise.resolve([{ partition: 0, first: 0, end: 4, next: 1 }]);
    },
  };
  let now_ms = 0;
  await using lag = watchLag({ bus, group: "pipeline", log, now: () => now_ms });
  await until(() => lag.current() !== null, { what: "the first lag" });
  away = true;
  const known = attempts;
  now_ms = 1_500;
  await until(() => attempts > known, { what: "an attempt to read the lag" });
  t.is(lag.current()!.age_s, 1.5);
  t.is(lag.current()!.records, 3);
});
