import test from "ava";

import { USUAL_TIMES } from "../../../src/ingest/kit/time-forms.ts";
import type { TimeReading } from "../../../src/ingest/kit/time-forms.ts";
import { localZoneNamed } from "../../../src/ingest/kit/time-zones.ts";
import { readProducerTime } from "../../../src/ingest/kit/times.ts";

const NOW = Date.UTC(2026, 2, 1, 12);
/** Two hours behind the clock of Berlin in summer. */
const MOMENT = Date.UTC(2011, 5, 19, 11, 54, 33);
const BERLIN = readingIn("Europe/Berlin");
const JUNE_5 = Date.UTC(2026, 5, 5, 10);

function readingIn(tz: string, now_ms = NOW): TimeReading {
  return { ...USUAL_TIMES, local: localZoneNamed(tz, now_ms), now: () => now_ms };
}

/** Moment of a time that Berlin's clocks show in winter. */
function winter(year: number, month: number, day: number, hour = 0, minute = 0, second = 0): number {
  return Date.UTC(year, month - 1, day, hour - 1, minute, second);
}

/** Texts with the moments that they mean to a reader in Berlin; null: no time. */
const TEXTS: Readonly<Record<string, readonly (readonly [text: string, ms: number | null])[]>> = {
  "ISO 8601 and similar": [
    ["2011-06-19T11:54:33.911Z", MOMENT + 911],
    ["2011-06-19 11:54:33Z", MOMENT],
    ["2011-06-19T13:54:33.911123+02:00", MOMENT + 911],
    ["2011-06-19T13:54:33+0200", MOMENT],
    ["2011-06-19 13:54:33+02", MOMENT],
    ["2011-06-19 13:54:33", MOMENT],
    ["2011-06-19 13:54:33,911", MOMENT + 911],
    ["2011-06-19 13:54", MOMENT - 33_000],
    ["2011-06-19 1:54:33 PM", MOMENT],
    ["2011-06-19_13:54:33.911", MOMENT + 911],
    ["2011/06/19 13:54:33", MOMENT],
    ["2011.6.19 13:54:33", MOMENT],
    ["2011-06-19 11:54:33 UTC", MOMENT],
    ["2011-06-19 11:54:33.911 utc", MOMENT + 911],
    ["2011-02-30 13:54:33", null],
    ["2011-06-19 24:54:33", null],
    ["2011-06-19 13:60:33", null],
    ["2011-06-19T13:54:33+19:00", null],
    ["2011-06-19 0:54:33 PM", null],
    ["2011-06-19 13:54:33 soon", null],
  ],
  "ISO 8601's basic format": [
    ["20110619T115433Z", MOMENT],
    ["20110619T115433.911Z", MOMENT + 911],
    ["20110619T135433,911+0200", MOMENT + 911],
    ["20110619T135433", MOMENT],
    ["20110619T1354", MOMENT - 33_000],
    ["20110619 13:54:33.911123", MOMENT + 911],
    ["20110619115433Z", MOMENT],
    ["20111319T135433", null],
  ],
  "a date alone": [
    ["2011-06-19", Date.UTC(2011, 5, 18, 22)],
    ["2011/06/19", Date.UTC(2011, 5, 18, 22)],
    ["19.06.2011", Date.UTC(2011, 5, 18, 22)],
    ["19 Jun 2011", Date.UTC(2011, 5, 18, 22)],
    ["Jun 19, 2011", Date.UTC(2011, 5, 18, 22)],
    ["2011-13-19", null],
    ["2011-06", null],
    ["Jun 19", null],
    ["20110619", null],
  ],
  "digits without separators": [
    ["20110619135433", MOMENT],
    ["20110619135433911", MOMENT + 911],
    ["201106191354", MOMENT - 33_000],
    ["13084916739", 13_084_916_739_000],
  ],
  "the zone of Java and RFC 9557": [
    ["2026-06-05T12:00:00+02:00[Europe/Berlin]", JUNE_5],
    ["2026-06-05T10:00:00Z[UTC]", JUNE_5],
    ["2026-06-05T19:00:00[Asia/Tokyo]", JUNE_5],
    ["2026-06-05T12:00:00+02:00[Europe/Berlin][u-ca=iso8601]", JUNE_5],
    ["2026-06-05T12:00:00[Europe/Atlantis]", null],
  ],
  "the end of a day and a leap second": [
    ["2011-06-18T24:00:00Z", Date.UTC(2011, 5, 19)],
    ["2011-12-31 24:00:00.000 UTC", Date.UTC(2012, 0, 1)],
    ["20110618T240000Z", Date.UTC(2011, 5, 19)],
    ["2011-06-18T24:00:01Z", null],
    ["2016-12-31T23:59:60Z", Date.UTC(2016, 11, 31, 23, 59, 59)],
    ["2016-12-31T23:59:60.500+00:00", Date.UTC(2016, 11, 31, 23, 59, 59, 500)],
    ["2016-12-31T23:59:61Z", null],
  ],
  "day first, with dots": [
    ["05.06.2026 12:00:00", JUNE_5],
    ["5.6.2026 12:00", JUNE_5],
    ["05.06.2026, 12:00:00,250", JUNE_5 + 250],
    ["13.06.2026 12:00:00", Date.UTC(2026, 5, 13, 10)],
    ["06.13.2026 12:00:00", null],
  ],
  "slashes and hyphens before a year say no order": [
    ["05/06/2026 12:00:00", null],
    ["05-06-2026 12:00:00", null],
    ["06/06/2026", null],
    ["13/06/2026 12:00:00", null],
    ["06/13/2026 12:00:00 PM", null],
    ["6/5/2026, 12:00:00 PM", null],
  ],
  "access logs, mail and error logs": [
    ["19/Jun/2011:13:54:33 +0200", MOMENT],
    ["[19/Jun/2011:13:54:33 +0200]", MOMENT],
    ["19/Jun/2011:13:54:33.911", MOMENT + 911],
    ["[19/Jun/2011 13:54:33]", MOMENT],
    ["19-Jun-2011 13:54:33.911", MOMENT + 911],
    ["19-Jun-2011 13:54:33 Europe/Berlin", MOMENT],
    ["19/Juni/2011:13:54:33 +0200", null],
    ["Sun, 19 Jun 2011 13:54:33 +0200", MOMENT],
    ["Sun, 19 Jun 2011 13:54:33 +0200 (CEST)", MOMENT],
    ["19 Jun 2011 11:54:33 GMT", MOMENT],
    ["19 June 2011 13:54:33", MOMENT],
    ["2011 Jun 19 13:54:33.911", MOMENT + 911],
  ],
  "syslog and ctime, as Python's asctime": [
    ["Sun Jun 19 13:54:33 2011", MOMENT],
    ["Sun Jun 19 13:54:33.911123 2011", MOMENT + 911],
    ["Sun Jun 19 11:54:33 UTC 2011", MOMENT],
    ["Mar  1 08:05:09", winter(2026, 3, 1, 8, 5, 9)],
    ["Mar 2 08:05:09", winter(2026, 3, 2, 8, 5, 9)],
    ["Mar 4 08:05:09", winter(2025, 3, 4, 8, 5, 9)],
    ["Dec 31 23:59:59", winter(2025, 12, 31, 23, 59, 59)],
    ["Feb 29 00:00:00", winter(2024, 2, 29)],
    ["Feb 30 00:00:00", null],
    ["Foo 19 13:54:33 2011", null],
  ],
  "JavaScript, Go and the Java of before": [
    ["Sun Jun 19 2011 13:54:33 GMT+0200 (Central European Summer Time)", MOMENT],
    ["2011-06-19 13:54:33.911123456 +0200 CEST m=+0.000012345", MOMENT + 911],
    ["2011-06-19 11:54:33 +0000 UTC", MOMENT],
    ["2011-06-19 14:54:33 +0300 +03", MOMENT],
    ["Sun Jun 19 13:54:33 CEST 2011", MOMENT],
    ["Jun 19, 2011 1:54:33 PM", MOMENT],
    ["Jun 19, 2011, 1:54:33\u202fPM", MOMENT],
    ["June 19, 2011 at 1:54:33 PM", MOMENT],
    ["Jun 19, 2011 13:54:33 PM", null],
  ],
  "numbers of loggers": [
    ["1308484473", MOMENT],
    ["1308484473.911", MOMENT + 911],
    ["1308484473911", MOMENT + 911],
    ["1308484473911123", MOMENT + 911],
    ["1308484473911123456", MOMENT + 911],
    ["1308484473,911", MOMENT + 911],
    ["1.308484473911e+09", MOMENT + 911],
    ["9e20", null],
    ["/Date(1308484473911)/", MOMENT + 911],
    ["/Date(1308484473911+0200)/", MOMENT + 911],
    ["/Date(soon)/", null],
    ["1.5e3", null],
    ["17", null],
  ],
  "texts that are no times": [
    ["yesterday", null],
    ["version 5", null],
    ["2011", null],
    ["12:00:00", null],
    ["10.11.12.13", null],
    ["2026-W23-5", null],
    ["", null],
  ],
};

for (const [name, texts] of Object.entries(TEXTS)) {
  test(`reads times: ${name}`, (t) => {
    for (const [text, ms] of texts) t.is(readProducerTime(text, BERLIN)?.ms ?? null, ms, JSON.stringify(text));
  });
}

test("nanoseconds of written times are kept, and further digits dropped", (t) => {
  const time = { ms: MOMENT + 911, ns: 123_456 };
  for (const text of [
    "2011-06-19T13:54:33.911123456+02:00",
    "2011-06-19 13:54:33,911123456789",
    "20110619T115433.911123456Z",
    "19.06.2011 13:54:33.911123456",
  ]) {
    t.deepEqual(readProducerTime(text, BERLIN), time, text);
  }
});

test("an abbreviation means the zone that uses it, wherever it is read", (t) => {
  const texts: readonly (readonly [string, number | null])[] = [
    ["2026-06-05 12:00:00.123 CEST", JUNE_5 + 123],
    ["2026-01-05 12:00:00 CET", Date.UTC(2026, 0, 5, 11)],
    ["2026-06-05 13:00:00 MSK", JUNE_5],
    // From 2011 to 2014 Moscow's clocks were four hours ahead.
    ["2012-06-05 14:00:00 MSK", Date.UTC(2012, 5, 5, 10)],
    ["2026-06-05 19:00:00 JST", JUNE_5],
    ["Fri Jun  5 06:00:00 EDT 2026", JUNE_5],
    ["2026-06-05 10:00:00 GMT", JUNE_5],
    ["2026-06-05 12:00:00 CST", null],
    ["2026-06-05 12:00:00 IST", null],
    ["2026-06-05 12:00:00 BST", null],
    ["2026-06-05 12:00:00 XYZ", null],
  ];
  for (const [text, ms] of texts) t.is(readProducerTime(text)?.ms ?? null, ms, text);
});

test("an abbreviation of several regions means the one whose clock is read", (t) => {
  const zones: readonly (readonly [tz: string, abbreviation: string, utcHour: number | null])[] = [
    ["Asia/Shanghai", "CST", 4],
    ["asia/taipei", "CST", 4],
    ["America/Chicago", "CST", 18],
    ["America/Chicago", "CDT", 17],
    ["America/Costa_Rica", "CST", 18],
    ["America/Costa_Rica", "CDT", null],
    ["America/Denver", "CST", null],
    ["America/New_York", "CST", null],
    ["America/Havana", "CST", 17],
    ["Asia/Singapore", "CST", null],
    ["8", "CST", null],
    ["America/Los_Angeles", "PDT", 19],
    ["Asia/Manila", "PST", 4],
    ["Asia/Kolkata", "IST", 6.5],
    ["Asia/Jerusalem", "IST", 10],
    ["Europe/Dublin", "IST", 11],
    ["Europe/London", "BST", 11],
    ["Europe/Berlin", "BST", null],
  ];
  for (const now_ms of [NOW, Date.UTC(2026, 6, 1)]) {
    for (const [tz, abbreviation, utcHour] of zones) {
      const ms = readProducerTime(`2026-06-05 12:00:00 ${abbreviation}`, readingIn(tz, now_ms))?.ms ?? null;
      t.is(ms, utcHour === null ? null : Date.UTC(2026, 5, 5) + 3_600_000 * utcHour, `${tz} ${abbreviation}`);
    }
  }
});

test("a date with slashes or hyphens is read in the given order, and in no other", (t) => {
  const [dayFirst, monthFirst] = (["day-first", "month-first"] as const).map((dates) => ({ ...BERLIN, dates }));
  t.is(readProducerTime("05/06/2026 12:00:00", dayFirst)?.ms, JUNE_5);
  t.is(readProducerTime("06-05-2026 12:00:00", monthFirst)?.ms, JUNE_5);
  t.is(readProducerTime("6/5/2026, 12:00:00 PM", monthFirst)?.ms, JUNE_5);
  t.is(readProducerTime("06/19/2011 13:54:33", dayFirst), null);
  t.is(readProducerTime("19/06/2011 13:54:33", monthFirst), null);
  t.is(readProducerTime("05.06.2026 12:00:00", monthFirst)?.ms, JUNE_5);
});

test("at the turn of the year a time without a year is in the new one", (t) => {
  const reading = readingIn("Europe/Berlin", winter(2025, 12, 31, 23, 58));
  t.is(readProducerTime("Jan  1 00:00:30", reading)?.ms, winter(2026, 1, 1, 0, 0, 30));
  t.is(readProducerTime("Dec 31 23:57:00", reading)?.ms, winter(2025, 12, 31, 23, 57));
  t.is(readProducerTime("Jan  2 00:00:30", reading)?.ms, winter(2025, 1, 2, 0, 0, 30));
});

test("objects of loggers are times", (t) => {
  const ms = 1_749_436_800_123;
  const objects: readonly (readonly [object, ReturnType<typeof readProducerTime>])[] = [
    [
      { epochSecond: 1_749_436_800, nanoOfSecond: 123_456_789 },
      { ms, ns: 456_789 },
    ],
    [
      { seconds: 1_749_436_800, nanos: 123_000_000 },
      { ms, ns: 0 },
    ],
    [
      { seconds: "1749436800", nanos: 123_000_001 },
      { ms, ns: 1 },
    ],
    [{ seconds: 1_749_436_800 }, { ms: ms - 123, ns: 0 }],
    [{ $date: "2025-06-09T02:40:00.123+00:00" }, { ms, ns: 0 }],
    [{ $date: ms }, { ms, ns: 0 }],
    [{ $date: { $numberLong: String(ms) } }, { ms, ns: 0 }],
    [{ seconds: 5, nanos: 7 }, null],
    [{ seconds: 1_749_436_800, nanos: 1e9 }, null],
    [{ seconds: 1_749_436_800.5 }, null],
    [{ seconds: ms }, null],
    [{ $date: "soon" }, null],
    [{ minutes: 5 }, null],
    [[1_749_436_800], null],
  ];
  for (const [object, time] of objects) t.deepEqual(readProducerTime(object), time, JSON.stringify(object));
});
