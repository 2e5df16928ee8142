import type { Heights } from "./heights.ts";

/** Rows from one index to another, end exclusive. */
export type RowSpan = { readonly from: number; readonly to: number };

export const NO_ROWS: RowSpan = Object.freeze({ from: 0, to: 0 });

/** Most rows drawn at a time, besides those kept for their selection or focus. */
export const MAX_ROWS = 480;
/** Rows drawn beyond either edge, so that wheel scrolling finds them ready. */
const OVERSCAN = 16;
/** The window moves when fewer rows than this are drawn beyond an edge. */
const LEAST = 5;

/** Returns the rows that are visible, even partly. */
export function visibleRows(heights: Heights, top: number, viewport: number): RowSpan {
  if (heights.length === 0 || viewport <= 0) return NO_ROWS;
  return { from: heights.indexAt(top), to: heights.indexAt(top + viewport - 1) + 1 };
}

/** Returns the rows to draw: the current ones while they extend beyond the visible ones. */
export function rowsToDraw(seen: RowSpan, drawn: RowSpan, length: number): RowSpan {
  const isEnough =
    drawn.to <= length &&
    drawn.from <= Math.max(0, seen.from - LEAST) &&
    drawn.to >= Math.min(length, seen.to + LEAST) &&
    drawn.to - drawn.from <= seen.to - seen.from + 4 * OVERSCAN;
  if (isEnough) return drawn;
  // The start of a new list is urgent, so it draws no more rows than necessary.
  const beyond = drawn.to === 0 && seen.from === 0 ? LEAST : OVERSCAN;
  const from = Math.max(0, seen.from - beyond);
  return { from, to: Math.min(length, seen.to + beyond, from + MAX_ROWS) };
}
