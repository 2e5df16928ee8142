import test from "ava";

import { readDate } from "../../src/query/dates.ts";
import { UTC, fixedZone, parseZone } from "../../src/query/zone.ts";

/** A time zone two hours ahead of UTC. */
const OFFSET_MIN = 120;
const start = Date.UTC(2011, 8, 18, 22);
const MINUTE = 60_000;

test("a date is a day", (t) => {
  for (const text of ["9/19/2011", "09/19/2011", "2011-09-19", " 2011-09-19 "]) {
    t.deepEqual(readDate(text, fixedZone(OFFSET_MIN)), { kind: "day", start }, text);
  }
  t.deepEqual(readDate("2/29/2012", UTC), { kind: "day", start: Date.UTC(2012, 1, 29) });
  t.deepEqual(readDate("0001-01-01", UTC), { kind: "day", start: Date.parse("0001-01-01") });
});

const MOMENTS: readonly (readonly [string, number])[] = [
  ["9/19/2011 14:00", start + 14 * 60 * MINUTE],
  ["9/19/2011 9:05:07", start + (9 * 60 + 5) * MINUTE + 7000],
  ["2011-09-19T14:00", start + 14 * 60 * MINUTE],
  ["2011-09-19 14:00:30", start + 14 * 60 * MINUTE + 30_000],
  ["2011-09-19t00:00:00.9", start + 900],
  ["2011-09-19T00:00:00,1239", start + 123],
  ["2011-09-19T14:00Z", Date.UTC(2011, 8, 19, 14)],
  ["2011-09-19T14:00:00.000z", Date.UTC(2011, 8, 19, 14)],
  ["2011-09-19T14:00:00+05:30", Date.UTC(2011, 8, 19, 8, 30)],
  ["2011-09-19T14:00-0330", Date.UTC(2011, 8, 19, 17, 30)],
  ["2011-09-19T14:00+01", Date.UTC(2011, 8, 19, 13)],
];

test("a date with a time is a moment, in the time zone that it names or else the analyst's", (t) => {
  for (const [text, at] of MOMENTS) t.deepEqual(readDate(text, fixedZone(OFFSET_MIN)), { kind: "moment", at }, text);
});

const FORMS = "write 9/19/2011, 2011-09-19, or '2011-09-19T14:00' in quotes";
const FAULTS: readonly (readonly [string, string])[] = [
  ["", FORMS],
  ["9/19/11", FORMS],
  ["2011-9-19", FORMS],
  ["19.9.2011", FORMS],
  ["2011-09-19T", FORMS],
  ["2011-09-19Z", FORMS],
  ["2011-09-19T14", FORMS],
  ["tomorrow", FORMS],
  ["13/1/2011", "there is no month 13"],
  ["2011-00-10", "there is no month 0"],
  ["2/29/2011", "the month 2/2011 has 28 days"],
  ["2011-04-31", "the month 4/2011 has 30 days"],
  ["9/0/2011", "the month 9/2011 has 30 days"],
  ["9/19/2011 24:00", "times go from 00:00:00 to 23:59:59"],
  ["9/19/2011 23:60", "times go from 00:00:00 to 23:59:59"],
  ["2011-09-19T23:59:60", "times go from 00:00:00 to 23:59:59"],
  ["2011-09-19T23:59+19:00", "there is no offset +19:00"],
  ["2011-09-19T23:59+02:60", "there is no offset +02:60"],
];

test("an invalid date is refused with the reason", (t) => {
  for (const [text, reason] of FAULTS) t.deepEqual(readDate(text, UTC), { kind: "fault", reason }, text);
});

test("a date is read in its time zone, also on days with a clock change", (t) => {
  const berlin = parseZone("Europe/Berlin");
  const read = (text: string): unknown => readDate(text, berlin);
  const at = (text: string): unknown => ({ kind: "moment", at: Date.parse(text) });
  t.deepEqual(read("2026-01-05"), { kind: "day", start: Date.parse("2026-01-04T23:00Z") });
  t.deepEqual(read("2026-07-05"), { kind: "day", start: Date.parse("2026-07-04T22:00Z") });
  t.deepEqual(read("2026-10-25 02:30"), at("2026-10-25T00:30Z"), "the first of two");
  t.deepEqual(read("2026-10-25 03:00"), at("2026-10-25T02:00Z"));
  t.deepEqual(read("2026-03-29 02:30"), at("2026-03-29T01:30Z"), "a time that the clock leaves out");
  t.deepEqual(read("2026-07-05T10:00Z"), at("2026-07-05T10:00Z"), "an offset of its own");
});
