import test from "ava";
import * as fc from "fast-check";

import {
  DAY_MS,
  HOUR_MS,
  addMonths,
  daysInMonth,
  groupKeyFormat,
  startOfDay,
  startOfHour,
} from "../../src/query/calendar.ts";
import { readDate } from "../../src/query/dates.ts";

const offsets = fc.integer({ min: -720, max: 840 });
const moments = fc.integer({ min: -1e12, max: 5e12 });

test("days and hours begin at or before each of their moments, and hold it", (t) => {
  const property = fc.property(moments, offsets, (moment, offset_min) => {
    const day = startOfDay(moment, offset_min);
    const hour = startOfHour(moment, offset_min);
    const clock = new Date(day + offset_min * 60_000).toISOString();
    return (
      day <= hour &&
      hour <= moment &&
      moment < hour + HOUR_MS &&
      moment < day + DAY_MS &&
      clock.endsWith("T00:00:00.000Z")
    );
  });
  t.notThrows(() => fc.assert(property));
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

test("months end where they end, on the clock of the analyst", (t) => {
  for (const offset_min of [0, 330, -720, 840]) {
    for (const [from, months, to] of MONTHS)
      t.is(addMonths(moment(from, offset_min), months, offset_min), moment(to, offset_min), from);
  }
  t.deepEqual([daysInMonth(1900, 2), daysInMonth(2000, 2), daysInMonth(2011, 12), daysInMonth(4, 2)], [28, 29, 31, 29]);
  t.true(Number.isNaN(addMonths(0, 1e9, 0)));
});

function moment(text: string, offset_min: number): number {
  const date = readDate(text, offset_min);
  if (date.kind === "fault") throw new Error(date.reason);
  return date.kind === "day" ? date.start : date.at;
}

test("group keys show the day and the hour on the grouping's clock", (t) => {
  const start = Date.UTC(2011, 8, 19, 14);
  t.is(groupKeyFormat({ kind: "day", offset_min: 0 })(Date.UTC(2011, 8, 19)), "9/19/2011");
  t.is(groupKeyFormat({ kind: "hour", offset_min: 0 })(start), "9/19/2011 14:00");
  t.is(groupKeyFormat({ kind: "hour", offset_min: -300 })(start), "9/19/2011 09:00");
  t.is(groupKeyFormat({ kind: "hour", offset_min: 345 })(start + 15 * 60_000), "9/19/2011 20:00");
  t.is(groupKeyFormat({ kind: "day", offset_min: 840 })(Date.UTC(2011, 11, 31, 10)), "1/1/2012");
  t.is(groupKeyFormat({ kind: "field", field: "source" })("web"), "web");
  t.is(groupKeyFormat({ kind: "field", field: "value" })(4.5), "4.5");
  t.is(groupKeyFormat({ kind: "field", field: "value" })(null), "");
});

test("keys are written alike one after the other, in any order, and each by itself", (t) => {
  const keys = fc.array(fc.oneof(moments, fc.integer({ min: 0, max: 3 * DAY_MS })), { minLength: 2 });
  const property = fc.property(keys, offsets, (moments, offset_min) => {
    for (const kind of ["day", "hour"] as const) {
      const by = { kind, offset_min };
      const format = groupKeyFormat(by);
      const starts = moments.map((at) => (kind === "day" ? startOfDay : startOfHour)(at, offset_min));
      t.deepEqual(
        starts.map(format),
        starts.map((start) => groupKeyFormat(by)(start)),
      );
    }
  });
  fc.assert(property);
});

test("a group's key can be asked for again", (t) => {
  const property = fc.property(moments, offsets, (at, offset_min) => {
    const day = startOfDay(at, offset_min);
    const hour = startOfHour(at, offset_min);
    t.deepEqual(readDate(groupKeyFormat({ kind: "day", offset_min })(day), offset_min), { kind: "day", start: day });
    t.deepEqual(readDate(groupKeyFormat({ kind: "hour", offset_min })(hour), offset_min), { kind: "moment", at: hour });
  });
  fc.assert(property);
});
