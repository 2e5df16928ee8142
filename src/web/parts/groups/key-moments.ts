import { DAY_MS, REPEATED, periodLength, momentOfKey } from "../../../query/calendar.ts";
import { UTC } from "../../../query/zone.ts";
import type { Moments } from "../query/range.ts";
import { MONTH_MS, groupEnd, periodOfStep } from "../query/steps.ts";
import type { QueryStep } from "../query/steps.ts";

const KEY =
  /^(?<month>\d{1,2})\/(?:(?<day>\d{1,2})\/)?(?<year>\d{4})(?: (?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d))?(?: (?<offset>[+-]\d\d:\d\d))?)?$/;

/** Parses the time of a group from its key, as the service writes it; null for other keys. */
export function momentsOfKey(
  key: string,
  { unit, count }: Pick<QueryStep, "unit" | "count">,
  zone: string,
): Moments | null {
  const { month, day = "1", year, hour = "0", minute = "0", second = "0", offset } = KEY.exec(key)?.groups ?? {};
  if (month === undefined) return null;
  const local = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  const length_ms = periodLength({ kind: "period", unit, count, zone: UTC }) ?? MONTH_MS;
  const by = periodOfStep(unit, count, zone, { from: local - DAY_MS, to: local + length_ms + 3 * DAY_MS });
  const number = local + (offset === undefined ? 0 : REPEATED);
  return { from: momentOfKey(by, number), to: groupEnd(by, number) };
}
