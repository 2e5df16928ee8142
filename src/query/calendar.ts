import type { Period } from "./plan.ts";
import { UTC, momentFromLocal, offsetAt, offsetPeriods } from "./zone.ts";
import type { OffsetPeriod, Zone } from "./zone.ts";

/**
 * Days, hours and months on the clock of a zone. Moments are milliseconds since the Unix epoch. A
 * local time is what the clock shows, represented as the moment at which a UTC clock shows the
 * same.
 */
const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Largest distance of a moment from the epoch, in milliseconds. */
export const MOMENT_LIMIT = 8.64e15;

export function startOfDay(moment: number, zone: Zone): number {
  return momentFromLocal(zone, floorTo(DAY_MS, moment + offsetAt(zone, moment)));
}

function floorTo(length_ms: number, local: number): number {
  return Math.floor(local / length_ms) * length_ms;
}

/** Returns the same time of day `days` later (or earlier, if negative). */
export function addDays(moment: number, days: number, zone: Zone): number {
  return momentFromLocal(zone, moment + offsetAt(zone, moment) + days * DAY_MS);
}

/**
 * Returns the same day and time `months` later (or earlier, if negative), or the last day of the
 * month if it has no such day. Returns NaN if the result is outside of the range of dates.
 */
export function addMonths(moment: number, months: number, zone: Zone): number {
  const date = new Date(moment + offsetAt(zone, moment));
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() + months, 1);
  date.setUTCDate(Math.min(day, daysInMonth(date.getUTCFullYear(), date.getUTCMonth() + 1)));
  return momentFromLocal(zone, date.getTime());
}

/** @param month from 1 */
export function daysInMonth(year: number, month: number): number {
  return new Date(utcMidnight(year, month + 1, 1) - DAY_MS).getUTCDate();
}

/**
 * Returns midnight UTC of a day. Unlike `Date.UTC`, does not map the years 0 to 99 to the 20th
 * century. @param month from 1
 */
export function utcMidnight(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day);
}

/** Weeks begin on Monday; 1970-01-01 was a Thursday. */
const FIRST_MONDAY_MS = -3 * DAY_MS;

/** Returns the length of a period's groups on the clock, in milliseconds; null for months. */
export function periodLength({ unit, count }: Period): number | null {
  switch (unit) {
    case "seconds":
      return count * SECOND_MS;
    case "minutes":
      return count * MINUTE_MS;
    case "hours":
      return count * HOUR_MS;
    case "days":
      return count * DAY_MS;
    case "weeks":
      return count * 7 * DAY_MS;
    case "months":
      return null;
  }
  throw unit satisfies never;
}

/** Returns the local time from which a period's groups are counted. A group always begins there. */
export function periodOrigin({ unit }: Period): number {
  return unit === "weeks" ? FIRST_MONDAY_MS : 0;
}

/** Offset of the key of a group that the clock shows again. Other keys are whole seconds. */
export const REPEATED = 1;

/**
 * Returns the stretches of time within which keys derive from `created` in one way. A key is the
 * local time of the group's start, plus {@link REPEATED} in a repeated stretch. Groups longer than
 * an hour are never repeated.
 */
export function offsetPeriodsFor(by: Period, from_ms?: number, to_ms?: number): OffsetPeriod[] {
  const stretches = offsetPeriods(by.zone, from_ms, to_ms);
  const length_ms = periodLength(by);
  if (length_ms !== null && length_ms <= HOUR_MS) return stretches;
  return stretches.map((stretch) => ({ ...stretch, repeated: false }));
}

/** Returns a function from a moment to the key of its group. */
export function keyOfPeriod(by: Period): (moment: number) => number {
  const start = startOfPeriod(by);
  const stretches = offsetPeriodsFor(by);
  let current = stretches[0]!;
  return (moment) => {
    if (moment < current.from_ms || moment >= current.to_ms) {
      current = stretches.find(({ from_ms, to_ms }) => from_ms <= moment && moment < to_ms)!;
    }
    return start(moment + current.offset_ms) + (current.repeated ? REPEATED : 0);
  };
}

/** Returns a function from a local time to the local start of its group. */
export function startOfPeriod(by: Period): (local: number) => number {
  const length_ms = periodLength(by);
  const origin_ms = periodOrigin(by);
  return length_ms === null ? startOfMonth : (local) => floorTo(length_ms, local - origin_ms) + origin_ms;
}

function startOfMonth(local: number): number {
  const date = new Date(local);
  return utcMidnight(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** Returns the local start of the group after the one that starts at `local`. */
function nextStart(by: Period, local: number): number {
  const length_ms = periodLength(by);
  return length_ms === null ? addMonths(local, 1, UTC) : local + length_ms;
}

/** Yields the keys of all groups with moments in [`from_ms`, `to_ms`), both finite. */
export function* keysOfPeriod(by: Period, from_ms: number, to_ms: number): Generator<number> {
  const startOf = startOfPeriod(by);
  let last = NaN;
  for (const stretch of offsetPeriodsFor(by, from_ms, to_ms)) {
    const { offset_ms, repeated } = stretch;
    const end = Math.min(to_ms, stretch.to_ms) + offset_ms;
    let start = startOf(Math.max(from_ms, stretch.from_ms) + offset_ms);
    for (; start < end; start = nextStart(by, start)) {
      const key = start + (repeated ? REPEATED : 0);
      // A day on which the clock changes lies in two stretches.
      if (key !== last) yield key;
      last = key;
    }
  }
}

/** Returns the first moment of the group with a key. */
export function momentOfKey({ zone }: Period, key: number): number {
  const local = floorTo(SECOND_MS, key);
  if (local === key) return momentFromLocal(zone, local);
  const { from_ms, offset_ms } = repetitionOf(zone, local);
  return Math.max(from_ms, local - offset_ms);
}

/** Returns the length of the group with a key, in milliseconds. */
export function lengthOfGroup(by: Period, key: number): number {
  const length_ms = periodLength(by);
  if (length_ms !== null && length_ms <= HOUR_MS) return length_ms;
  return momentFromLocal(by.zone, nextStart(by, key)) - momentFromLocal(by.zone, key);
}

/**
 * Returns a formatter of keys for the wire, on the clock of the grouping: `9/19/2011` for days and
 * weeks, `9/2011` for months, `9/19/2011 14:15` for minutes and hours, `9/19/2011 14:15:30` for
 * seconds. A repeated time is followed by its offset.
 */
export function periodKeyFormat({ unit, zone }: Period): (key: number) => string {
  if (unit === "months") return formatMonth;
  // Consecutive keys are mostly of the same day.
  let day = { start: NaN, text: "" };
  return (key) => {
    const start = floorTo(DAY_MS, key);
    if (start !== day.start) day = { start, text: formatDay(start) };
    if (unit === "days" || unit === "weeks") return day.text;
    const local = floorTo(SECOND_MS, key);
    const offset = key === local ? "" : ` ${formatOffset(repeatedOffset(zone, local))}`;
    const seconds = unit === "seconds" ? `:${twoDigits(((local - start) / SECOND_MS) % 60)}` : "";
    return `${day.text} ${formatTime(local - start)}${seconds}${offset}`;
  };
}

/** Returns the offset of the repeated stretch that overlaps the hour from a local time on. */
function repeatedOffset(zone: Zone, local: number): number {
  return repetitionOf(zone, local).offset_ms;
}

function repetitionOf(zone: Zone, local: number): OffsetPeriod {
  return offsetPeriods(zone).find(
    ({ from_ms, to_ms, offset_ms, repeated }) =>
      repeated && from_ms + offset_ms < local + HOUR_MS && to_ms + offset_ms > local,
  )!;
}

/** Formats an offset as `+05:45`, without the seconds that offsets had a century ago. */
function formatOffset(offset_ms: number): string {
  const minutes = Math.floor(Math.abs(offset_ms) / MINUTE_MS);
  return `${offset_ms < 0 ? "-" : "+"}${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`;
}

/** @param local a local time */
function formatDay(local: number): string {
  const date = new Date(local);
  return `${date.getUTCMonth() + 1}/${date.getUTCDate()}/${date.getUTCFullYear()}`;
}

function formatMonth(local: number): string {
  const date = new Date(local);
  return `${date.getUTCMonth() + 1}/${date.getUTCFullYear()}`;
}

function formatTime(time_ms: number): string {
  const minutes = Math.floor(time_ms / MINUTE_MS);
  return `${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}
