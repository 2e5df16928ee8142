import { readDate } from "../../query/dates.ts";
import { UTC } from "../../query/zone.ts";
import { put } from "./flatten.ts";
import type { MutableAttributes } from "./flatten.ts";
import type { ProducerTime } from "./endpoint.ts";

const ISO = /^\d{4}-\d\d-\d\d[T ]/i;
const FRACTION = /[.,](\d{4,})/;
const NUMERAL = /^-?\d{1,19}(?:\.\d{1,9})?$/;
/** Smaller numbers are not times but durations, counts, dates such as 20190501, or 0 for unknown. */
const SMALLEST = 1e8;
/** Larger numbers are not times, and are formatted with an exponent. */
const LARGEST = 1e19;
/** Largest time that a JavaScript Date holds. */
const LAST_MS = 8.64e15;

/**
 * Parses a producer's time: ISO 8601, or seconds, milliseconds, microseconds or nanoseconds since
 * the Unix epoch, which are distinguished by magnitude. Returns null if it is none of them, such as
 * a number below 10^8.
 */
export function timeOf(value: unknown): ProducerTime | null {
  if (typeof value === "number") return Math.abs(value) < LARGEST ? timeOfNumeral(numeral(value)) : null;
  if (typeof value === "object" && value !== null) return timeOfParts(value as Parameters<typeof timeOfParts>[0]);
  if (typeof value !== "string" || value.length > 64) return null;
  const usual = timeOfUsual(value);
  if (usual !== null) return usual;
  const text = value.trim().replace(/ (?:UTC|GMT)$/, "Z");
  if (NUMERAL.test(text)) return timeOfNumeral(text);
  return ISO.test(text) ? timeOfIso(text) : null;
}

/** Reads an object of seconds and nanoseconds, as log4j2 and Google's agents write it. */
function timeOfParts(parts: Readonly<Record<string, unknown>>): ProducerTime | null {
  const time = timeOfNumeral(String(parts["epochSecond"] ?? parts["seconds"]));
  const ns = Number(parts["nanoOfSecond"] ?? parts["nanos"] ?? 0);
  return time === null || !(ns >= 0 && ns < 1e9) ? time : { ms: time.ms + Math.floor(ns / 1e6), ns: ns % 1e6 };
}

/** Time of an event as its protocol gives it. */
export type GivenTime = {
  readonly time: ProducerTime | null;
  /** Whether there is a value that cannot be read as a time. */
  readonly isTimeUnread: boolean;
};

/** Reads the time in a member of a protocol. A value that is no time becomes an attribute. */
export function readGivenTime(attributes: MutableAttributes, name: string, value: unknown): GivenTime {
  const time = timeOf(value);
  const isTimeUnread = time === null && isTimeExpected(value);
  if (isTimeUnread) put(attributes, name, value as string | number);
  return { time, isTimeUnread };
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
export function digitsOf({ ms, ns }: ProducerTime): string {
  return String(BigInt(ms) * 1_000_000n + BigInt(ns));
}

/** Formats a number. Fractions get six places: more would show rounding errors. */
function numeral(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(6);
}

function timeOfNumeral(text: string): ProducerTime | null {
  const [whole = "", fraction = ""] = text.split(".");
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
 * Parses the most common form, `2026-11-23T12:34:56.789Z` with three to nine decimals or none.
 * Returns null for other forms, and for days after the 28th, which may not exist in the month.
 */
export function timeOfUsual(text: string): ProducerTime | null {
  const last = text.length - 1;
  if (last < 19 || last === 20 || last > 29 || !hasUsualMarks(text, last)) return null;
  const [year, month, day] = [100 * pair(text, 0) + pair(text, 2), pair(text, 5), pair(text, 8)];
  const [hour, minute, second] = [pair(text, 11), pair(text, 14), pair(text, 17)];
  const isDay = month >= 1 && month <= 12 && day >= 1 && day <= 28 && year >= 100;
  if (!isDay || !(hour <= 23 && minute <= 59 && second <= 59)) return null;
  let ns = 0;
  for (let i = 20, unit = 100_000_000; i < last; i++, unit /= 10) ns += unit * (text.charCodeAt(i) - ZERO);
  const ms = Date.UTC(year, month - 1, day, hour, minute, second);
  return { ms: ms + Math.floor(ns / 1_000_000), ns: ns % 1_000_000 };
}

const ZERO = 0x30;

function hasUsualMarks(text: string, last: number): boolean {
  const hasMarks = text[4] === "-" && text[7] === "-" && text[10] === "T" && text[13] === ":" && text[16] === ":";
  if (!hasMarks || text[last] !== "Z" || (last > 19 && (text[19] !== "." || last < 23))) return false;
  for (let i = 20; i < last; i++) if (!isDigit(text.charCodeAt(i))) return false;
  return true;
}

/** Parses two digits; NaN if they are not digits. */
function pair(text: string, at: number): number {
  const [tens, ones] = [text.charCodeAt(at), text.charCodeAt(at + 1)];
  return isDigit(tens) && isDigit(ones) ? 10 * (tens - ZERO) + ones - ZERO : NaN;
}

function isDigit(unit: number): boolean {
  return unit >= ZERO && unit <= ZERO + 9;
}

function timeOfIso(text: string): ProducerTime | null {
  const fraction = FRACTION.exec(text)?.[1] ?? "";
  // Dates are parsed with at most nine decimals. Further ones are dropped.
  const date = readDate(fraction.length > 9 ? text.replace(fraction, fraction.slice(0, 9)) : text, UTC);
  if (date.kind === "fault") return null;
  const ms = date.kind === "day" ? date.start : date.at;
  return withinDates({ ms, ns: Number(fraction.slice(3, 9).padEnd(6, "0")) });
}

function withinDates(time: ProducerTime): ProducerTime | null {
  return Math.abs(time.ms) <= LAST_MS ? time : null;
}
