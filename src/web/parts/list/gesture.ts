/** Where and when a press of the pointer began. */
export type Press = { readonly x: number; readonly y: number; readonly time_ms: number };

/** Pointer and selection state that determines the effect of a click. */
export type Release = {
  readonly x: number;
  readonly y: number;
  readonly button: number;
  /** Number of consecutive clicks; a double click selects a word. */
  readonly clicks: number;
  /** Whether text in the list is selected now. */
  readonly isSelecting: boolean;
  /** Whether text in the list was selected at the press; the click clears that selection. */
  readonly wasSelecting: boolean;
  readonly hasModifier: boolean;
};

/** Longest movement in pixels that still counts as a click, for unsteady hands. */
const SLACK = 4;

/**
 * Reports whether a click opens or closes its row. A click that selects text or ends a selection
 * does neither.
 */
export function togglesRow(press: Press | null, release: Release): boolean {
  if (press === null || release.button !== 0 || release.hasModifier) return false;
  if (Math.hypot(release.x - press.x, release.y - press.y) > SLACK) return false;
  return release.clicks < 2 && !release.isSelecting && !release.wasSelecting;
}

/** Reports whether a click completes a double click on a word; the first click is then undone. */
export function isSecondOfTwo({ button, clicks, isSelecting }: Release): boolean {
  return button === 0 && clicks === 2 && isSelecting;
}
