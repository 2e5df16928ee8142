import { DAY_MS } from "../../query/calendar.ts";
import { eventsOf, within } from "../ask/groups.ts";
import type { GroupRecord } from "../ask/groups.ts";
import { writeField } from "../ask/print.ts";
import type { Moments } from "../ask/range.ts";
import { barsOf } from "../ask/steps.ts";
import type { Bar, Step } from "../ask/steps.ts";
import type { Formats } from "../time/moments.ts";

/** What the bars are as high as: the number of events, or a figure of a field that holds numbers. */
export type Measure =
  | { readonly kind: "count"; /** Whether bars are not split by class. */ readonly isWhole?: boolean }
  | { readonly kind: "avg" | "min" | "max"; readonly field: string };

/** A bar with what it shows. `parts` are the classes of its events, the heaviest first; "" is none. */
export type Column = Bar & {
  /** Its events, or the figure; null where no event of it has the field. */
  readonly height: number | null;
  readonly parts: readonly { readonly class: string; readonly count: number }[];
};

/** The query whose groups are the bars; null where the query has a fault. */
export function barsQuery(text: string, moments: Moments, zone: string, step: Step, measure: Measure): string | null {
  const events = eventsOf(text);
  if (events === null) return null;
  const isCount = measure.kind === "count";
  const shown = isCount ? "COUNT" : `${measure.kind.toUpperCase()}(${writeField(measure.field)}) AS height`;
  return within(
    events,
    [
      ["groupBy", isCount && measure.isWhole !== true ? `GROUPBY ${step.key}, class` : `GROUPBY ${step.key}`],
      ["columns", `COLUMNS(KEY, ${shown})`],
    ],
    moments,
    zone,
  );
}

/** The columns of a range, those without events included. */
export function columnsOf(
  records: readonly GroupRecord[],
  step: Step,
  moments: Moments,
  zone: string,
  weights: readonly string[],
): readonly Column[] {
  const byKey = Map.groupBy(records, ({ key }) => key);
  return barsOf(step, moments, zone).map((bar) => columnOf(bar, byKey.get(bar.key) ?? [], weights));
}

function columnOf(bar: Bar, records: readonly GroupRecord[], weights: readonly string[]): Column {
  const [figure] = records;
  if (figure !== undefined && "height" in figure) return { ...bar, height: Number(figure["height"]), parts: [] };
  const parts = records
    .map(({ keys, ...record }) => ({ class: keys?.[1] ?? "", count: Number(record["count"]) }))
    .toSorted((one, other) => rankOf(one.class, weights) - rankOf(other.class, weights));
  return { ...bar, height: parts.reduce((sum, { count }) => sum + count, 0), parts };
}

/** The place of a class from the axis up; events without one lie on top. */
function rankOf(key: string, weights: readonly string[]): number {
  if (key === "") return Number.MAX_SAFE_INTEGER;
  const rank = weights.indexOf(key);
  return rank < 0 ? weights.length : rank;
}

/** The classes of all columns in the order of their parts, the heaviest first; "" is none. */
export function classesOf(columns: readonly Column[], weights: readonly string[]): readonly string[] {
  const keys = [...new Set(columns.flatMap(({ parts }) => parts.map((part) => part.class)))];
  return keys.toSorted((one, other) => rankOf(one, weights) - rankOf(other, weights));
}

/** The least and the most that the axis shows; it begins at 0. */
export function scaleOf(columns: readonly Column[]): { readonly low: number; readonly high: number } {
  const heights = columns.map(({ height }) => height ?? 0);
  const high = Math.max(0, ...heights);
  return { low: Math.min(0, ...heights), high: high === 0 ? 1 : high };
}

/** Widths between two names under the axis, in seconds of the clock. */
const LABEL_STEPS = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 14_400, 21_600, 43_200, 86_400];

/**
 * Columns whose beginnings are named under the axis: at round times of the clock, at most `most`.
 * @param clock the time of a moment on the clock of the zone, `14:03` or `14:03:15`
 */
export function labelled(columns: readonly Column[], clock: (moment: number) => string, most = 8): readonly number[] {
  const seconds = columns.map(({ start }) => {
    const [hour = 0, minute = 0, second = 0] = clock(start).split(":").map(Number);
    return (hour * 60 + minute) * 60 + second;
  });
  for (const step of LABEL_STEPS) {
    const found = seconds.flatMap((second, index) => (second % step === 0 ? [index] : []));
    if (found.length > 1 && found.length <= most) return found;
  }
  const every = Math.max(1, Math.ceil(columns.length / most));
  return columns.flatMap((_, index) => (index % every === 0 ? [index] : []));
}

/**
 * `24 Nov 13:45 to 14:00`, of days and more `24 Nov 2026 to 25 Nov 2026`. Where the clock is set, the
 * end has its offset, and so has the beginning of what the clock shows again.
 */
export function spanWords({ key, from, to }: Bar, { day, date, short, clock, whole }: Formats): string {
  if (to - from >= DAY_MS) return `${date(from)} to ${date(to)}`;
  const [before, after] = [from, to].map((moment) => whole(moment).slice(-7));
  const end = (day(from) === day(to) ? clock : short)(to);
  return `${short(from)}${/ [+-]\S+$/.exec(key)?.[0] ?? ""} to ${end}${before === after ? "" : after}`;
}
