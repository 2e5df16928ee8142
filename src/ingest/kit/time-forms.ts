import { utcMidnight, DAY_MS, daysInMonth } from "../../query/calendar.ts";
import { fixedZone, momentFromLocal, UTC } from "../../query/zone.ts";
import type { Zone } from "../../query/zone.ts";
import { LOCAL_UTC, zoneNamed, zoneOfAbbreviation } from "./time-zones.ts";
import type { LocalZone } from "./time-zones.ts";

/** A time as a producer gave it. */
export type ProducerTime = {
  /** Whole milliseconds since the Unix epoch. */
  readonly ms: number;
  /** Additional nanoseconds, 0 to 999,999. */
  readonly ns: number;
};

/** The first of two numbers before a year, with slashes or hyphens. */
export const DATE_ORDERS = ["day-first", "month-first"] as const;
export type DateOrder = (typeof DATE_ORDERS)[number];

/** What is known about the times of a producer besides their texts. */
export type TimeReading = {
  /** The zone of times without one. */
  readonly local: LocalZone;
  /** Order of day and month in dates such as 05/06/2026. null: such dates are no times. */
  readonly dates: DateOrder | null;
  /** A form with the groups of the forms below, which is tried first. */
  readonly format: RegExp | null;
  /** The current time in ms, from which the year of times without one follows. */
  readonly now: () => number;
};

/** How protocols read times. */
export const USUAL_TIMES: TimeReading = Object.freeze({
  local: LOCAL_UTC,
  dates: null,
  format: null,
  now: () => Date.now(),
});

const MONTH_NAMES = "January February March April May June July August September October November December".split(" ");
const MONTHS: ReadonlyMap<string, number> = new Map(
  MONTH_NAMES.flatMap((name, i): [string, number][] =>
    [name, name.slice(0, 3), name.slice(0, 4)].map((word) => [word.toLowerCase(), i + 1]),
  ),
);

/** Parts of forms, none of which minds the case of letters. */
export const MONTH = String.raw`(?<name>[a-z]{3,9})\.?`;
export const HALF = String.raw`(?<half>[ap])\.?m\.?`;
export const OFFSET = String.raw`(?:UTC|GMT)?(?<offset>[+-]\d{1,2}(?::?\d\d)?)`;
export const ABBREVIATION = String.raw`(?<abbreviation>[a-z]{1,5})`;
const CLOCK = String.raw`(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d+))?)?(?:\s?${HALF})?`;
/** An offset may be followed by the name of its zone. */
const ZONE =
  String.raw`(?:\s?${OFFSET}(?:\s(?:\(?[a-z ]{1,40}\)?|[+-]\d{2,4}))?|\s?${ABBREVIATION})?` +
  // PHP's zone, or that of Java and RFC 9557, then Go's monotonic clock.
  String.raw`(?:\s(?<zone>[a-z]+/[\w+/-]{1,60})|\[!?(?<zone>[\w+/-]{1,64})\])?` +
  String.raw`(?:\[[\w=-]{1,20}\])?(?:\sm=[+-][\d.]{1,24})?`;
const TIME = `${CLOCK}${ZONE}`;
const WEEKDAY = String.raw`(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},?\s+)?`;

/** Times as people and programs write them. Most begin with the year. */
const FORMS: readonly RegExp[] = [
  // ISO 8601 and similar: 2011-06-19T13:54:33.911Z, 2011-06-19 13:54:33,911, 2011/06/19 13:54,
  // 2011-06-19
  new RegExp(
    String.raw`^(?<year>\d{4})(?<mark>[-/.])(?<month>\d{1,2})\k<mark>(?<day>\d{1,2})(?:(?:t|_|,?\s+)${TIME})?$`,
    "i",
  ),
  // ISO 8601's basic format: 20110619T135433.911Z, 20110619T135433+0200, 20110619 13:54:33.911
  new RegExp(
    String.raw`^(?<year>\d{4})(?<month>\d\d)(?<day>\d\d)(?:t|\s+)?` +
      String.raw`(?<hour>\d\d):?(?<minute>\d\d)(?::?(?<second>\d\d)(?:[.,](?<fraction>\d+))?)?${ZONE}$`,
    "i",
  ),
  // Day first: 19.06.2011 13:54:33
  new RegExp(String.raw`^(?<day>\d{1,2})\.(?<month>\d{1,2})\.(?<year>\d{4})(?:(?:t|,?\s+)${TIME})?$`, "i"),
  // Access logs and mail: 19/Jun/2011:13:54:33 +0200, Sun, 19 Jun 2011 13:54:33 +0200, 19-Jun-2011
  new RegExp(
    String.raw`^${WEEKDAY}(?<day>\d{1,2})(?<mark>[-/ ])${MONTH}\k<mark>(?<year>\d{4})(?:(?::|t|,?\s+)${TIME})?$`,
    "i",
  ),
  // 2011 Jun 19 13:54:33
  new RegExp(
    String.raw`^(?<year>\d{4})(?<mark>[-/ ])${MONTH}(?:\k<mark>|\s+)(?<day>\d{1,2})(?:(?::|t|,?\s+)${TIME})?$`,
    "i",
  ),
  // syslog (RFC 3164) without a year, and ctime: Sun Jun 19 13:54:33 2011
  new RegExp(String.raw`^${WEEKDAY}${MONTH}\s+(?<day>\d{1,2}),?\s+${TIME}(?:\s+(?<year>\d{4}))?$`, "i"),
  // Jun 19, 2011 1:54:33 PM, Sun Jun 19 2011 13:54:33 GMT+0200 (Central European Summer Time)
  new RegExp(String.raw`^${WEEKDAY}${MONTH}\s+(?<day>\d{1,2}),?\s+(?<year>\d{4})(?:(?:,?\s+(?:at\s)?)${TIME})?$`, "i"),
];

/** Dates of which only `dates` tells the order: 06/19/2011 13:54:33 */
const UNORDERED = new RegExp(
  String.raw`^(?<first>\d{1,2})(?<mark>[-/])(?<next>\d{1,2})\k<mark>(?<year>\d{4})(?:(?:t|,?\s+)${TIME})?$`,
  "i",
);

/** Named groups of a form. */
export type TimeGroups = Readonly<Record<string, string | undefined>>;

/** Reads a written time; null if it is in no known form, or there is no such time. */
export function timeOfText(text: string, reading: TimeReading): ProducerTime | null {
  const trimmed = withoutBrackets(text.trim());
  for (const form of FORMS) {
    const groups = form.exec(trimmed)?.groups;
    if (groups !== undefined) return timeOfGroups(groups, reading);
  }
  const groups = reading.dates === null ? undefined : UNORDERED.exec(trimmed)?.groups;
  if (groups === undefined) return null;
  const { first, next, ...others } = groups;
  const [day, month] = reading.dates === "day-first" ? [first, next] : [next, first];
  return timeOfGroups({ ...others, day, month }, reading);
}

/** Reads a time in the form of one's own, if there is one; null if it has another form. */
export function timeInFormat(text: string, reading: TimeReading): ProducerTime | null {
  const groups = reading.format?.exec(withoutBrackets(text.trim()))?.groups;
  return groups === undefined ? null : timeOfGroups(groups, reading);
}

/** Removes the brackets that logs write around times. */
function withoutBrackets(text: string): string {
  return text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text;
}

function timeOfGroups(groups: TimeGroups, reading: TimeReading): ProducerTime | null {
  if (groups["epoch"] !== undefined) return withFraction(1000 * Number(groups["epoch"]), groups["fraction"] ?? "");
  const zone = zoneOfGroups(groups, reading.local);
  const clock_ms = clockOf(groups);
  const month = groups["month"] === undefined ? MONTHS.get(groups["name"]!.toLowerCase()) : Number(groups["month"]);
  if (zone === null || clock_ms === null || month === undefined) return null;
  const day = Number(groups["day"]);
  const momentIn = (year: number): number | null => {
    const midnight = validMidnight(year, month, day);
    return midnight === null ? null : momentFromLocal(zone, midnight + clock_ms);
  };
  const year = yearOf(groups);
  const ms = year === null ? latestMoment(momentIn, reading.now()) : momentIn(year);
  return ms === null ? null : withFraction(ms, groups["fraction"] ?? "");
}

function yearOf({ year, shortYear }: TimeGroups): number | null {
  if (shortYear !== undefined) return Number(shortYear) + (Number(shortYear) < 69 ? 2000 : 1900);
  return year === undefined ? null : Number(year);
}

/** Returns the time of day in milliseconds, with 24:00 as its end; null if no clock shows it. */
function clockOf({ hour = "0", minute = "0", second = "0", fraction = "", half }: TimeGroups): number | null {
  let hours = Number(hour);
  if (half !== undefined) {
    if (hours < 1 || hours > 12) return null;
    hours = (hours % 12) + (half.toLowerCase() === "p" ? 12 : 0);
  }
  const isEndOfDay = hours === 24 && Number(minute) === 0 && Number(second) === 0 && Number(fraction) === 0;
  return isEndOfDay ? DAY_MS : clockTime(hours, Number(minute), Number(second));
}

/**
 * Returns a time of day in milliseconds; null if no clock shows it. A leap second becomes the
 * second before.
 */
export function clockTime(hours: number, minutes: number, seconds: number): number | null {
  if (hours > 23 || minutes > 59 || seconds > 60) return null;
  return ((hours * 60 + minutes) * 60 + Math.min(seconds, 59)) * 1000;
}

/** Returns null if there is no such zone, or an abbreviation does not say which. */
function zoneOfGroups({ offset, abbreviation, zone }: TimeGroups, local: LocalZone): Zone | null {
  if (offset !== undefined) return zoneOfOffset(offset);
  if (abbreviation !== undefined) return zoneOfAbbreviation(abbreviation, local);
  return zone === undefined ? local.zone : zoneNamed(zone);
}

/** Returns the zone of an offset from -18:00 to +18:00, such as +02, +0200 or +2:00; else null. */
export function zoneOfOffset(offset: string): Zone | null {
  const digits = offset.slice(1).replace(":", "");
  const hours = Number(digits.slice(0, digits.length > 2 ? -2 : undefined));
  const minutes = digits.length > 2 ? Number(digits.slice(-2)) : 0;
  if (hours > 18 || minutes > 59) return null;
  return hours === 0 && minutes === 0 ? UTC : fixedZone((offset.startsWith("-") ? -1 : 1) * (60 * hours + minutes));
}

/** Returns midnight of a day as UTC clocks show it; null if there is no such day. */
export function validMidnight(year: number, month: number, day: number): number | null {
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return null;
  return utcMidnight(year, month, day);
}

/** Times further ahead are of an earlier year. This allows for clock differences and zones. */
const AHEAD_MS = DAY_MS;
/** Among so many years there is a leap year. */
const YEARS = 10;

/**
 * Returns the latest moment that is at most a day ahead, of the year after the current one or one
 * of the nine before it; null if there is none.
 */
export function latestMoment(momentIn: (year: number) => number | null, now_ms: number): number | null {
  // On 31 December it may already be next year's; 29 February may be up to eight years ago.
  const next = new Date(now_ms).getUTCFullYear() + 1;
  for (let back = 0; back < YEARS; back++) {
    const ms = momentIn(next - back);
    if (ms !== null && ms <= now_ms + AHEAD_MS) return ms;
  }
  return null;
}

/** Adds the digits of a fraction of a second. Those beyond nanoseconds are dropped. */
export function withFraction(ms: number, fraction: string): ProducerTime {
  if (fraction === "") return { ms, ns: 0 };
  const digits = fraction.slice(0, 9).padEnd(9, "0");
  return { ms: ms + Number(digits.slice(0, 3)), ns: Number(digits.slice(3)) };
}
