/** From inclusive, to exclusive, in milliseconds since the Unix epoch. */
export type Moments = { readonly from: number; readonly to: number };

/**
 * A range as it is chosen and stands in the address: each end is `now`, a step back from now
 * (`-15m`, `-24h`, `-7d`, `-4w`), or milliseconds since the Unix epoch.
 */
export type Range = { readonly from: string; readonly to: string };

const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** The two moments of a range. An end that can't be read is that of the last 24 hours. */
export function resolveRange({ from, to }: Range, _zone: string, now_ms: number): Moments {
  const end = momentOf(to, now_ms) ?? now_ms;
  const start = momentOf(from, now_ms) ?? end - 24 * 3_600_000;
  return start < end ? { from: start, to: end } : { from: end, to: start };
}

function momentOf(text: string, now_ms: number): number | null {
  if (text === "now") return now_ms;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const [, count, unit] = /^-(\d{1,6})([smhdw])$/.exec(text) ?? [];
  return unit === undefined ? null : now_ms - Number(count) * (UNITS_MS[unit] ?? 0);
}
