import { LEVELS } from "../../../events/level.ts";
import type { Level } from "../../../events/level.ts";
import { DAY_MS } from "../../../query/calendar.ts";
import { eventsQuery, queryWithin } from "../query/groups.ts";
import type { GroupRecord } from "../query/groups.ts";
import { writeField } from "../query/print.ts";
import type { Moments } from "../query/range.ts";
import { barsOfRange } from "../query/steps.ts";
import type { Bar, QueryStep } from "../query/steps.ts";
import type { Formats } from "../time/moments.ts";

/** What the heights of bars show: the number of events, or an aggregate of a numeric field. */
export type Measure =
  | { readonly kind: "count"; /** Whether bars are not split by class. */ readonly isWhole?: boolean }
  | { readonly kind: Figure; readonly field: string };
export type Figure = "avg" | "min" | "max";

/** Events of one class, or without one and of one level; "" is none. */
export type PartKey = { readonly class: string; readonly level: Level };
export type ColumnPart = PartKey & { readonly count: number };

/** A bar with its values. `parts` are its events by class, heaviest first, then by level. */
export type HistogramColumn = Bar & {
  /** Number of events, or the aggregate; null if there is none. */
  readonly height: number | null;
  readonly parts: readonly ColumnPart[];
};

/** The levels that events without a class are counted by, the most severe first. */
const COUNTED_LEVELS = LEVELS.slice(1).toReversed();
const LEVEL_COUNTS = COUNTED_LEVELS.map((level) => `COUNT(level = '${level}') AS ${level}`).join(", ");

/** Returns the query whose groups are the bars; null if the query has a fault. */
export function barsQuery(
  text: string,
  moments: Moments,
  zone: string,
  step: QueryStep,
  measure: Measure,
): string | null {
  const events = eventsQuery(text);
  if (events === null) return null;
  const isCount = measure.kind === "count";
  const isSplit = isCount && measure.isWhole !== true;
  const counts = isSplit ? `COUNT, ${LEVEL_COUNTS}` : "COUNT";
  const shown = isCount ? counts : figureColumns(measure.kind, writeField(measure.field));
  return queryWithin(
    events,
    [
      ["groupBy", isSplit ? `GROUPBY ${step.key}, class` : `GROUPBY ${step.key}`],
      ["columns", `COLUMNS(KEY, ${shown})`],
    ],
    moments,
    zone,
  );
}

/** An aggregate is "0" without numbers, so they are counted beside it. */
function figureColumns(kind: string, field: string): string {
  return `COUNT(${field} >= 0 OR ${field} < 0) AS numbers, ${kind.toUpperCase()}(${field}) AS height`;
}

/** Returns the columns of a range, including empty ones. */
export function columnsOfRange(
  records: readonly GroupRecord[],
  step: QueryStep,
  moments: Moments,
  zone: string,
  weights: readonly string[],
  measure: Measure["kind"] = "count",
): readonly HistogramColumn[] {
  const byKey = Map.groupBy(records, ({ key }) => key);
  return barsOfRange(step, moments, zone).map((bar) => {
    const ofBar = byKey.get(bar.key) ?? [];
    return measure === "count" ? columnOfClasses(bar, ofBar, weights) : columnOfFigure(bar, ofBar[0]);
  });
}

function columnOfFigure(bar: Bar, record: GroupRecord | undefined): HistogramColumn {
  const numbers = Number(record?.["numbers"] ?? 0);
  return { ...bar, height: numbers === 0 ? null : Number(record?.["height"]), parts: [] };
}

function columnOfClasses(bar: Bar, records: readonly GroupRecord[], weights: readonly string[]): HistogramColumn {
  const parts = records.flatMap(partsOfRecord).toSorted((one, other) => rankOf(one, weights) - rankOf(other, weights));
  return { ...bar, height: parts.reduce((sum, { count }) => sum + count, 0), parts };
}

/** Returns the parts of a record: one of its class, or of no class one for each level. */
function partsOfRecord({ keys, ...record }: GroupRecord): readonly ColumnPart[] {
  const key = keys?.[1] ?? "";
  const all = Number(record["count"]);
  if (key !== "") return [{ class: key, level: "", count: all }];
  const parts = COUNTED_LEVELS.map((level) => ({ class: "", level, count: Number(record[level] ?? 0) }));
  const rest = parts.reduce((left, { count }) => left - count, all);
  return [...parts, { class: "", level: "" as const, count: rest }].filter(({ count }) => count > 0);
}

/** Returns a part's rank from the axis up: classes, then levels; events without either on top. */
function rankOf({ class: key, level }: PartKey, weights: readonly string[]): number {
  if (key === "") return Number.MAX_SAFE_INTEGER - LEVELS.indexOf(level);
  const rank = weights.indexOf(key);
  return rank < 0 ? weights.length : rank;
}

/** Returns the classes and levels of all columns in the order of their parts. */
export function partKeysOfColumns(columns: readonly HistogramColumn[], weights: readonly string[]): readonly PartKey[] {
  const keys = new Map(columns.flatMap(({ parts }) => parts.map((part) => [`${part.class} ${part.level}`, part])));
  return [...keys.values()].toSorted((one, other) => rankOf(one, weights) - rankOf(other, weights));
}

/** Returns the attributes that colour a part. */
export function partColor({ class: key, level }: PartKey): Readonly<Record<`data-${string}`, string | undefined>> {
  return { "data-class": key || undefined, "data-level": level || undefined };
}

/** Names a part: by its class, else by its level. */
export function partName({ class: key, level }: PartKey, nameOf: (key: string) => string): string {
  if (key !== "") return nameOf(key);
  return level === "" ? "No class" : level;
}

/** Returns the bounds of the axis, which include 0. */
export function axisScale(columns: readonly HistogramColumn[]): { readonly low: number; readonly high: number } {
  const heights = columns.map(({ height }) => height ?? 0);
  const high = Math.max(0, ...heights);
  return { low: Math.min(0, ...heights), high: high === 0 ? 1 : high };
}

/** Intervals between labels of the axis, in seconds of the clock. */
const LABEL_STEPS = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 14_400, 21_600, 43_200, 86_400];

/**
 * Returns the columns that are labelled under the axis: at round times, at most `most`.
 * @param clock formats a moment as `14:03` or `14:03:15` in the zone
 */
export function labelled(
  columns: readonly HistogramColumn[],
  clock: (moment: number) => string,
  most = 8,
): readonly number[] {
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
 * Formats a bar's span: `24 Nov 13:45 to 14:00`, or `24 Nov 2026 to 25 Nov 2026` for days and more.
 * At a clock change the end has its offset, and so does the start of a repeated time.
 */
export function spanText({ key, from, to }: Bar, { day, date, short, clock, whole }: Formats): string {
  if (to - from >= DAY_MS) return `${date(from)} to ${date(to)}`;
  const [before, after] = [from, to].map((moment) => whole(moment).slice(-7));
  const end = (day(from) === day(to) ? clock : short)(to);
  return `${short(from)}${/ [+-]\S+$/.exec(key)?.[0] ?? ""} to ${end}${before === after ? "" : after}`;
}
