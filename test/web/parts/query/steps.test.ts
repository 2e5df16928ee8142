import test from "ava";
import * as fc from "fast-check";

import { keyOfPeriod, periodKeyFormat } from "../../../../src/query/calendar.ts";
import { parseZone } from "../../../../src/query/zone.ts";
import { barsOfRange, stepBeside, stepOfRange } from "../../../../src/web/parts/query/steps.ts";
import { momentsOfKey } from "../../../../src/web/parts/groups/key-moments.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/**
 * Time zones with clock changes by an hour, by half an hour, at midnight, by a whole day, and
 * without any.
 */
const ZONES = [
  "Europe/Berlin",
  "Australia/Lord_Howe",
  "America/Havana",
  "America/Santiago",
  "America/St_Johns",
  "Pacific/Apia",
  "Africa/Casablanca",
  "Asia/Kathmandu",
  "UTC",
];

const moments = fc.record({
  zone: fc.constantFrom(...ZONES),
  // Mostly around clock changes.
  near: fc
    .constantFrom("2011-12-30", "2018-11-04", "2026-03-29", "2026-04-04", "2026-10-25", "2027-05-09")
    .map(Date.parse),
  before_ms: fc.integer({ min: 0, max: 3 * DAY_MS }),
  length_ms: fc.oneof(
    fc.integer({ min: 1, max: HOUR_MS }),
    fc.integer({ min: 1, max: 8 * DAY_MS }),
    fc.integer({ min: 1, max: 1500 * DAY_MS }),
  ),
});

test("bars fill the range without gaps, and each is a group of the service", (t) => {
  const property = fc.property(moments, fc.integer({ min: -2, max: 1 }), fc.nat(), (at, by, seed) => {
    const range = { from: at.near - at.before_ms, to: at.near - at.before_ms + at.length_ms };
    const step = stepBeside(stepOfRange(range), by);
    const bars = barsOfRange(step, range, at.zone);
    const period = { kind: "period", unit: step.unit, count: step.count, zone: parseZone(at.zone) } as const;
    const [keyOf, format] = [keyOfPeriod(period), periodKeyFormat(period)];
    t.is(bars[0]!.from, range.from);
    t.is(bars.at(-1)!.to, range.to);
    t.is(new Set(bars.map(({ key }) => key)).size, bars.length, "keys are different");
    for (const [i, bar] of bars.entries()) {
      if (i > 0) t.is(bar.from, bars[i - 1]!.to);
      t.true(bar.from < bar.to);
      for (const moment of [bar.start, bar.from, bar.from + (seed % (bar.to - bar.from)), bar.to - 1, bar.end - 1]) {
        t.is(format(keyOf(moment)), bar.key, `${new Date(moment).toISOString()} ${at.zone} ${step.key}`);
      }
      t.not(format(keyOf(bar.end)), bar.key);
      t.not(format(keyOf(bar.start - 1)), bar.key);
      if (i % 40 === 0)
        t.deepEqual(momentsOfKey(bar.key, step, at.zone), { from: bar.start, to: bar.end }, `${bar.key} ${at.zone}`);
    }
  });
  fc.assert(property, { numRuns: 200 });
});

test("there are sixty to a hundred and twenty bars", (t) => {
  const count = (length_ms: number): number =>
    barsOfRange(stepOfRange({ from: 0, to: length_ms }), { from: 0, to: length_ms }, "UTC").length;
  t.is(stepOfRange({ from: 0, to: DAY_MS }).key, "MINUTES(15)");
  t.is(stepOfRange({ from: 0, to: DAY_MS }).name, "15-min bars");
  t.is(stepOfRange({ from: 0, to: HOUR_MS }).key, "SECONDS(30)");
  t.is(stepOfRange({ from: 0, to: 15 * 60_000 }).key, "SECONDS(10)");
  t.is(stepOfRange({ from: 0, to: 15 * 60_000 }).name, "10-second bars");
  t.is(stepOfRange({ from: 0, to: 60_000 }).key, "SECONDS(1)");
  t.is(stepOfRange({ from: 0, to: 1 }).key, "SECONDS(1)");
  t.is(stepOfRange({ from: 0, to: 7 * DAY_MS }).key, "HOURS(2)");
  t.is(stepOfRange({ from: 0, to: 30 * DAY_MS }).key, "HOURS(6)");
  t.is(stepOfRange({ from: 0, to: 90 * DAY_MS }).key, "DAY");
  t.is(stepOfRange({ from: 0, to: 3000 * DAY_MS }).key, "MONTH");
  for (let length_ms = 60_000; length_ms < 700 * DAY_MS; length_ms *= 1.3) {
    const bars = count(length_ms);
    t.true(bars >= 50 && bars <= 121, `${bars} bars for ${length_ms / HOUR_MS} h`);
  }
  t.true(count(60 * 365 * DAY_MS) <= 121);
});

test("a repeated hour has two bars, and a skipped one none", (t) => {
  const hour = { unit: "hours", count: 1, key: "HOUR", name: "" } as const;
  const bars = (day: string): string[] =>
    barsOfRange(hour, { from: Date.parse(day) - 2 * HOUR_MS, to: Date.parse(day) + 3 * HOUR_MS }, "Europe/Berlin").map(
      ({ key }) => key.replace(/^\S+ /, ""),
    );
  t.deepEqual(bars("2026-10-25"), ["00:00", "01:00", "02:00", "02:00 +01:00", "03:00"]);
  t.deepEqual(bars("2026-03-29"), ["23:00", "00:00", "01:00", "03:00", "04:00"]);
  t.deepEqual(momentsOfKey("10/25/2026 02:00 +01:00", hour, "Europe/Berlin"), {
    from: Date.UTC(2026, 9, 25, 1),
    to: Date.UTC(2026, 9, 25, 2),
  });
  t.is(momentsOfKey("payments", hour, "UTC"), null);
});
