import {
  DAY_MS,
  HOUR_MS,
  MINUTE_MS,
  keysOfPeriod,
  lengthOfGroup,
  momentOfKey,
  periodKeyFormat,
} from "../../../query/calendar.ts";
import type { Period, PeriodUnit } from "../../../query/plan.ts";
import { zoneAround } from "../time/zones.ts";
import type { Moments } from "./range.ts";

/** The width of bars: a time key of GROUPBY. */
export type QueryStep = {
  readonly unit: PeriodUnit;
  readonly count: number;
  /** As written in GROUPBY: `MINUTES(15)`, `DAY`. */
  readonly key: string;
  /** `15-min bars` */
  readonly name: string;
};

/** A bar and the group of the service that it shows. */
export type Bar = {
  /** The group's key, as the service writes it. */
  readonly key: string;
  /** The whole time of the group; the end is exclusive. */
  readonly start: number;
  readonly end: number;
  /** The part of that time within the range. */
  readonly from: number;
  readonly to: number;
};

/** Most bars drawn; narrower ones could not be told apart. */
const MOST_BARS = 120;
export const MONTH_MS = 30 * DAY_MS;

/** Steps by length. Each divides the next, or nearly so, so that bars halve or double. */
const STEPS: readonly (readonly [step: QueryStep, length_ms: number])[] = [
  ...[1, 2, 5, 10, 15, 30].map((n) => [step("seconds", n, `SECONDS(${n})`, `${n}-second bars`), n * 1000] as const),
  ...[1, 2, 3, 5, 10, 15, 30].map(
    (n) => [step("minutes", n, `MINUTES(${n})`, `${n}-min bars`), n * MINUTE_MS] as const,
  ),
  [step("hours", 1, "HOUR", "1-hour bars"), HOUR_MS],
  ...[2, 3, 4, 6, 12].map((n) => [step("hours", n, `HOURS(${n})`, `${n}-hour bars`), n * HOUR_MS] as const),
  [step("days", 1, "DAY", "1-day bars"), DAY_MS],
  ...[2, 3].map((n) => [step("days", n, `DAYS(${n})`, `${n}-day bars`), n * DAY_MS] as const),
  [step("weeks", 1, "WEEK", "1-week bars"), 7 * DAY_MS],
  [step("months", 1, "MONTH", "1-month bars"), MONTH_MS],
];

function step(unit: PeriodUnit, count: number, key: string, name: string): QueryStep {
  return { unit, count, key, name };
}

/** Returns the narrowest step that gives at most `MOST_BARS` bars. */
export function stepOfRange({ from, to }: Moments): QueryStep {
  const length_ms = to - from;
  const found = STEPS.find(([, step_ms]) => length_ms / step_ms <= MOST_BARS);
  if (found !== undefined) return found[0];
  const days = Math.ceil(length_ms / DAY_MS / MOST_BARS);
  return step("days", days, `DAYS(${days})`, `${days}-day bars`);
}

/** Returns the step `by` places wider or narrower. */
export function stepBeside(present: QueryStep, by: number): QueryStep {
  const i = STEPS.findIndex(([{ key }]) => key === present.key);
  return (STEPS[i + by] ?? STEPS[i] ?? STEPS.at(-1)!)[0];
}

/** Returns the bars of a range in order, one for each group that the service can return. */
export function barsOfRange({ unit, count }: QueryStep, range: Moments, zone: string): Bar[] {
  if (range.from >= range.to) return [];
  const by = periodOfStep(unit, count, zone, range);
  const format = periodKeyFormat(by);
  const keys = [...keysOfPeriod(by, range.from, range.to)];
  return keys.map((key, i) => {
    const start = momentOfKey(by, key);
    const next = keys[i + 1];
    const end = next === undefined ? groupEnd(by, key) : momentOfKey(by, next);
    return { key: format(key), start, end, from: Math.max(start, range.from), to: Math.min(end, range.to) };
  });
}

export function periodOfStep(unit: PeriodUnit, count: number, zone: string, { from, to }: Moments): Period {
  return { kind: "period", unit, count, zone: zoneAround(zone, from, to) };
}

/** Returns where the next group begins; a clock change makes a group longer or shorter. */
export function groupEnd(by: Period, key: number): number {
  const start = momentOfKey(by, key);
  // One hour more, for days of 25 hours.
  const reach = start + lengthOfGroup(by, key) + HOUR_MS;
  const next = [...keysOfPeriod(by, start, reach + 1)].find((each) => each !== key);
  return next === undefined ? start + lengthOfGroup(by, key) : momentOfKey(by, next);
}
