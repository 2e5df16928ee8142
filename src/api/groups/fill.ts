import { LoggiaError } from "../../errors.ts";
import { keysOfPeriod, periodLength, momentOfKey, DAY_MS } from "../../query/calendar.ts";
import type { Aggregate, GroupPlan, Period } from "../../query/plan.ts";
import { conditionTimeRange } from "../../query/time-range.ts";
import { MAX_GROUPS } from "../../store/groups.ts";
import { mapYielding } from "../../scheduling/yielding.ts";
import type { Group, GroupValue } from "../../store/store.ts";

/**
 * Adds the empty groups of a time key within the requested range, whose open end is `now_ms`, or
 * from the first to the last group. Each existing combination of other keys gets them all.
 *
 * @throws LoggiaError `unsupported` if there are too many groups
 */
export async function filled(
  groups: readonly Group[],
  plan: GroupPlan,
  keyIndex: number,
  now_ms: number,
): Promise<Group[]> {
  const { from_ms, to_ms } = keysToFill(groups, plan, keyIndex, now_ms);
  const keys = await mapYielding(keysOfPeriod(plan.by[keyIndex] as Period, from_ms, to_ms), (key) => key);
  const present = new Set(await mapYielding(groups, (group) => JSON.stringify(group.keys)));
  const others = new Map<string, readonly GroupValue[]>();
  await mapYielding(groups, (group) => {
    const rest = group.keys.toSpliced(keyIndex, 1);
    others.set(JSON.stringify(rest), rest);
  });
  if (plan.by.length === 1) others.set("[]", []);
  const values = emptyValues(plan.aggregates);
  const all = [...groups];
  await mapYielding(combined([...others.values()], keys, keyIndex), (added) => {
    if (!present.has(JSON.stringify(added)) && all.push({ keys: added, values }) > MAX_GROUPS) throw tooManyFilled();
  });
  return all;
}

/** The message does not suggest TAKE, which is applied after FILL. */
function tooManyFilled(): LoggiaError {
  return new LoggiaError(
    "unsupported",
    `FILL makes more than ${MAX_GROUPS} groups: select less time with OCCURS, longer groups such as DAY, ` +
      "or fewer values of the other keys with WHERE",
  );
}

function* combined(
  others: readonly (readonly GroupValue[])[],
  keys: readonly number[],
  keyIndex: number,
): Generator<readonly GroupValue[]> {
  for (const rest of others) for (const key of keys) yield rest.toSpliced(keyIndex, 0, key);
}

/** Returns the values of aggregates over no events. */
export function emptyValues(aggregates: readonly Aggregate[]): GroupValue[] {
  return aggregates.map(({ kind }) => (kind === "count" || kind === "distinct" ? 0 : null));
}

/** Returns the range to fill; an empty range if there is nothing to fill. */
function keysToFill(
  groups: readonly Group[],
  { by, where }: GroupPlan,
  keyIndex: number,
  now_ms: number,
): { readonly from_ms: number; readonly to_ms: number } {
  const period = by[keyIndex] as Period;
  let [first_ms, last_ms] = [Infinity, -Infinity];
  for (const { keys } of groups) {
    const moment = momentOfKey(period, Number(keys[keyIndex]));
    [first_ms, last_ms] = [Math.min(first_ms, moment), Math.max(last_ms, moment)];
  }
  const asked = conditionTimeRange(where);
  const open_ms = asked.from_ms === -Infinity ? last_ms + 1 : Math.max(now_ms, last_ms) + 1;
  const range = {
    from_ms: asked.from_ms === -Infinity ? first_ms : asked.from_ms,
    to_ms: asked.to_ms === Infinity ? open_ms : asked.to_ms,
  };
  if (!(range.from_ms < range.to_ms)) return { from_ms: 0, to_ms: 0 };
  // Shortest month.
  const length_ms = periodLength(period) ?? 28 * DAY_MS;
  if ((range.to_ms - range.from_ms) / length_ms > MAX_GROUPS + 1) throw tooManyFilled();
  return range;
}
