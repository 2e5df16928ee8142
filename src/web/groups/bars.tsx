import type { JSX } from "preact";

import { shorten } from "../parts/numbers.ts";
import type { GroupRow } from "./model.ts";

const BOTTOM = 176;
const TOP = 8;
const MOST_BARS = 24;

/** The largest groups beside each other. The table below it holds the numbers. */
export function Bars(properties: {
  readonly rows: readonly GroupRow[];
  readonly column: string;
  readonly nameOf: (row: GroupRow) => string;
  readonly classOf: (row: GroupRow) => string | undefined;
  readonly at: number;
  readonly label: string;
}): JSX.Element {
  const { rows, column, nameOf, classOf, at, label } = properties;
  const shown = rows.slice(0, MOST_BARS);
  const high = Math.max(1, ...shown.map(({ values }) => Number(values[column])));
  const width = 100 / Math.max(1, shown.length);
  // As much of a name as has room under its bar.
  const room = Math.max(3, Math.floor(150 / shown.length));
  return (
    <figure class="chart">
      <svg class="lines" role="img" aria-label={label}>
        <line class="grid" x1="0" x2="100%" y1={BOTTOM} y2={BOTTOM} />
        {shown.map((row, index) => {
          const height = (Math.max(0, Number(row.values[column])) / high) * (BOTTOM - TOP);
          return (
            <>
              <rect
                class={index === at ? "bar at" : "bar"}
                data-class={classOf(row)}
                x={`${index * width + width * 0.1}%`}
                width={`${width * 0.8}%`}
                y={BOTTOM - height}
                height={Math.max(1, height)}
              />
              <text
                x={`${index * width + width / 2}%`}
                y="194"
                text-anchor="middle"
                class={index === at ? "at" : undefined}
              >
                {shorten(nameOf(row), room)}
              </text>
            </>
          );
        })}
      </svg>
    </figure>
  );
}
