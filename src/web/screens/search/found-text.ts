import type { Clauses } from "../../../query/syntax.ts";
import { countWithNoun, formatNumber } from "../../parts/text/numbers.ts";

/** Number of events that a query matches, with its TAKE and SKIP. */
export type FoundCount = { readonly all: number } & Part;

/** `take` is null without TAKE. */
type Part = { readonly take: number | null; readonly skip: number };

/** Returns the part of the events that a query requests. */
export function requestedPart({ take, skip }: Clauses): Part {
  return { take: take?.value ?? null, skip: skip?.value ?? 0 };
}

/** Returns how many events the list and the export contain. */
export function shownCount({ all, take, skip }: FoundCount): number {
  return Math.min(Math.max(0, all - skip), take ?? Infinity);
}

/** Formats `12,480 events`, or `First 50 of 12,480 events` if the query limits them. */
export function foundText(found: FoundCount): string {
  const { all, skip } = found;
  const shown = shownCount(found);
  if (shown === all) return countWithNoun(all, "event");
  if (shown === 0) return `None of ${countWithNoun(all, "event")}`;
  if (skip === 0) return `First ${formatNumber(shown)} of ${countWithNoun(all, "event")}`;
  if (shown === 1) return `Event ${formatNumber(skip + 1)} of ${formatNumber(all)}`;
  return `Events ${formatNumber(skip + 1)} to ${formatNumber(skip + shown)} of ${formatNumber(all)}`;
}
