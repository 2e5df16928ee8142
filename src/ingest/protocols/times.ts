import { readDate } from "../../query/dates.ts";
import { UTC } from "../../query/zone.ts";
import type { ProducerTime } from "./protocol.ts";

const ISO = /^\d{4}-\d\d-\d\d[T ]/i;
const FRACTION = /[.,](\d{4,})/;
const NUMERAL = /^-?\d{1,19}(?:\.\d{1,9})?$/;
/** Larger numbers are no moment, and are written with an exponent. */
const LARGEST = 1e19;
/** Beyond this, dates of JavaScript are none. */
const LAST_MS = 8.64e15;

/**
 * The moment that a producer's value names: ISO 8601, or seconds, milliseconds, microseconds or
 * nanoseconds since the Unix epoch, told apart by their size. null where it names none.
 */
export function timeOf(value: unknown): ProducerTime | null {
  if (typeof value === "number") return Math.abs(value) < LARGEST ? timeOfNumeral(numeral(value)) : null;
  if (typeof value !== "string" || value.length > 64) return null;
  const text = value.trim();
  if (NUMERAL.test(text)) return timeOfNumeral(text);
  return ISO.test(text) ? timeOfIso(text) : null;
}

/** The moment of so many nanoseconds since the Unix epoch. */
export function timeOfNanoseconds(ns: bigint): ProducerTime | null {
  const ms = Number(ns / 1_000_000n);
  return withinDates({ ms, ns: Number(ns % 1_000_000n) });
}

/** Nanoseconds since the Unix epoch, in digits. */
export function digitsOf({ ms, ns }: ProducerTime): string {
  return String(BigInt(ms) * 1_000_000n + BigInt(ns));
}

/**
 * Seconds with a fraction have nine places at the most, as JavaScript's numbers would show more.
 */
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
 * As nearly all write it, which V8 reads by itself; of later days it takes some that months do not
 * have.
 */
const USUAL = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.(\d{3})(\d{0,6}))?Z$/;

function timeOfIso(text: string): ProducerTime | null {
  const usual = USUAL.exec(text);
  const usual_ms = usual === null ? NaN : Date.parse(text);
  if (usual !== null && !Number.isNaN(usual_ms)) return { ms: usual_ms, ns: Number((usual[2] ?? "").padEnd(6, "0")) };
  const fraction = FRACTION.exec(text)?.[1] ?? "";
  // What is finer than the nine places that dates are read with says nothing here.
  const date = readDate(fraction.length > 9 ? text.replace(fraction, fraction.slice(0, 9)) : text, UTC);
  if (date.kind === "fault") return null;
  const ms = date.kind === "day" ? date.start : date.at;
  return withinDates({ ms, ns: Number(fraction.slice(3, 9).padEnd(6, "0")) });
}

function withinDates(time: ProducerTime): ProducerTime | null {
  return Math.abs(time.ms) <= LAST_MS ? time : null;
}
