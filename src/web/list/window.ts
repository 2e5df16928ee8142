import type { Heights } from "./heights.ts";

/** Rows from one index to another, the second not included. */
export type Span = { readonly from: number; readonly to: number };

export const NOTHING: Span = Object.freeze({ from: 0, to: 0 });

/** Most rows that are elements at a time, those kept for their selection or focus included. */
export const MAX_ROWS = 480;
/** Rows beyond either edge, so that a scroll by wheel finds them drawn. */
const OVERSCAN = 16;
/** The window moves where fewer rows than these are left beyond an edge. */
const LEAST = 5;

/** The rows that are seen, also in part. */
export function visibleRows(heights: Heights, top: number, viewport: number): Span {
  if (heights.length === 0 || viewport <= 0) return NOTHING;
  return { from: heights.indexAt(top), to: heights.indexAt(top + viewport - 1) + 1 };
}

/** The rows to be drawn: those drawn now, for as long as they reach beyond what is seen. */
export function windowOf(seen: Span, drawn: Span, length: number): Span {
  const isEnough =
    drawn.to <= length &&
    drawn.from <= Math.max(0, seen.from - LEAST) &&
    drawn.to >= Math.min(length, seen.to + LEAST) &&
    drawn.to - drawn.from <= seen.to - seen.from + 4 * OVERSCAN;
  if (isEnough) return drawn;
  // The beginning of a new list is waited for: it has no more rows than it must.
  const beyond = drawn.to === 0 && seen.from === 0 ? LEAST : OVERSCAN;
  const from = Math.max(0, seen.from - beyond);
  return { from, to: Math.min(length, seen.to + beyond, from + MAX_ROWS) };
}
