import type { JSX } from "preact";

import type { Moments } from "../ask/range.ts";
import { formatNumber } from "../parts/numbers.ts";
import type { Formats } from "../time/moments.ts";
import { spanText } from "./bars.ts";
import type { Column } from "./bars.ts";
import "../css/tables.css";

export type ColumnTableProperties = {
  readonly columns: readonly Column[];
  readonly formats: Formats;
  readonly measure: string;
  /** Classes with a column each, heaviest first; "" is none. */
  readonly classes: readonly string[];
  readonly nameOf: (key: string) => string;
  readonly narrow: (moments: Moments) => void;
};

/** The bars as a table, for reading numbers and for screen readers. */
export function ColumnTable({
  columns,
  formats,
  measure,
  classes,
  nameOf,
  narrow,
}: ColumnTableProperties): JSX.Element {
  return (
    <div class="column-table" tabIndex={0} role="region" aria-label="Events over time, as a table">
      <table class="table tight">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col" class="num">
              {measure}
            </th>
            {classes.map((key) => (
              <th key={key} scope="col" class="num">
                {key === "" ? "No class" : nameOf(key)}
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
              {classes.map((key) => (
                <td key={key} class="num">
                  {formatNumber(column.parts.find((part) => part.class === key)?.count ?? 0)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
