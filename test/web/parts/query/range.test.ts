import test from "ava";
import * as fc from "fast-check";

import type { LogKey } from "../../../../src/events/event.ts";
import type { Condition } from "../../../../src/query/plan.ts";
import { planQuery } from "../../../../src/query/planner.ts";
import { conditionTimeRange } from "../../../../src/query/time-range.ts";
import { UTC, parseZone } from "../../../../src/query/zone.ts";
import { readQuery } from "../../../../src/web/parts/query/compose.ts";
import type { WrittenRange } from "../../../../src/web/parts/query/range.ts";
import * as ranges from "../../../../src/web/parts/query/range.ts";
import { readEnd, writeEnd } from "../../../../src/web/features/range/ends.ts";
import { formatsOfZone } from "../../../../src/web/parts/time/moments.ts";
import { zoneNames } from "../../../../src/web/parts/time/zones.ts";

const NOW = Date.UTC(2026, 10, 24, 13, 5, 7, 89);
const BERLIN = "Europe/Berlin";

function resolved(range: WrittenRange, zone = BERLIN, now_ms = NOW): [string, string] {
  const { from, to } = ranges.resolveRange(range, zone, now_ms);
  return [new Date(from).toISOString(), new Date(to).toISOString()];
}

test("a query's own range is two moments in its time zone and replaces the selected one", (t) => {
  const chosen = ranges.resolveRange({ from: "-15m", to: "now" }, BERLIN, NOW);
  const own = (clause: string) => {
    const { from, to } = ranges.momentsOfQuery(readQuery(`GET events ${clause}`), chosen, BERLIN, NOW);
    return [new Date(from).toISOString(), new Date(to).toISOString()];
  };
  const now = new Date(NOW).toISOString();
  t.deepEqual(own(""), [new Date(chosen.from).toISOString(), now]);
  t.deepEqual(own("OCCURS(TODAY-DAYS(1), TODAY)"), ["2026-11-22T23:00:00.000Z", "2026-11-23T23:00:00.000Z"]);
  t.deepEqual(own("OCCURS(2011-09-19)"), ["2011-09-18T22:00:00.000Z", "2011-09-19T22:00:00.000Z"]);
  t.deepEqual(own("OCCURS(TODAY-MONTHS(2), NOW)"), ["2026-09-23T22:00:00.000Z", now]);
  t.deepEqual(own("OCCURS(NOW-HOURS(1))"), ["2026-11-24T12:05:07.089Z", now]);
  // A range that is empty or invalid leaves the selected one.
  t.deepEqual(own("OCCURS(TODAY, TODAY-DAYS(1))"), own(""));
});

test("a query's own range is moved to other moments, with the rest as typed", (t) => {
  const moments = { from: NOW, to: NOW + 60_000 };
  const moved = (text: string) => ranges.withOwnRange(text, moments, BERLIN);
  const clause = "OCCURS('2026-11-24T14:05:07.089+01:00', '2026-11-24T14:06:07.089+01:00')";
  t.is(moved("GET events OCCURS(TODAY) WHERE a = 1"), `GET events ${clause} WHERE a = 1`);
  t.is(moved("GET events created OCCURS(NOW - HOURS(1), NOW) TAKE 5"), `GET events ${clause} TAKE 5`);
  t.deepEqual(ranges.momentsOfQuery(readQuery(moved("GET events OCCURS(TODAY)")!), moments, BERLIN, NOW), moments);
  t.is(moved("GET events"), null);
  t.is(moved("GET events OCCURS(TODAY"), null);
});

test("ranges become two moments", (t) => {
  const now = "2026-11-24T13:05:07.089Z";
  t.deepEqual(resolved({ from: "-15m", to: "now" }), ["2026-11-24T12:50:07.089Z", now]);
  t.deepEqual(resolved({ from: "today", to: "now" }), ["2026-11-23T23:00:00.000Z", now]);
  t.deepEqual(resolved({ from: "today-1d", to: "today" }), ["2026-11-22T23:00:00.000Z", "2026-11-23T23:00:00.000Z"]);
  t.deepEqual(resolved({ from: "week", to: "now" }), ["2026-11-22T23:00:00.000Z", now]);
  t.deepEqual(resolved({ from: "week-1w", to: "week" }), ["2026-11-15T23:00:00.000Z", "2026-11-22T23:00:00.000Z"]);
  t.deepEqual(resolved({ from: "month", to: "now-3h" }), ["2026-10-31T23:00:00.000Z", "2026-11-24T10:05:07.089Z"]);
  t.deepEqual(resolved({ from: "month-1M", to: "month" }), ["2026-09-30T22:00:00.000Z", "2026-10-31T23:00:00.000Z"]);
  t.deepEqual(resolved({ from: "1000", to: "2000" }), ["1970-01-01T00:00:01.000Z", "1970-01-01T00:00:02.000Z"]);
  t.deepEqual(resolved({ from: "all", to: "now" }), ["1970-01-01T00:00:00.000Z", now]);
});

test("days follow the calendar across a clock change, hours do not", (t) => {
  const now = Date.UTC(2026, 9, 26, 11);
  t.deepEqual(resolved({ from: "-2d", to: "now" }, BERLIN, now)[0], "2026-10-24T10:00:00.000Z");
  t.deepEqual(resolved({ from: "-48h", to: "now" }, BERLIN, now)[0], "2026-10-24T11:00:00.000Z");
  t.deepEqual(resolved({ from: "today-1d", to: "today" }, BERLIN, now), [
    "2026-10-24T22:00:00.000Z",
    "2026-10-25T23:00:00.000Z",
  ]);
});

test("a moment of -0 is 0", (t) => {
  t.is(ranges.resolveRange({ from: "-0", to: "1" }, BERLIN, NOW).from, 0);
});

test("any value in an address gives a range", (t) => {
  const ends = fc.oneof(fc.string(), fc.stringMatching(/^(now|today|week|month|all)?([+-][0-9]{1,6}[mhdwM])*$/));
  const property = fc.property(ends, ends, fc.constantFrom(...zoneNames()), (from, to, zone) => {
    const moments = ranges.resolveRange({ from, to }, zone, NOW);
    t.true(Number.isSafeInteger(moments.from) && moments.from <= moments.to, `${from} ${to} ${zone}`);
    t.deepEqual(ranges.resolveRange(ranges.exactRange(moments), zone, NOW + 12345), moments);
  });
  fc.assert(property, { numRuns: 300 });
});

test("a query within a range covers exactly its moments, to the millisecond, in any time zone", (t) => {
  const moments = fc.integer({ min: Date.UTC(1950, 0, 1), max: Date.UTC(2090, 0, 1) });
  const queries = fc.constantFrom(
    "GET events",
    "GET events // x",
    "GET events WHERE user = 'a' GROUPBY DAY FILL //",
    "GET\nusers",
  );
  const property = fc.property(moments, moments, fc.constantFrom(...zoneNames()), queries, (a, b, zone, query) => {
    const range = { from: Math.min(a, b), to: Math.max(a, b) };
    const text = ranges.withRange(readQuery(query)!, range, zone);
    const question = planQuery(text, { logs: ["shop" as LogKey], now_ms: NOW, zone: UTC });
    const { where } = question.kind === "groups" ? question.plan : question;
    const found = conditionTimeRange(where as Condition);
    if (range.from < range.to) t.deepEqual(found, { from_ms: range.from, to_ms: range.to }, text);
  });
  fc.assert(property, { numRuns: 500 });
});

test("a range in the query takes precedence", (t) => {
  const parsed = readQuery("GET events created OCCURS(TODAY) // x")!;
  t.true(ranges.hasOwnRange(parsed));
  t.is(ranges.withRange(parsed, { from: 1, to: 2 }), parsed.text);
  t.false(ranges.hasOwnRange(readQuery("GET events WHERE text CONTAINS 'occurs('")!));
});

test("ends are parsed in the formats that people type", (t) => {
  const read = (typed: string, zone = BERLIN): string | null => {
    const end = readEnd(typed, zone, NOW);
    return end !== null && /^\d+$/.test(end) ? new Date(Number(end)).toISOString() : end;
  };
  t.is(read("13:15"), "2026-11-24T12:15:00.000Z");
  t.is(read("9:05:06"), "2026-11-24T08:05:06.000Z");
  t.is(read("24 Nov 14:00"), "2026-11-24T13:00:00.000Z");
  t.is(read("3 July"), "2026-07-02T22:00:00.000Z");
  t.is(read("Tue 24 Nov 2026, 13:15:00 +01:00"), "2026-11-24T12:15:00.000Z");
  t.is(read("24 Nov 2026, 14:03:24.115"), "2026-11-24T13:03:24.115Z");
  t.is(read("2026-11-24T14:00Z"), "2026-11-24T14:00:00.000Z");
  t.is(read("11/24/2026 14:00"), "2026-11-24T13:00:00.000Z");
  t.is(read("2026-07-01"), "2026-06-30T22:00:00.000Z");
  t.is(read("now - 3h"), "now-3h");
  t.is(read("now - 3 hours"), "now-3h");
  t.is(read("3 months ago"), "now-3M");
  t.is(read("-15m"), "-15m");
  t.is(read("today"), "today");
  t.is(read("Yesterday"), "today-1d");
  t.is(read("31 Feb"), null);
  t.is(read("soon"), null);
  t.is(read(""), null);
});

test("the picker's text of an end is parsed as that end", (t) => {
  const moments = fc.integer({ min: Date.UTC(2012, 0, 1), max: Date.UTC(2037, 0, 1) });
  const property = fc.property(
    moments,
    fc.constantFrom("UTC", BERLIN, "Asia/Kathmandu", "America/Havana"),
    (moment, zone) => {
      const shown = writeEnd(String(moment), formatsOfZone(zone));
      const read = Number(readEnd(shown, zone, NOW));
      // A clock change repeats some hours: the first of them is meant.
      t.true(read === moment || (moment - read === 3_600_000 && parseZone(zone).changes.length > 0), shown);
    },
  );
  fc.assert(property, { numRuns: 300 });
  t.is(writeEnd("-24h", formatsOfZone("UTC")), "now - 24h");
  t.is(writeEnd("today-1d", formatsOfZone("UTC")), "today - 1d");
  for (const { range } of ranges.PRESETS) {
    for (const end of [range.from, range.to]) {
      const read = readEnd(writeEnd(end, formatsOfZone("UTC")), "UTC", NOW);
      t.deepEqual(
        ranges.resolveRange({ from: read!, to: "now" }, "UTC", NOW),
        ranges.resolveRange({ from: end, to: "now" }, "UTC", NOW),
      );
    }
  }
});

test("ranges have names", (t) => {
  const name = (from: string, to: string): string =>
    ranges.rangeName({ from, to }, ranges.resolveRange({ from, to }, BERLIN, NOW), formatsOfZone(BERLIN));
  t.is(name("-24h", "now"), "Last 24 hours");
  t.is(name("-3h", "now"), "Last 3 hours");
  t.is(name("-1d", "now"), "Last day");
  t.is(name("today-1d", "today"), "Yesterday");
  t.is(name("1795431900000", "1795435500000"), "23 Nov 12:05 to 23 Nov 13:05");
});
