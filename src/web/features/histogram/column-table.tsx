import type { JSX } from "preact";

import type { Moments } from "../../parts/query/range.ts";
import { formatNumber } from "../../parts/text/numbers.ts";
import type { Formats } from "../../parts/time/moments.ts";
import { partName, spanText } from "../../parts/histogram/bars.ts";
import type { HistogramColumn, PartKey } from "../../parts/histogram/bars.ts";
import "../../css/tables.css";

export type ColumnTableProperties = {
  readonly columns: readonly HistogramColumn[];
  readonly formats: Formats;
  readonly measure: string;
  /** Classes and levels with a column each, heaviest first. */
  readonly parts: readonly PartKey[];
  readonly nameOf: (key: string) => string;
  readonly narrow: (moments: Moments) => void;
};

/** The bars as a table, for reading numbers and for screen readers. */
export function ColumnTable({ columns, formats, measure, parts, nameOf, narrow }: ColumnTableProperties): JSX.Element {
  return (
    <div class="column-table" tabIndex={0} role="region" aria-label="Events over time, as a table">
      <table class="table tight">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col" class="num">
              {measure}
            </th>
            {parts.map((part) => (
              <th key={`${part.class} ${part.level}`} scope="col" class="num">
                {partName(part, nameOf)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {columns.map((column) => (
            <tr key={column.key}>
              <td>
                <button class="link" type="button" onClick={() => narrow({ from: column.from, to: column.to })}>
                  {spanText(column, formats)}
                </button>
              </td>
              <td class="num">{column.height === null ? "none" : formatNumber(column.height)}</td>
              {parts.map(({ class: key, level }) => (
                <td key={`${key} ${level}`} class="num">
                  {formatNumber(column.parts.find((part) => part.class === key && part.level === level)?.count ?? 0)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
