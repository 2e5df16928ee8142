import type { JSX } from "preact";

import { formatNumber } from "../text/numbers.ts";
import type { Formats } from "../time/moments.ts";
import { partColor, partName, spanText } from "./bars.ts";
import type { HistogramColumn } from "./bars.ts";

/** Tooltip with the values of a column. Screen readers hear the column's label instead. */
export function Tip(properties: {
  readonly column: HistogramColumn;
  /** Whether the columns show numbers of events, rather than values of a field. */
  readonly isCount: boolean;
  readonly formats: Formats;
  readonly nameOf: (key: string) => string;
  /** Whether the column is in the later half, which the tip must not cover. */
  readonly isLate: boolean;
}): JSX.Element {
  const { column, isCount, formats, nameOf, isLate } = properties;
  const { height, parts } = column;
  return (
    <div class={isLate ? "pop tip start" : "pop tip"} aria-hidden="true">
      <p>{spanText(column, formats)}</p>
      <dl>
        {parts.map((part) => (
          <div {...partColor(part)}>
            <span class="sw" />
            <dt>{partName(part, nameOf)}</dt>
            <dd>{formatNumber(part.count)}</dd>
          </div>
        ))}
        <div>
          <span />
          <dt>{parts.length > 0 ? "All" : isCount ? "Events" : "Value"}</dt>
          <dd>{height === null ? "none" : formatNumber(height)}</dd>
        </div>
      </dl>
    </div>
  );
}
