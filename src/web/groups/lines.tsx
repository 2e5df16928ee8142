import type { JSX } from "preact";

import { DAY_MS } from "../../query/calendar.ts";
import type { Moments } from "../ask/range.ts";
import { formatBound, roundUp, shorten } from "../parts/numbers.ts";
import type { Formats } from "../time/moments.ts";
import { valuesAt } from "./model.ts";
import type { GroupRow } from "./model.ts";

const TOP = 8;
const BOTTOM = 176;
const WIDTH = 1000;
/** More lines cannot be told apart. */
const MOST_LINES = 8;
const LABEL_HEIGHT = 15;

export type ChartProperties = {
  readonly rows: readonly GroupRow[];
  readonly times: readonly Moments[];
  readonly formats: Formats;
  readonly nameOf: (row: GroupRow) => string;
  /** The class that a row is of, whose colour it has. */
  readonly classOf: (row: GroupRow) => string | undefined;
  /** The row that is pointed at; -1: none. */
  readonly at: number;
  readonly label: string;
};

/** The course of the largest groups over time. The table below it holds the numbers. */
export function Lines({ rows, times, formats, nameOf, classOf, at, label }: ChartProperties): JSX.Element {
  const shown = rows.slice(0, MOST_LINES);
  const lines = shown.map((row) => ({ row, values: valuesAt(row, times) }));
  const most = Math.max(1, ...lines.flatMap(({ values }) => values));
  // The half of it is a round number too.
  const high = Math.min(roundUp(most), 2 * roundUp(most / 2));
  const x = (index: number) => (times.length < 2 ? 0 : (index / (times.length - 1)) * WIDTH);
  const y = (value: number) => BOTTOM - (Math.max(0, value) / high) * (BOTTOM - TOP);
  const path = (values: readonly number[]) => pathOf(values.map((value, index) => [x(index), y(value)] as const));
  const ends = spread(lines.map(({ values }) => y(values.at(-1) ?? 0)));
  const isLong = times.length > 1 && times.at(-1)!.from - times[0]!.from > 2 * DAY_MS;
  const every = Math.max(1, Math.ceil(times.length / 7));
  return (
    <figure class="chart">
      <svg class="lines" role="img" aria-label={label}>
        {[0, 0.5, 1].map((part) => (
          <>
            <line class="grid" x1="36" x2="100%" y1={y(high * part)} y2={y(high * part)} />
            <text x="28" y={y(high * part) + 4} text-anchor="end">
              {axisWords(high * part)}
            </text>
          </>
        ))}
        <svg
          x="36"
          width="84%"
          height={BOTTOM}
          viewBox={`0 0 ${WIDTH} ${BOTTOM}`}
          preserveAspectRatio="none"
          overflow="visible"
        >
          {lines.map(({ row, values }, index) => (
            <path class={index === at ? "l at" : "l"} data-class={classOf(row)} d={path(values)} />
          ))}
        </svg>
        <svg x="36" width="84%" height="208" overflow="visible">
          {lines.map(({ row }, index) => (
            <text
              x="100%"
              dx="10"
              y={(ends[index] ?? 0) + 4}
              class={index === at ? "name at" : "name"}
              data-class={classOf(row)}
            >
              {shorten(nameOf(row), LONGEST_LABEL)}
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
    </figure>
  );
}

/** The axis has room for five characters or so. */
function axisWords(number: number): string {
  return number < 1e15 && (number === 0 || number >= 0.05)
    ? number.toLocaleString("en", { maximumFractionDigits: 1, notation: "compact" })
    : formatBound(number);
}

/** Labels beside the ends of lines, moved apart so that each can be read; in the order of the lines. */
function spread(ends: readonly number[]): readonly number[] {
  const order = ends.map((end, index) => ({ end, index })).toSorted((one, other) => one.end - other.end);
  const placed = order.map(({ end }) => end);
  for (let at = 1; at < placed.length; at += 1) placed[at] = Math.max(placed[at]!, placed[at - 1]! + LABEL_HEIGHT);
  // Those that were moved below the axis move up again, and those above them as far as they must.
  for (let at = placed.length - 1; at >= 0; at -= 1)
    placed[at] = Math.min(placed[at]!, at === placed.length - 1 ? BOTTOM : placed[at + 1]! - LABEL_HEIGHT);
  const byLine: number[] = [];
  order.forEach(({ index }, at) => (byLine[index] = placed[at]!));
  return byLine;
}

const LONGEST_LABEL = 18;

/** A line through points. */
function pathOf(points: readonly (readonly [x: number, y: number])[]): string {
  return points.map(([x, y], index) => `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** A small course of one group, in its row of the table. */
export function Spark({ row, times }: { row: GroupRow; times: readonly Moments[] }): JSX.Element {
  const values = valuesAt(row, times);
  const high = Math.max(1, ...values);
  const width = times.length < 2 ? 0 : 120 / (times.length - 1);
  return (
    <svg class="spark" viewBox="0 0 120 20" preserveAspectRatio="none" aria-hidden="true">
      <path d={pathOf(values.map((value, index) => [index * width, 18 - (value / high) * 16] as const))} />
    </svg>
  );
}
