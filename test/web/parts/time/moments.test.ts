import test from "ava";

import { lengthText } from "../../../../src/web/parts/time/lengths.ts";
import { formatsOfZone } from "../../../../src/web/parts/time/moments.ts";
import { isSameDay, isoDay, plusDays, plusMonths, weeksOfMonth } from "../../../../src/web/features/range/calendar.ts";

test("moments are formatted in the time zone", (t) => {
  const formats = formatsOfZone("Europe/Berlin");
  const moment = Date.UTC(2026, 10, 24, 13, 3, 24, 115);
  t.is(formats.time(moment), "14:03:24.115");
  t.is(formats.clock(moment), "14:03:24.115");
  t.is(formats.clock(moment - 24_115), "14:03");
  t.is(formats.day(moment), "Tue 24 Nov");
  t.is(formats.date(moment), "24 Nov 2026");
  t.is(formats.short(moment), "24 Nov 14:03:24.115");
  t.is(formats.short(Date.UTC(2026, 8, 4, 22)), "5 Sep 00:00");
  t.is(formats.whole(moment), "24 Nov 2026, 14:03:24.115 +01:00");
  t.is(formats.spoken(moment), "Tue 24 Nov 2026, 14:03:24 +01:00");
  t.is(formats.iso(moment), "2026-11-24T14:03:24.115+01:00");
  t.is(formatsOfZone("UTC").iso(Date.UTC(2026, 0, 5)), "2026-01-05T00:00Z");
  t.is(formatsOfZone("UTC").time(-1), "23:59:59.999");
});

test("durations are formatted in their two largest units", (t) => {
  t.is(lengthText(45 * 60_000), "45 minutes");
  t.is(lengthText(86_400_000), "24 hours");
  t.is(lengthText(2.5 * 86_400_000), "2 days 12 hours");
  t.is(lengthText(3_600_000), "1 hour");
  t.is(lengthText(3_601_000), "1 hour");
  t.is(lengthText(90_000), "1 minute 30 seconds");
  t.is(lengthText(7), "7 ms");
});

test("a month's page starts on a Monday and shows every day of it once", (t) => {
  for (const month of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) {
    const weeks = weeksOfMonth({ year: 2026, month });
    t.is(new Date(Date.UTC(weeks[0]![0]!.year, weeks[0]![0]!.month - 1, weeks[0]![0]!.day)).getUTCDay(), 1);
    const days = weeks.flat().filter((day) => day.month === month);
    t.is(days.length, new Date(Date.UTC(2026, month, 0)).getUTCDate());
    t.true(weeks.every((week) => week.some((day) => day.month === month)));
  }
  t.is(isoDay({ year: 2026, month: 2, day: 3 }), "2026-02-03");
  t.true(isSameDay(plusDays({ year: 2026, month: 2, day: 28 }, 1), { year: 2026, month: 3, day: 1 }));
  t.deepEqual(plusMonths({ year: 2026, month: 1, day: 31 }, 1), { year: 2026, month: 2, day: 28 });
  t.deepEqual(plusMonths({ year: 2026, month: 1, day: 31 }, -1), { year: 2025, month: 12, day: 31 });
  t.deepEqual(plusDays({ year: 2026, month: 2, day: 28 }, 1), { year: 2026, month: 3, day: 1 });
});
