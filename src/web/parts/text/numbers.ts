/** Rounds a positive number up to 1, 2 or 5 times a power of ten, at most to `Number.MAX_VALUE`. */
export function roundUp(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number));
  return Math.min(Number.MAX_VALUE, power * ([1, 2, 5].find((factor) => factor * power >= number) ?? 10));
}

/** Shortens a text to at most `most` characters, ending in `…`. */
export function shortenText(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** Shortens a text in the middle, since names of a kind often differ at the end. */
export function shortenMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = Math.ceil((2 * (most - 1)) / 3);
  return `${text.slice(0, most - 1 - end)}…${text.slice(-end)}`;
}

/** `1 event`, `12,480 events`. */
export function countWithNoun(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatNumber(count)} ${count === 1 ? noun : plural}`;
}

/** From here on numbers are written as powers of ten: digits fill a column and are inexact. */
const LARGE = 1e15;
/** Numbers nearer to 0 would be rounded to 0. */
const SMALL = 0.0005;

/**
 * Formats `12,480` or `0.125`: thousands separators, at most three decimals, `1.0e300` from 1e15
 * on. `Intl` is slow to load, so it is not used.
 */
export function formatNumber(number: number): string {
  if (Math.abs(number) >= LARGE) return powerOfTen(number, 1);
  const [whole = "", ...fraction] = String(Math.round(number * 1000) / 1000).split(".");
  return [whole.replace(/\B(?=(?:\d{3})+$)/g, ","), ...fraction].join(".");
}

/** Formats a measured number as {@link formatNumber} does, but small ones are not 0. */
export function formatMeasure(number: number): string {
  return number !== 0 && Math.abs(number) < SMALL ? powerOfTen(number, 1) : formatNumber(number);
}

/** Formats a bound as it is typed: without separators, exact also if large: `1000`, `2e299`. */
export function formatBound(number: number): string {
  return Math.abs(number) >= LARGE ? powerOfTen(number) : String(number);
}

function powerOfTen(number: number, digits?: number): string {
  return number.toExponential(digits).replace("e+", "e");
}
