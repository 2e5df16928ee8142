import { keysOfPeriod, lengthOf, momentOfKey, DAY_MS } from "../../query/calendar.ts";
import type { Aggregate, GroupPlan, Period } from "../../query/plan.ts";
import { rangeOf } from "../../query/span.ts";
import { MAX_GROUPS, tooManyGroups } from "../../store/groups.ts";
import type { Group, GroupValue } from "../../store/store.ts";

/**
 * Groups with those of time added in which nothing happened: inside of the range that is asked for,
 * whose open end is `now_ms`, or from the first group to the last. Of other keys each combination
 * that is there gets them all.
 *
 * @throws LoggiaError `unsupported` where they become too many
 */
export function filled(groups: readonly Group[], plan: GroupPlan, place: number, now_ms: number): Group[] {
  const by = plan.by[place] as Period;
  const keys = keysToFill(groups, plan, place, now_ms);
  const present = new Set(groups.map((group) => JSON.stringify(group.keys)));
  const others = new Map<string, readonly GroupValue[]>();
  for (const group of groups) {
    const rest = group.keys.toSpliced(place, 1);
    others.set(JSON.stringify(rest), rest);
  }
  if (plan.by.length === 1) others.set("[]", []);
  const values = emptyValues(plan.aggregates);
  const all = [...groups];
  for (const rest of others.values()) {
    for (const key of keysOfPeriod(by, keys.from_ms, keys.to_ms)) {
      const added = rest.toSpliced(place, 0, key);
      if (!present.has(JSON.stringify(added)) && all.push({ keys: added, values }) > MAX_GROUPS) throw tooManyGroups();
    }
  }
  return all;
}

/** What aggregates are of no events. */
export function emptyValues(aggregates: readonly Aggregate[]): GroupValue[] {
  return aggregates.map(({ kind }) => (kind === "count" || kind === "distinct" ? 0 : null));
}

/** From when to when groups are added, where nothing at all is an empty range. */
function keysToFill(
  groups: readonly Group[],
  { by, where }: GroupPlan,
  place: number,
  now_ms: number,
): { readonly from_ms: number; readonly to_ms: number } {
  const period = by[place] as Period;
  let [first_ms, last_ms] = [Infinity, -Infinity];
  for (const { keys } of groups) {
    const moment = momentOfKey(period, Number(keys[place]));
    [first_ms, last_ms] = [Math.min(first_ms, moment), Math.max(last_ms, moment)];
  }
  const asked = rangeOf(where);
  const open_ms = asked.from_ms === -Infinity ? last_ms + 1 : Math.max(now_ms, last_ms) + 1;
  const range = {
    from_ms: asked.from_ms === -Infinity ? first_ms : asked.from_ms,
    to_ms: asked.to_ms === Infinity ? open_ms : asked.to_ms,
  };
  if (!(range.from_ms < range.to_ms)) return { from_ms: 0, to_ms: 0 };
  // Months are never shorter than this.
  const length_ms = lengthOf(period) ?? 28 * DAY_MS;
  if ((range.to_ms - range.from_ms) / length_ms > MAX_GROUPS + 1) throw tooManyGroups();
  return range;
}
