import test from "ava";
import { pino } from "pino";

import type { PartitionLag } from "../../src/bus/bus.ts";
import { watchLag } from "../../src/monitoring/lag.ts";
import { until } from "../support/until.ts";

const log = pino({ level: "silent" });

test("reports the number of waiting records and the age of the oldest", async (t) => {
  let lags: PartitionLag[] | Error = new Error("away");
  const bus = {
    lag: () => (lags instanceof Error ? Promise.reject(lags) : Promise.resolve(lags)),
  };
  await using lag = watchLag({ bus, group: "pipeline", log });
  t.is(lag.current(), null, "the bus has not reported yet");

  lags = [
    { partition: 0, first: 0, end: 10, next: 7 },
    { partition: 1, first: 0, end: 5, next: 5 },
  ];
  await until(() => lag.current()?.records === 3, { what: "a lag of three records" });
  await until(() => (lag.current()?.age_s ?? 0) > 2, { what: "a lag of two seconds" });

  // The previous records have been processed, and new ones have arrived.
  lags = [
    { partition: 0, first: 0, end: 14, next: 12 },
    { partition: 1, first: 0, end: 5, next: 5 },
  ];
  await until(() => lag.current()?.records === 2, { what: "the new records" });
  const { age_s } = lag.current()!;
  t.true(age_s < 2, String(age_s));

  lags = [
    { partition: 0, first: 0, end: 14, next: 14 },
    { partition: 1, first: 0, end: 5, next: 5 },
  ];
  await until(() => lag.current()?.records === 0, { what: "no lag" });
  t.is(lag.current()?.age_s, 0);
});

test("while the bus is unreachable the last known lag stays, and its age grows", async (t) => {
  let away = false;
  const bus = {
    lag: () =>
      away ? Promise.reject(new Error("away")) : Promise.resolve([{ partition: 0, first: 0, end: 4, next: 1 }]),
  };
  await using lag = watchLag({ bus, group: "pipeline", log });
  await until(() => lag.current() !== null, { what: "the first lag" });
  away = true;
  const before = lag.current()!;
  await until(() => lag.current()!.age_s > before.age_s + 1.2, { what: "the age of the lag to grow" });
  t.is(lag.current()!.records, 3);
});
