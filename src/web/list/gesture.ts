/** Where a press of the pointer began. */
export type Press = { readonly x: number; readonly y: number; readonly time_ms: number };

/** What of the pointer and the selection decides over a click. */
export type Release = {
  readonly x: number;
  readonly y: number;
  readonly button: number;
  /** How often it was clicked in a row: a double click selects a word. */
  readonly clicks: number;
  /** Whether text is selected now, in the list. */
  readonly isSelecting: boolean;
  /** Whether text was selected in the list when the press began: this click takes that selection away. */
  readonly wasSelecting: boolean;
  readonly hasModifier: boolean;
};

/** A hand that trembles moves so far without meaning to. */
const SLACK = 4;

/**
 * Whether a click opens or closes its row. It does so only where it means nothing else: text that was
 * selected, or whose selection it ends, is neither opened nor closed.
 */
export function togglesRow(press: Press | null, release: Release): boolean {
  if (press === null || release.button !== 0 || release.hasModifier) return false;
  if (Math.hypot(release.x - press.x, release.y - press.y) > SLACK) return false;
  return release.clicks < 2 && !release.isSelecting && !release.wasSelecting;
}

/** Whether a click is the second of two that select a word, so that what the first one did is taken back. */
export function isSecondOfTwo({ button, clicks, isSelecting }: Release): boolean {
  return button === 0 && clicks === 2 && isSelecting;
}
