import { readDate } from "../query/dates.ts";
import { UTC } from "../query/zone.ts";

const DAY_MS = 86_400_000;

const TIME = String.raw`(?<time>\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)`;
const ZONE = String.raw`(?: ?(?<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?`;
const WEEKDAY = String.raw`(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +)?`;
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH = String.raw`(?<name>${MONTHS.join("|")})`;

/** Time formats of log files. */
const TIME_FORMATS: readonly RegExp[] = [
  // ISO 8601 and similar: 2011-06-19T13:54:33.911Z, 2011-06-19 13:54:33,911, 2011/06/19 13:54:33,
  // 2011-06-19
  String.raw`(?<year>\d{4})(?<dash>[-/])(?<month>\d\d)\k<dash>(?<day>\d\d)(?:(?:T| +)${TIME}${ZONE})?`,
  // Day first: 19.06.2011 13:54:33
  String.raw`(?<day>\d{1,2})\.(?<month>\d\d)\.(?<year>\d{4})(?:(?:T|,? +)${TIME}${ZONE})?`,
  // Access logs: 19/Jun/2011:13:54:33 +0200
  String.raw`(?<day>\d{1,2})/${MONTH}/(?<year>\d{4}):${TIME}${ZONE}`,
  // Mail (RFC 5322): Sun, 19 Jun 2011 13:54:33 +0200
  String.raw`${WEEKDAY}(?<day>\d{1,2}) ${MONTH} (?<year>\d{4}) +${TIME}${ZONE}`,
  // syslog (RFC 3164) without a year, and ctime, which may end with it: Sun Jun 19 13:54:33 2011
  String.raw`${WEEKDAY}${MONTH} +(?<day>\d{1,2}) +${TIME}${ZONE}(?: +(?<year>\d{4}))?`,
].map((form) => new RegExp(String.raw`^\[?${form}\]?$`, "i"));

/** The first of two numbers before a year, with slashes or dashes. */
export const DATE_ORDERS = ["day-first", "month-first"] as const;
export type DateOrder = (typeof DATE_ORDERS)[number];

/** Dates whose order is known only if one of the numbers is no month: 06/19/2011 13:54:33 */
const UNORDERED = new RegExp(
  String.raw`^\[?(?<first>\d{1,2})(?<dash>[-/])(?<second>\d{1,2})\k<dash>(?<year>\d{4})(?:(?:T|,? +)${TIME}${ZONE})?\]?$`,
  "i",
);

/** Returns whether a text is a date whose day and month cannot be told apart. */
export function isAmbiguousDate(text: string): boolean {
  const { first, second } = UNORDERED.exec(text.trim())?.groups ?? {};
  return first !== undefined && Number(first) <= 12 && Number(second) <= 12 && Number(first) !== Number(second);
}

/** Seconds since 1970, with an optional fraction, or milli-, micro- or nanoseconds. */
const EPOCH_TIME = /^(?<seconds>\d{10})(?:\.(?<fraction>\d{1,9})|(?<more>(?:\d{3}){1,3}))?$/;

/**
 * Parses the time of a log line, in milliseconds since the Unix epoch: ISO 8601, access logs, mail,
 * syslog, ctime, and seconds to nanoseconds since 1970. Without a zone it is local time. Without a
 * year it is the latest such date that is at most a day ahead. Null for anything else, such as
 * 05/06/2011, unless the order of day and month is given.
 */
export function readTime(text: string, now_ms: number, dates: DateOrder | null = null): number | null {
  const trimmed = text.trim();
  const epoch_ms = readEpochTime(trimmed);
  if (epoch_ms !== null) return epoch_ms;
  for (const form of TIME_FORMATS) {
    const groups = form.exec(trimmed)?.groups;
    if (groups !== undefined) return groups["year"] === undefined ? readYearless(groups, now_ms) : momentOf(groups);
  }
  const unordered = UNORDERED.exec(trimmed)?.groups;
  if (unordered !== undefined) return readUnordered(unordered, dates);
  // `Date.parse` reads other formats, such as Jun 19, 2011 1:54:33 PM. Without a year and a time it
  // guesses, so both are required.
  const ms = /\b\d{4}\b/.test(trimmed) && /\d:\d\d/.test(trimmed) ? Date.parse(trimmed) : NaN;
  return Number.isNaN(ms) ? null : ms;
}

function readEpochTime(text: string): number | null {
  const groups = EPOCH_TIME.exec(text)?.groups;
  if (groups === undefined) return null;
  const fraction = groups["fraction"] ?? groups["more"] ?? "";
  return Number(groups["seconds"]) * 1000 + Number(fraction.padEnd(3, "0").slice(0, 3));
}

function readUnordered({ first, second, ...others }: Groups, dates: DateOrder | null): number | null {
  const isDayFirst = Number(first) > 12 || (dates === "day-first" && Number(second) <= 12);
  const isKnown = isDayFirst || Number(second) > 12 || dates !== null || Number(first) === Number(second);
  if (!isKnown) return null;
  const [day, month] = isDayFirst ? [first, second] : [second, first];
  return momentOf({ ...others, day, month: month!.padStart(2, "0") });
}

function readYearless(groups: Groups, now_ms: number): number | null {
  const year = new Date(now_ms).getFullYear();
  // On 31 December it may already be next year's; 29 February may be up to eight years ago.
  for (let back = -1; back <= 8; back += 1) {
    const ms = momentOf({ ...groups, year: String(year - back) });
    if (ms !== null && ms <= now_ms + DAY_MS) return ms;
  }
  return null;
}

type Groups = Record<string, string | undefined>;

function momentOf({ year, month, name, day, time, zone }: Groups): number | null {
  const digits = month ?? String(MONTHS.indexOf(name!.toLowerCase()) + 1).padStart(2, "0");
  const offset = zone === undefined || /^(?:UTC|GMT)$/i.test(zone) ? "Z" : zone;
  const date = readDate(`${year}-${digits}-${day!.padStart(2, "0")}T${time ?? "00:00"}${offset}`, UTC);
  if (date.kind !== "moment") return null;
  return zone === undefined ? localOf(date.at) : date.at;
}

/** Returns the time at which local clocks show what UTC clocks show at `ms`. */
function localOf(ms: number): number {
  const at = new Date(ms);
  const [hour, minute, second] = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()];
  const local = new Date(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate(), hour, minute, second);
  return local.getTime() + at.getUTCMilliseconds();
}
