import type { JSX } from "preact";

import { DAY_MS } from "../../../query/calendar.ts";
import type { Moments } from "../query/range.ts";
import { shortenMiddle } from "../text/numbers.ts";
import type { Formats } from "../time/moments.ts";
import { Axis, AXIS_BOTTOM, AXIS_LEFT, axisEnd, axisY } from "./axis.tsx";
import { valuesAt } from "./model.ts";
import type { GroupRow } from "./model.ts";

const WIDTH = 1000;
/** Most lines drawn; more can't be told apart. */
export const MOST_LINES = 8;
const LABEL_HEIGHT = 15;

export type ChartProperties = {
  readonly rows: readonly GroupRow[];
  readonly times: readonly Moments[];
  readonly formats: Formats;
  readonly nameOf: (row: GroupRow) => string;
  /** The class of a row, which determines its colour. */
  readonly classOf: (row: GroupRow) => string | undefined;
  /** The highlighted row; -1 for none. */
  readonly at: number;
  readonly label: string;
};

/** Draws the series of the largest groups. The table below contains the numbers. */
export function LineChart({ rows, times, formats, nameOf, classOf, at, label }: ChartProperties): JSX.Element {
  const shown = rows.slice(0, MOST_LINES);
  const lines = shown.map((row) => ({ row, values: valuesAt(row, times) }));
  const high = axisEnd(lines.flatMap(({ values }) => values));
  const x = (index: number) => (times.length < 2 ? 0 : (index / (times.length - 1)) * WIDTH);
  const y = (value: number) => axisY(value, high);
  const path = (values: readonly number[]) => pathOf(values.map((value, index) => [x(index), y(value)] as const));
  const ends = spread(lines.map(({ values }) => y(values.at(-1) ?? 0)));
  const isLong = times.length > 1 && times.at(-1)!.from - times[0]!.from > 2 * DAY_MS;
  const every = Math.max(1, Math.ceil(times.length / 7));
  return (
    <svg class="lines" role="img" aria-label={label}>
      <Axis high={high} />
      <svg
        x={AXIS_LEFT}
        width="84%"
        height={AXIS_BOTTOM}
        viewBox={`0 0 ${WIDTH} ${AXIS_BOTTOM}`}
        preserveAspectRatio="none"
        overflow="visible"
      >
        {lines.map(({ row, values }, index) => (
          <path class={index === at ? "l at" : "l"} data-class={classOf(row)} d={path(values)} />
        ))}
      </svg>
      <svg x={AXIS_LEFT} width="84%" height="208" overflow="visible">
        {lines.map(({ row }, index) => (
          <text
            x="100%"
            dx="10"
            y={(ends[index] ?? 0) + 4}
            class={index === at ? "name at" : "name"}
            data-class={classOf(row)}
          >
            {shortenMiddle(nameOf(row), LONGEST_LABEL)}
          </text>
        ))}
        {times.map(({ from }, index) =>
          index % every === 0 ? (
            <text
              class={index % (2 * every) === 0 ? undefined : "minor"}
              x={`${(x(index) / WIDTH) * 100}%`}
              y="194"
              text-anchor={index === 0 ? "start" : "middle"}
            >
              {isLong ? formats.day(from).replace(/^\S+ /, "") : formats.clock(from)}
            </text>
          ) : null,
        )}
      </svg>
    </svg>
  );
}

/** Returns label positions beside the ends of lines, moved apart to be readable, in line order. */
function spread(ends: readonly number[]): readonly number[] {
  const order = ends.map((end, index) => ({ end, index })).toSorted((one, other) => one.end - other.end);
  const placed = order.map(({ end }) => end);
  for (let at = 1; at < placed.length; at += 1) placed[at] = Math.max(placed[at]!, placed[at - 1]! + LABEL_HEIGHT);
  // Labels moved below the axis move up again, and push up those above them.
  for (let at = placed.length - 1; at >= 0; at -= 1)
    placed[at] = Math.min(placed[at]!, at === placed.length - 1 ? AXIS_BOTTOM : placed[at + 1]! - LABEL_HEIGHT);
  const byLine: number[] = [];
  order.forEach(({ index }, at) => (byLine[index] = placed[at]!));
  return byLine;
}

const LONGEST_LABEL = 18;

/** Returns the path through points. */
function pathOf(points: readonly (readonly [x: number, y: number])[]): string {
  return points.map(([x, y], index) => `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** Draws a small series of one group, in its row of the table. */
export function Sparkline({ row, times }: { row: GroupRow; times: readonly Moments[] }): JSX.Element {
  const values = valuesAt(row, times);
  const high = Math.max(1, ...values);
  const width = times.length < 2 ? 0 : 120 / (times.length - 1);
  return (
    <svg class="spark" viewBox="0 0 120 20" preserveAspectRatio="none" aria-hidden="true">
      <path d={pathOf(values.map((value, index) => [index * width, 18 - (value / high) * 16] as const))} />
    </svg>
  );
}
