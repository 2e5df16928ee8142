import { flattenInto, put } from "./flatten.ts";
import type { MutableAttributes } from "./flatten.ts";
import { isObject } from "./json.ts";
import { timeInFormat, timeOfText, USUAL_TIMES, withFraction } from "./time-forms.ts";
import type { ProducerTime, TimeReading } from "./time-forms.ts";

const NUMERAL = /^-?\d{1,19}(?:[.,]\d{1,9})?$/;
/** Time of .NET, and of this service's own lists, in milliseconds. */
const JSON_DATE = /^\/Date\((\d{9,16})(?:[+-]\d{4})?\)\/$/;
/** Numbers of JSON that loggers write as text. */
const EXPONENT = /^\d(?:\.\d{1,17})?e\+?\d{1,2}$/i;
/** Dates without separators: years to minutes, seconds, or milliseconds. */
const COMPACT = /^((?:19|20)\d{10}(?:\d\d)?)(\d{3})?$/;
/** Longer texts are no times. */
const LONGEST = 100;
/** Smaller numbers are not times but durations, counts, dates such as 20190501, or 0 for unknown. */
const SMALLEST = 1e8;
/** Larger numbers are not times, and are formatted with an exponent. */
const LARGEST = 1e19;
/** Largest time that a JavaScript Date holds. */
const LAST_MS = 8.64e15;

/**
 * Parses a producer's time: seconds, milliseconds, microseconds or nanoseconds since the Unix
 * epoch, which are distinguished by magnitude, a text in one of the forms of `time-forms.ts`, or an
 * object with one of the members of {@link TIME_MEMBERS}. Returns null if it is none of them, such
 * as a number below 10^8.
 */
export function readProducerTime(value: unknown, reading: TimeReading = USUAL_TIMES): ProducerTime | null {
  if (typeof value === "string") return value.length > LONGEST ? null : timeOfString(value, reading);
  if (typeof value === "number") {
    return Math.abs(value) < LARGEST ? timeOfNumber(numeral(value), reading) : null;
  }
  return isObject(value) ? timeOfMembers((name) => memberAt(value, name), reading) : null;
}

function timeOfString(value: string, reading: TimeReading): ProducerTime | null {
  const usual = reading.format === null ? timeOfUsual(value) : null;
  if (usual !== null) return usual;
  const text = value.trim();
  if (NUMERAL.test(text)) return timeOfNumber(text, reading);
  if (EXPONENT.test(text)) return readProducerTime(Number(text), reading);
  const [, ms] = JSON_DATE.exec(text) ?? [];
  if (ms !== undefined) return withinDates({ ms: Number(ms), ns: 0 });
  return timeInFormat(text, reading) ?? timeOfWritten(text, reading);
}

/** Members of objects that are a time in seconds, with the members that hold the nanoseconds. */
const SECONDS = [
  // Protocol Buffers in JSON, as Google's agents write them.
  ["seconds", "nanos"],
  // Log4j2's `instant`.
  ["epochSecond", "nanoOfSecond"],
] as const;

/** Members of objects that are times, as paths: of MongoDB's JSON, and in seconds. */
export const TIME_MEMBERS: readonly string[] = ["$date", "$date.$numberLong", ...SECONDS.map(([seconds]) => seconds)];

/** Members that belong to a time, among them those that give its nanoseconds. */
export const USED_MEMBERS: readonly string[] = ["$date", "$date.$numberLong", ...SECONDS.flat()];

/** Reads the time of an object by its members. */
export function timeOfMembers(
  member: (name: string) => unknown,
  reading: TimeReading = USUAL_TIMES,
): ProducerTime | null {
  const date = member("$date.$numberLong") ?? member("$date");
  if (typeof date === "string" || typeof date === "number") return readProducerTime(date, reading);
  for (const [secondsName, nanosName] of SECONDS) {
    const [seconds, nanos] = [Number(member(secondsName) ?? NaN), Number(member(nanosName) ?? 0)];
    const isWhole = Number.isInteger(seconds) && Number.isInteger(nanos) && nanos >= 0 && nanos < 1e9;
    if (isWhole && seconds >= SMALLEST && seconds < 1e11)
      return withFraction(1000 * seconds, String(nanos).padStart(9, "0"));
  }
  return null;
}

function memberAt(object: object, path: string): unknown {
  let value: unknown = object;
  for (const name of path.split(".")) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** Time of an event as its protocol gives it. */
export type GivenTime = {
  readonly time: ProducerTime | null;
  /** Whether there is a value that cannot be read as a time. */
  readonly isTimeUnread: boolean;
};

/** Reads the time in a member of a protocol. A value that is no time becomes an attribute. */
export function readGivenTime(attributes: MutableAttributes, name: string, value: unknown): GivenTime {
  const time = readProducerTime(value);
  if (time !== null) return { time, isTimeUnread: false };
  if (isObject(value)) flattenInto(attributes, value, `${name}.`);
  else if (isTimeExpected(value)) put(attributes, name, value as string | number);
  return { time, isTimeUnread: isTimeExpected(value) || isObject(value) };
}

/** Returns whether a value in place of a time is meant as one: a number, or a text. */
export function isTimeExpected(value: unknown): boolean {
  return typeof value === "number" || (typeof value === "string" && value.trim() !== "");
}

/** Converts nanoseconds since the Unix epoch. */
function timeOfNanoseconds(ns: bigint): ProducerTime | null {
  const ms = Number(ns / 1_000_000n);
  return withinDates({ ms, ns: Number(ns % 1_000_000n) });
}

/** Returns nanoseconds since the Unix epoch as decimal digits. */
export function timeDigits({ ms, ns }: ProducerTime): string {
  return String(BigInt(ms) * 1_000_000n + BigInt(ns));
}

/** Formats a number. Fractions get six places: more would show rounding errors. */
function numeral(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(6);
}

function timeOfNumber(text: string, reading: TimeReading): ProducerTime | null {
  const own = timeInFormat(text, reading);
  if (own !== null) return own;
  const [, compact, ms = ""] = COMPACT.exec(text) ?? [];
  const written = compact === undefined ? null : timeOfText(`${compact.padEnd(14, "0")}.${ms}0`, reading);
  return written ?? timeOfNumeral(text);
}

function timeOfNumeral(text: string): ProducerTime | null {
  const [whole = "", fraction = ""] = text.split(/[.,]/);
  if (Number(whole) < SMALLEST) return null;
  // By digits: a double does not tell 10^17 from the number before it.
  const digits = whole.replace(/^0+/, "");
  if (digits.length <= 11) return scaled(digits, fraction, 1_000_000_000n, 9);
  if (digits.length <= 14) return scaled(digits, fraction, 1_000_000n, 6);
  if (digits.length <= 17) return scaled(digits, fraction, 1_000n, 3);
  return scaled(digits, "", 1n, 0);
}

function scaled(whole: string, fraction: string, unit_ns: bigint, places: number): ProducerTime | null {
  if (!/^\d+$/.test(whole)) return null;
  const rest = BigInt(fraction.padEnd(places, "0").slice(0, places) || "0");
  return timeOfNanoseconds(BigInt(whole) * unit_ns + rest);
}

/**
 * Parses the most common form, `2026-11-23T12:34:56.789Z` with one to nine decimals or none, and
 * with an offset such as +02:00. Returns null for other forms, and for days after the 28th, which
 * may not exist in the month.
 */
export function timeOfUsual(text: string): ProducerTime | null {
  if (text.length < 20 || text.length > 35 || !hasUsualMarks(text)) return null;
  const [year, month, day] = [100 * pair(text, 0) + pair(text, 2), pair(text, 5), pair(text, 8)];
  const [hour, minute, second] = [pair(text, 11), pair(text, 14), pair(text, 17)];
  const isDay = month >= 1 && month <= 12 && day >= 1 && day <= 28 && year >= 100;
  if (!isDay || !(hour <= 23 && minute <= 59 && second <= 59)) return null;
  let [at, ns] = [19, 0];
  if (text[at] === ".") {
    const first = ++at;
    for (let unit = 100_000_000; at < first + 9 && isDigit(text.charCodeAt(at)); at++, unit /= 10) {
      ns += unit * (text.charCodeAt(at) - ZERO);
    }
    if (at === first) return null;
  }
  const offset_min = usualOffset(text, at);
  if (Number.isNaN(offset_min)) return null;
  const ms = Date.UTC(year, month - 1, day, hour, minute, second) - 60_000 * offset_min;
  return { ms: ms + Math.floor(ns / 1_000_000), ns: ns % 1_000_000 };
}

const ZERO = 0x30;

function hasUsualMarks(text: string): boolean {
  return text[4] === "-" && text[7] === "-" && text[10] === "T" && text[13] === ":" && text[16] === ":";
}

/** Parses `Z` or `+02:00` at the end of a text; NaN if it is neither. */
function usualOffset(text: string, at: number): number {
  if (text[at] === "Z") return text.length === at + 1 ? 0 : NaN;
  const sign = text[at] === "+" ? 1 : text[at] === "-" ? -1 : NaN;
  const [hours, minutes] = [pair(text, at + 1), pair(text, at + 4)];
  const isWhole = text.length === at + 6 && text[at + 3] === ":" && hours <= 18 && minutes <= 59;
  return isWhole ? sign * (60 * hours + minutes) : NaN;
}

/** Parses two digits; NaN if they are not digits. */
function pair(text: string, at: number): number {
  const [tens, ones] = [text.charCodeAt(at), text.charCodeAt(at + 1)];
  return isDigit(tens) && isDigit(ones) ? 10 * (tens - ZERO) + ones - ZERO : NaN;
}

function isDigit(unit: number): boolean {
  return unit >= ZERO && unit <= ZERO + 9;
}

function timeOfWritten(text: string, reading: TimeReading): ProducerTime | null {
  const time = timeOfText(text, reading);
  return time === null ? null : withinDates(time);
}

function withinDates(time: ProducerTime): ProducerTime | null {
  return Math.abs(time.ms) <= LAST_MS ? time : null;
}
