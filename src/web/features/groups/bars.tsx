import type { JSX } from "preact";

import { formatMeasure, shortenMiddle } from "../../parts/text/numbers.ts";
import { Axis, AXIS_BOTTOM, AXIS_LEFT, axisEnd, axisY } from "../../parts/groups/axis.tsx";
import type { GroupRow } from "../../parts/groups/model.ts";

export const MOST_BARS = 24;
const LONGEST_NAME = 24;

/** Draws the first groups side by side. The table below contains the numbers. */
export function BarChart(properties: {
  readonly rows: readonly GroupRow[];
  readonly column: string;
  readonly nameOf: (row: GroupRow) => string;
  readonly classOf: (row: GroupRow) => string | undefined;
  readonly at: number;
  readonly label: string;
}): JSX.Element {
  const { rows, column, nameOf, classOf, at, label } = properties;
  const shown = rows.slice(0, MOST_BARS);
  const figures = shown.map(({ values }) => Number(values[column]));
  const high = axisEnd(figures);
  const width = 100 / Math.max(1, shown.length);
  // Names of many bars use two rows, which doubles the room for each.
  const nameRows = shown.length > 8 ? 2 : 1;
  const room = Math.min(LONGEST_NAME, Math.floor((130 * nameRows) / shown.length));
  // A small screen has room for some names only.
  const every = Math.ceil(shown.length / 4);
  return (
    <svg class="lines" role="img" aria-label={label}>
      <Axis high={high} />
      <svg x={AXIS_LEFT} width="91%" height="208" overflow="visible">
        {shown.map((row, index) => {
          const figure = figures[index] ?? 0;
          const y = axisY(figure, high);
          return (
            <>
              <rect
                class={index === at ? "bar at" : "bar"}
                data-class={classOf(row)}
                x={`${index * width + width * 0.1}%`}
                width={`${width * 0.8}%`}
                y={y}
                height={Math.max(1, AXIS_BOTTOM - y)}
              >
                <title>{`${nameOf(row)}: ${formatMeasure(figure)}`}</title>
              </rect>
              <text
                x={`${index * width + width / 2}%`}
                y={194 + (index % nameRows) * 13}
                text-anchor="middle"
                class={index === at ? "at" : index % every > 0 ? "minor" : undefined}
              >
                {shortenMiddle(nameOf(row), room)}
              </text>
            </>
          );
        })}
      </svg>
    </svg>
  );
}
