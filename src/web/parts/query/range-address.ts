import { isSameRange, momentOfEnd } from "./range.ts";
import type { WrittenRange } from "./range.ts";

/** The range of an address without one. */
export const STANDARD_RANGE: WrittenRange = { from: "-24h", to: "now" };

/** The parameters of an address that hold a range. */
export const RANGE_PARAMETERS = ["t", "from", "to"] as const;
type Written = Partial<Record<(typeof RANGE_PARAMETERS)[number], string>>;

const YESTERDAY: WrittenRange = { from: "today-1d", to: "today" };

/**
 * Parses the range of an address: `t=24h`, `t=today` and the like for ranges that end now, else
 * `from` and `to`, each a moment in milliseconds or an end of {@link WrittenRange}.
 */
export function readRange(parameters: ReadonlyMap<string, string>): WrittenRange {
  const t = parameters.get("t");
  if (t === "yesterday") return YESTERDAY;
  if (t !== undefined) {
    const from = /^\d+[mhdwM]$/.test(t) ? `-${t}` : t;
    return momentOfEnd(from, "UTC", 0) === null ? STANDARD_RANGE : { from, to: STANDARD_RANGE.to };
  }
  return { from: parameters.get("from") ?? STANDARD_RANGE.from, to: parameters.get("to") ?? STANDARD_RANGE.to };
}

/** Writes a range as {@link readRange} parses it; empty for the standard range. */
export function writeRange(range: WrittenRange): Written {
  if (isSameRange(range, STANDARD_RANGE)) return {};
  if (isSameRange(range, YESTERDAY)) return { t: "yesterday" };
  const isFromMoment = /^-?\d+$/.test(range.from);
  if (range.to !== STANDARD_RANGE.to || isFromMoment) return { from: range.from, to: range.to };
  return { t: /^(?:now)?-(?<length>\d+[mhdwM])$/.exec(range.from)?.groups?.["length"] ?? range.from };
}
