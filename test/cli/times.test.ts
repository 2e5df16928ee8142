import test from "ava";

import { readTime } from "../../src/cli/times.ts";

const NOW = Date.UTC(2026, 2, 1, 12);
const MOMENT = Date.UTC(2011, 5, 19, 13, 54, 33);
const LOCAL = new Date(2011, 5, 19, 13, 54, 33).getTime();

const TIMES: readonly (readonly [string, number | null])[] = [
  ["2011-06-19T13:54:33.911Z", MOMENT + 911],
  ["2011-06-19 13:54:33Z", MOMENT],
  ["2011-06-19T15:54:33.911123+02:00", MOMENT + 911],
  ["2011-06-19T15:54:33+0200", MOMENT],
  ["2011-06-19 13:54:33", LOCAL],
  ["2011-06-19 13:54:33,911", LOCAL + 911],
  ["2011/06/19 13:54:33", LOCAL],
  ["2011-06-19 13:54", LOCAL - 33_000],
  ["2011-06-19", new Date(2011, 5, 19).getTime()],
  ["2011-02-30 13:54:33", null],
  ["2011-06-19 24:54:33", null],
  ["19/Jun/2011:15:54:33 +0200", MOMENT],
  ["[19/Jun/2011:15:54:33 +0200]", MOMENT],
  ["19/Juni/2011:15:54:33 +0200", null],
  ["Sun, 19 Jun 2011 15:54:33 +0200", MOMENT],
  ["19 Jun 2011 13:54:33 GMT", MOMENT],
  ["Sun Jun 19 13:54:33 2011", LOCAL],
  ["Sun Jun 19 13:54:33 UTC 2011", MOMENT],
  ["Mar  1 08:05:09", new Date(2026, 2, 1, 8, 5, 9).getTime()],
  ["Mar 2 08:05:09", new Date(2026, 2, 2, 8, 5, 9).getTime()],
  ["Mar 4 08:05:09", new Date(2025, 2, 4, 8, 5, 9).getTime()],
  ["Dec 31 23:59:59", new Date(2025, 11, 31, 23, 59, 59).getTime()],
  ["Feb 29 00:00:00", new Date(2024, 1, 29).getTime()],
  ["Feb 30 00:00:00", null],
  ["1308491673", MOMENT],
  ["1308491673.9", MOMENT + 900],
  ["1308491673911", MOMENT + 911],
  ["1308491673911123", MOMENT + 911],
  ["1308491673911123456", MOMENT + 911],
  ["2011-06-19 15:54:33+02", MOMENT],
  ["2011-06-19 3:54:33Z", MOMENT - 36_000_000],
  ["06/19/2011 13:54:33", LOCAL],
  ["19/06/2011 13:54:33", LOCAL],
  ["19-06-2011 13:54:33Z", MOMENT],
  ["19.06.2011 13:54:33", LOCAL],
  ["19.06.2011 13:54:33,911", LOCAL + 911],
  ["05.06.2011", new Date(2011, 5, 5).getTime()],
  ["12.06.2011 12:00:00", new Date(2011, 5, 12, 12).getTime()],
  ["05/06/2011 13:54:33", null],
  ["05-06-2011 13:54:33", null],
  ["06/06/2011", new Date(2011, 5, 6).getTime()],
  ["13/13/2011 13:54:33", null],
  ["Jun 19, 2011 1:54:33 PM", LOCAL],
  ["Sun Jun 19 08:54:33 EST 2011", MOMENT],
  ["201106191354", null],
  ["20110619135433", null],
  ["17", null],
  ["13084916739", null],
  ["yesterday", null],
  ["version 5", null],
  ["", null],
];

for (const [text, ms] of TIMES) {
  test(`parses the time of a log file: ${JSON.stringify(text)}`, (t) => t.is(readTime(text, NOW), ms));
}

test("a date with slashes or dashes is read in the given order", (t) => {
  const fifth = new Date(2011, 5, 5, 13, 54, 33).getTime();
  t.is(readTime("05/06/2011 13:54:33", NOW, "day-first"), fifth);
  t.is(readTime("06-05-2011 13:54:33", NOW, "month-first"), fifth);
  t.is(readTime("06/19/2011 13:54:33", NOW, "day-first"), LOCAL);
  t.is(readTime("19/06/2011 13:54:33", NOW, "month-first"), LOCAL);
});

test("at the turn of the year a time without a year is in the new one", (t) => {
  const now_ms = new Date(2025, 11, 31, 23, 58).getTime();
  t.is(readTime("Jan  1 00:00:30", now_ms), new Date(2026, 0, 1, 0, 0, 30).getTime());
  t.is(readTime("Dec 31 23:57:00", now_ms), new Date(2025, 11, 31, 23, 57).getTime());
  t.is(readTime("Jan  2 00:00:30", now_ms), new Date(2025, 0, 2, 0, 0, 30).getTime());
});
