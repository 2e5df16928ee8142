import { lengthOfGroup } from "../../query/calendar.ts";
import type { Period } from "../../query/plan.ts";
import type { PlannedGroups } from "../../query/planned-query.ts";
import { mapYielding } from "../../scheduling/yielding.ts";
import type { WorkKind } from "../../scheduling/yielding.ts";
import type { Group } from "../../store/store.ts";

/**
 * Appends the rates of a query to the groups' values: per length of the time group, or without one,
 * of the requested range.
 *
 * @param range_ms length of the range
 */
export async function withRates(
  groups: readonly Group[],
  { plan, rates }: PlannedGroups,
  range_ms: number,
  querying: WorkKind,
): Promise<readonly Group[]> {
  if (rates.length === 0) return groups;
  const periods = plan.by.flatMap((by, i) => (by.kind === "period" ? [{ by, i }] : []));
  return await mapYielding(
    groups,
    ({ keys, values }) => {
      const length_ms = Math.min(...periods.map(({ by, i }) => lengthOfKey(by, keys[i]!)));
      const over_ms = periods.length === 0 ? range_ms : length_ms;
      return {
        keys,
        values: [...values, ...rates.map(({ of, per_ms }) => rateOf(Number(values[of]), over_ms / per_ms))],
      };
    },
    querying,
  );
}

function lengthOfKey(by: Period, key: Group["keys"][number]): number {
  return lengthOfGroup(by, Number(key));
}

function rateOf(count: number, steps: number): number {
  return steps > 0 ? count / steps : 0;
}
