/** 1, 2 or 5 times a power of ten, no less than a positive number; the largest number has none above it. */
export function roundUp(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number));
  return Math.min(Number.MAX_VALUE, power * ([1, 2, 5].find((factor) => factor * power >= number) ?? 10));
}

/** A text of at most so many characters, with `…` for what is left out. */
export function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** The same with its beginning and its end: names of a kind often differ at the end. */
export function shortenMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = Math.ceil((2 * (most - 1)) / 3);
  return `${text.slice(0, most - 1 - end)}…${text.slice(-end)}`;
}

/** `1 event`, `12,480 events`. */
export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatNumber(count)} ${count === 1 ? noun : plural}`;
}

/** From here on digits say little: they fill a column and are not exact. */
const LARGE = 1e15;
/** What is nearer to 0 would be rounded to it. */
const SMALL = 0.0005;

/**
 * `12,480` or `0.125`: thousands apart, at most three decimals; `1.0e300` from 15 digits on. The
 * browser's own formats take long to load.
 */
export function formatNumber(number: number): string {
  if (Math.abs(number) >= LARGE) return powerOfTen(number, 1);
  const [whole = "", ...fraction] = String(Math.round(number * 1000) / 1000).split(".");
  return [whole.replace(/\B(?=(?:\d{3})+$)/g, ","), ...fraction].join(".");
}

/** A number that was measured: the same, but small ones are not 0. */
export function formatMeasure(number: number): string {
  return number !== 0 && Math.abs(number) < SMALL ? powerOfTen(number, 1) : formatNumber(number);
}

/** A bound without separators, as it is typed, exact also where it is large: `1000`, `2e299`. */
export function formatBound(number: number): string {
  return Math.abs(number) >= LARGE ? powerOfTen(number) : String(number);
}

function powerOfTen(number: number, digits?: number): string {
  return number.toExponential(digits).replace("e+", "e");
}
