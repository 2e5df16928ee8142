import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../query/calendar.ts";

const LENGTHS = [
  [DAY_MS, "day"],
  [HOUR_MS, "hour"],
  [MINUTE_MS, "minute"],
  [1000, "second"],
] as const;

/** Formats a duration by its two largest units: `45 minutes`, `24 hours`, `2 days 3 hours`. */
export function lengthText(length_ms: number): string {
  const words: string[] = [];
  let rest = Math.round(length_ms / 1000) * 1000;
  // Less than two days are given in hours, which is clearer.
  for (const [unit, name] of LENGTHS) {
    const count = name === "day" && rest < 2 * DAY_MS ? 0 : Math.floor(rest / unit);
    rest -= count * unit;
    if (count > 0) words.push(`${count} ${name}${count === 1 ? "" : "s"}`);
    else if (words.length > 0) break;
    if (words.length === 2) break;
  }
  return words.join(" ") || `${Math.round(length_ms)} ms`;
}
