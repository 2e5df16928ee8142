import { DAY_MS, HOUR_MS } from "../../../query/calendar.ts";
import { readQuery } from "../../parts/query/compose.ts";
import { PRESETS, exactRange, hasOwnRange, resolveRange } from "../../parts/query/range.ts";
import type { WrittenRange } from "../../parts/query/range.ts";
import type { Run } from "../search.ts";

export type NamedRange = { readonly name: string; readonly range: WrittenRange };

const LENGTHS = [
  [7 * DAY_MS, "7 days", "-7d"],
  [DAY_MS, "24 hours", "-24h"],
  [HOUR_MS, "hour", "-1h"],
] as const;

/** Returns a shorter range with the same end; null if the query has its own or none is shorter. */
export function shorterRange(
  { typed, moments }: Pick<Run, "typed" | "moments">,
  chosen: WrittenRange,
): NamedRange | null {
  const parsed = readQuery(typed);
  if (parsed === null || hasOwnRange(parsed)) return null;
  const { from, to } = moments;
  const found = LENGTHS.find(([length_ms]) => 2 * length_ms <= to - from);
  if (found === undefined) return null;
  const [length_ms, words, start] = found;
  return chosen.to === "now"
    ? { name: `Last ${words}`, range: { from: start, to: "now" } }
    : { name: `Its last ${words}`, range: exactRange({ from: to - length_ms, to }) };
}

/** Returns the shortest named range with an event; null if the run's has it, or none does. */
export function longerRange(
  moment: number,
  { moments, zone }: Pick<Run, "moments" | "zone">,
  now_ms = Date.now(),
): NamedRange | null {
  if (moment >= moments.from && moment < moments.to) return null;
  const found = PRESETS.find(({ range }) => {
    const { from, to } = resolveRange(range, zone, now_ms);
    const isUntilNow = range.from.startsWith("-") || range.from === "all";
    return isUntilNow && moment >= from && moment < to;
  });
  return found ?? null;
}
