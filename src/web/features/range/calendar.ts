import { DAY_MS, utcMidnight, daysInMonth } from "../../../query/calendar.ts";

/** A day of the calendar, `month` from 1. */
export type CalendarDay = { readonly year: number; readonly month: number; readonly day: number };

const FIRST_MONDAY_MS = -3 * DAY_MS;
const WEEKS = 6;

/** Returns the weeks of a month, from Monday, filled up with days of the adjacent months. */
export function weeksOfMonth({ year, month }: Pick<CalendarDay, "year" | "month">): CalendarDay[][] {
  const first = utcMidnight(year, month, 1);
  const start = first - (((((first - FIRST_MONDAY_MS) / DAY_MS) % 7) + 7) % 7) * DAY_MS;
  const weeks = Array.from({ length: WEEKS }, (_, week) =>
    Array.from({ length: 7 }, (__, day) => dayOfMoment(start + (7 * week + day) * DAY_MS)),
  );
  return weeks.filter((week) => week.some((day) => day.month === month));
}

/** Returns the day a number of days later or earlier. */
export function plusDays({ year, month, day }: CalendarDay, days: number): CalendarDay {
  return dayOfMoment(utcMidnight(year, month, day) + days * DAY_MS);
}

/** Returns the day a number of months later or earlier, or the last day of a shorter month. */
export function plusMonths({ year, month, day }: CalendarDay, months: number): CalendarDay {
  const index = year * 12 + month - 1 + months;
  const next = { year: Math.floor(index / 12), month: (index % 12) + 1 };
  return { ...next, day: Math.min(day, daysInMonth(next.year, next.month)) };
}

export function isSameDay(a: CalendarDay, b: CalendarDay): boolean {
  return a.year === b.year && a.month === b.month && a.day === b.day;
}

/** @param local a local time, as if it were UTC */
export function dayOfMoment(local: number): CalendarDay {
  const date = new Date(local);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

/** `2026-11-24` */
export function isoDay({ year, month, day }: CalendarDay): string {
  return `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
}
