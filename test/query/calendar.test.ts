import test from "ava";
import * as fc from "fast-check";

import {
  DAY_MS,
  HOUR_MS,
  addDays,
  addMonths,
  daysInMonth,
  periodKeyFormat,
  keyOfPeriod,
  momentOfKey,
  startOfDay,
} from "../../src/query/calendar.ts";
import { readDate } from "../../src/query/dates.ts";
import { UTC, fixedZone, parseZone } from "../../src/query/zone.ts";
import type { Zone } from "../../src/query/zone.ts";
import { day, hour } from "../support/groups.ts";

const offsets = fc.integer({ min: -720, max: 840 });
const moments = fc.integer({ min: -1e12, max: 5e12 });

test("a day starts at or before each of its moments and contains it", (t) => {
  const property = fc.property(moments, offsets, (moment, offset_min) => {
    const day = startOfDay(moment, fixedZone(offset_min));
    const clock = new Date(day + offset_min * 60_000).toISOString();
    return day <= moment && moment < day + DAY_MS && clock.endsWith("T00:00:00.000Z");
  });
  t.notThrows(() => fc.assert(property));
});

test("days keep the time of day across a clock change", (t) => {
  const berlin = parseZone("Europe/Berlin");
  const noon = Date.parse("2026-10-24T10:00Z");
  t.is(addDays(noon, 1, berlin), Date.parse("2026-10-25T11:00Z"));
  t.is(addMonths(noon, 1, berlin), Date.parse("2026-11-24T11:00Z"));
  t.is(startOfDay(Date.parse("2026-10-25T20:00Z"), berlin), Date.parse("2026-10-24T22:00Z"));
  const havana = parseZone("America/Havana");
  // In spring the clocks of Havana go from midnight to one o'clock.
  t.is(startOfDay(Date.parse("2026-03-08T12:00Z"), havana), Date.parse("2026-03-08T05:00Z"));
});

const MONTHS: readonly (readonly [string, number, string])[] = [
  ["2011-01-31T10:00", 1, "2011-02-28T10:00"],
  ["2012-01-31", 1, "2012-02-29"],
  ["2012-02-29", 12, "2013-02-28"],
  ["2012-02-29", 48, "2016-02-29"],
  ["2011-03-31", -1, "2011-02-28"],
  ["2011-01-15", -1, "2010-12-15"],
  ["2011-10-31", 4, "2012-02-29"],
  ["2011-08-31", 1, "2011-09-30"],
  ["2011-12-31", 0, "2011-12-31"],
  ["2000-01-31", -1200, "1900-01-31"],
];

test("months end on their last day, in the analyst's time zone", (t) => {
  for (const offset_min of [0, 330, -720, 840]) {
    for (const [from, months, to] of MONTHS)
      t.is(addMonths(moment(from, offset_min), months, fixedZone(offset_min)), moment(to, offset_min), from);
  }
  t.deepEqual([daysInMonth(1900, 2), daysInMonth(2000, 2), daysInMonth(2011, 12), daysInMonth(4, 2)], [28, 29, 31, 29]);
  t.true(Number.isNaN(addMonths(0, 1e9, UTC)));
});

function moment(text: string, offset_min: number): number {
  const date = readDate(text, fixedZone(offset_min));
  if (date.kind === "fault") throw new Error(date.reason);
  return date.kind === "day" ? date.start : date.at;
}

test("group keys show day and hour in the time zone of the grouping", (t) => {
  const keyOf = (period: typeof day, zone: Zone, at: string): string => {
    const by = period(zone);
    return periodKeyFormat(by)(keyOfPeriod(by)(Date.parse(at)));
  };
  t.is(keyOf(day, UTC, "2011-09-19T23:59Z"), "9/19/2011");
  t.is(keyOf(hour, UTC, "2011-09-19T14:59Z"), "9/19/2011 14:00");
  t.is(keyOf(hour, fixedZone(-300), "2011-09-19T14:00Z"), "9/19/2011 09:00");
  t.is(keyOf(hour, fixedZone(345), "2011-09-19T14:15Z"), "9/19/2011 20:00");
  t.is(keyOf(day, fixedZone(840), "2011-12-31T10:00Z"), "1/1/2012");
  const berlin = parseZone("Europe/Berlin");
  const hours = ["2026-10-24T23:30Z", "2026-10-25T00:30Z", "2026-10-25T01:30Z", "2026-10-25T02:30Z"];
  t.deepEqual(
    hours.map((at) => keyOf(hour, berlin, at)),
    ["10/25/2026 01:00", "10/25/2026 02:00", "10/25/2026 02:00 +01:00", "10/25/2026 03:00"],
  );
  t.deepEqual([...new Set(hours.map((at) => keyOf(day, berlin, at)))], ["10/25/2026"]);
  t.is(keyOf(hour, parseZone("Australia/Lord_Howe"), "2026-04-04T15:10Z"), "4/5/2026 01:00 +10:30");
});

test("keys of seconds show the seconds and can be used in a query", (t) => {
  const lord = parseZone("Australia/Lord_Howe");
  const by = { kind: "period", unit: "seconds", count: 15, zone: lord } as const;
  const keyOf = (at: string): string => periodKeyFormat(by)(keyOfPeriod(by)(Date.parse(at)));
  t.is(keyOf("2026-04-04T14:59:59.999Z"), "4/5/2026 01:59:45");
  // The clock of Lord Howe Island is set back by half an hour.
  t.is(keyOf("2026-04-04T15:00:00.000Z"), "4/5/2026 01:30:00 +10:30");
  t.is(keyOf("2026-04-04T15:29:59.999Z"), "4/5/2026 01:59:45 +10:30");
  t.is(keyOf("2026-04-04T15:30:14.999Z"), "4/5/2026 02:00:00");
  const property = fc.property(moments, fc.constantFrom(1, 15, 60), (at, count) => {
    const period = { ...by, count, zone: parseZone("Europe/Berlin") };
    const key = keyOfPeriod(period)(at);
    const start = momentOfKey(period, key);
    t.true(start <= at && at < start + count * 1000);
    t.is(keyOfPeriod(period)(start), key);
    const written = readDate(periodKeyFormat(period)(key), period.zone);
    if (key % 2 === 0) t.deepEqual(written, { kind: "moment", at: start });
  });
  fc.assert(property);
});

test("keys are formatted the same in sequence, in any order, as each alone", (t) => {
  const keys = fc.array(fc.oneof(moments, fc.integer({ min: 0, max: 3 * DAY_MS })), { minLength: 2 });
  const property = fc.property(keys, offsets, (moments, offset_min) => {
    for (const period of [day, hour]) {
      const by = period(fixedZone(offset_min));
      const format = periodKeyFormat(by);
      const starts = moments.map(keyOfPeriod(by));
      t.deepEqual(
        starts.map(format),
        starts.map((start) => periodKeyFormat(by)(start)),
      );
    }
  });
  fc.assert(property);
});

test("a group key can be used in a query", (t) => {
  const property = fc.property(
    moments,
    fc.constantFrom(UTC, fixedZone(345), parseZone("Europe/Berlin")),
    (at, zone) => {
      const [ofDay, ofHour] = [day, hour].map((period) => {
        const by = period(zone);
        return readDate(periodKeyFormat(by)(keyOfPeriod(by)(at)).slice(0, 16), zone);
      });
      t.deepEqual(ofDay, { kind: "day", start: startOfDay(at, zone) });
      const start = ofHour?.kind === "moment" ? ofHour.at : NaN;
      t.true(start <= at && at < start + 2 * HOUR_MS);
    },
  );
  fc.assert(property);
});
