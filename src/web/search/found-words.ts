import type { Clauses } from "../../query/syntax.ts";
import { countOf, formatNumber } from "../parts/numbers.ts";

/** How many events a query finds, and which of them its TAKE and SKIP let through. */
export type Found = { readonly all: number } & Part;

/** null: no TAKE. */
type Part = { readonly take: number | null; readonly skip: number };

/** The part of its events that a query asks for. */
export function partOf({ take, skip }: Clauses): Part {
  return { take: take?.value ?? null, skip: skip?.value ?? 0 };
}

/** How many events the list and the export have. */
export function shownOf({ all, take, skip }: Found): number {
  return Math.min(Math.max(0, all - skip), take ?? Infinity);
}

/** `12,480 events`, or where the query asks for a part of them `First 50 of 12,480 events`. */
export function foundWords(found: Found): string {
  const { all, skip } = found;
  const shown = shownOf(found);
  if (shown === all) return countOf(all, "event");
  if (shown === 0) return `None of ${countOf(all, "event")}`;
  if (skip === 0) return `First ${formatNumber(shown)} of ${countOf(all, "event")}`;
  if (shown === 1) return `Event ${formatNumber(skip + 1)} of ${formatNumber(all)}`;
  return `Events ${formatNumber(skip + 1)} to ${formatNumber(skip + shown)} of ${formatNumber(all)}`;
}
