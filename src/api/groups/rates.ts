import { lengthOfGroup } from "../../query/calendar.ts";
import type { Period } from "../../query/plan.ts";
import type { GroupQuestion } from "../../query/question.ts";
import { mapGently } from "../../scheduling/pacer.ts";
import type { Group } from "../../store/store.ts";

/**
 * Groups with the rates of a question behind their values: over the time that a group is long, or
 * where it is none of time, over the range that is asked for.
 *
 * @param range_ms how long the range is
 */
export async function withRates(
  groups: readonly Group[],
  { plan, rates }: GroupQuestion,
  range_ms: number,
): Promise<readonly Group[]> {
  if (rates.length === 0) return groups;
  const periods = plan.by.flatMap((by, i) => (by.kind === "period" ? [{ by, i }] : []));
  return await mapGently(groups, ({ keys, values }) => {
    const length_ms = Math.min(...periods.map(({ by, i }) => lengthOfKey(by, keys[i]!)));
    const over_ms = periods.length === 0 ? range_ms : length_ms;
    return {
      keys,
      values: [...values, ...rates.map(({ of, per_ms }) => rateOf(Number(values[of]), over_ms / per_ms))],
    };
  });
}

function lengthOfKey(by: Period, key: Group["keys"][number]): number {
  return lengthOfGroup(by, Number(key));
}

function rateOf(count: number, steps: number): number {
  return steps > 0 ? count / steps : 0;
}
