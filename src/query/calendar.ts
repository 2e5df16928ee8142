import type { Grouping } from "./plan.ts";

/**
 * Days, hours and months as a clock shows them that runs a fixed number of minutes east of UTC.
 * Moments are milliseconds since the Unix epoch; offsets are minutes, negative to the west.
 */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const WEEK_MS = 7 * DAY_MS;

/** How far from the epoch a moment can lie. */
export const MOMENT_LIMIT = 8.64e15;

export function startOfDay(moment: number, offset_min: number): number {
  return startOf(DAY_MS, moment, offset_min);
}

export function startOfHour(moment: number, offset_min: number): number {
  return startOf(HOUR_MS, moment, offset_min);
}

function startOf(length_ms: number, moment: number, offset_min: number): number {
  const local = moment + offset_min * MINUTE_MS;
  return Math.floor(local / length_ms) * length_ms - offset_min * MINUTE_MS;
}

/** The same day and time some months on (or back); the last day of the month where it has no such day. NaN where no date can say it. */
export function addMonths(moment: number, months: number, offset_min: number): number {
  const date = new Date(moment + offset_min * MINUTE_MS);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() + months, 1);
  date.setUTCDate(Math.min(day, daysInMonth(date.getUTCFullYear(), date.getUTCMonth() + 1)));
  return date.getTime() - offset_min * MINUTE_MS;
}

/** @param month from 1 */
export function daysInMonth(year: number, month: number): number {
  return new Date(civil(year, month + 1, 1) - DAY_MS).getUTCDate();
}

/** Midnight, UTC, of a day. (`Date.UTC` takes the years 0 to 99 for those of the 20th century.) @param month from 1 */
export function civil(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day);
}

/**
 * Writes keys of groups as the wire shows them: `9/19/2011` for a day, `9/19/2011 14:00` for an hour, both on the clock of the grouping;
 * otherwise the value of the field, "" where it is absent. The key of a day or an hour is the moment it begins.
 */
export function groupKeyFormat(by: Grouping): (key: number | string | null) => string {
  if (by.kind === "field") return (key) => String(key ?? "");
  const { kind, offset_min } = by;
  // Most hours are of the same day as the one before.
  let day = { start: NaN, text: "" };
  return (key) => {
    if (typeof key !== "number") return key ?? "";
    const start = startOfDay(key, offset_min);
    if (start !== day.start) day = { start, text: formatDay(start + offset_min * MINUTE_MS) };
    return kind === "day" ? day.text : `${day.text} ${formatHour(Math.floor((key - start) / HOUR_MS))}`;
  };
}

/** @param local a moment as a clock of UTC would have to show it */
function formatDay(local: number): string {
  const date = new Date(local);
  return `${date.getUTCMonth() + 1}/${date.getUTCDate()}/${date.getUTCFullYear()}`;
}

function formatHour(hour: number): string {
  return `${hour < 10 ? "0" : ""}${hour}:00`;
}
