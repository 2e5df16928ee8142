import { readDate } from "../../query/dates.ts";
import { UTC } from "../../query/zone.ts";
import type { ProducerTime } from "./protocol.ts";

const ISO = /^\d{4}-\d\d-\d\d[T ]/i;
const FRACTION = /[.,](\d{4,})/;
const NUMERAL = /^-?\d{1,19}(?:\.\d{1,9})?$/;
/** Larger numbers are not times, and are formatted with an exponent. */
const LARGEST = 1e19;
/** Largest time that a JavaScript Date holds. */
const LAST_MS = 8.64e15;

/**
 * Parses a producer's time: ISO 8601, or seconds, milliseconds, microseconds or nanoseconds since
 * the Unix epoch, which are distinguished by magnitude. Returns null if it is none of them.
 */
export function timeOf(value: unknown): ProducerTime | null {
  if (typeof value === "number") return Math.abs(value) < LARGEST ? timeOfNumeral(numeral(value)) : null;
  if (typeof value !== "string" || value.length > 64) return null;
  const usual = timeOfUsual(value);
  if (usual !== null) return usual;
  const text = value.trim();
  if (NUMERAL.test(text)) return timeOfNumeral(text);
  return ISO.test(text) ? timeOfIso(text) : null;
}

/** Converts nanoseconds since the Unix epoch. */
export function timeOfNanoseconds(ns: bigint): ProducerTime | null {
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
  const size = Math.abs(Number(whole));
  if (size < 1e11) return scaled(whole, fraction, 1_000_000_000n, 9);
  if (size < 1e14) return scaled(whole, fraction, 1_000_000n, 6);
  if (size < 1e17) return scaled(whole, fraction, 1_000n, 3);
  return scaled(whole, "", 1n, 0);
}

function scaled(whole: string, fraction: string, unit_ns: bigint, places: number): ProducerTime | null {
  if (!/^-?\d+$/.test(whole)) return null;
  const rest = BigInt(fraction.padEnd(places, "0").slice(0, places) || "0");
  const ns = BigInt(whole) * unit_ns;
  return timeOfNanoseconds(whole.startsWith("-") ? ns - rest : ns + rest);
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
