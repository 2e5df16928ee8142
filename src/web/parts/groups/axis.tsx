import type { JSX } from "preact";

import { formatBound, roundUp } from "../text/numbers.ts";

/** Upper and lower edge of a chart's plot. */
export const AXIS_TOP = 8;
export const AXIS_BOTTOM = 176;
/** Left edge of the plot, after the axis labels. */
export const AXIS_LEFT = 36;

/** Returns the end of an axis for these values; its half is a round number too. */
export function axisEnd(figures: readonly number[]): number {
  const most = Math.max(0, ...figures.filter(Number.isFinite)) || 1;
  return Math.min(roundUp(most), 2 * roundUp(most / 2));
}

/** Returns the vertical position of a value in the plot. */
export function axisY(figure: number, high: number): number {
  return AXIS_BOTTOM - (Math.max(0, figure || 0) / high) * (AXIS_BOTTOM - AXIS_TOP);
}

/** Draws the axis labels at the left of a chart, and a line for each. */
export function Axis({ high }: { readonly high: number }): JSX.Element {
  return (
    <>
      {[0, 0.5, 1].map((part) => (
        <>
          <line class="grid" x1={AXIS_LEFT} x2="100%" y1={axisY(high * part, high)} y2={axisY(high * part, high)} />
          <text x={AXIS_LEFT - 8} y={axisY(high * part, high) + 4} text-anchor="end">
            {axisText(high * part)}
          </text>
        </>
      ))}
    </>
  );
}

/** Formats an axis label, which has room for about five characters. */
function axisText(number: number): string {
  return number < 1e15 && (number === 0 || number >= 0.05)
    ? number.toLocaleString("en", { maximumFractionDigits: 1, notation: "compact" })
    : formatBound(number);
}
