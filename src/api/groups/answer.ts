import { meetsHaving, orderOfGroups } from "../../query/groups.ts";
import { parseNumber } from "../../events/attributes.ts";
import type { AfterStore, PlannedGroups } from "../../query/planned-query.ts";
import { conditionTimeRange } from "../../query/time-range.ts";
import { filterYielding, mapYielding, sortYielding } from "../../scheduling/yielding.ts";
import type { Group, GroupValue, Store } from "../../store/store.ts";
import { planEarlierGroups } from "./compare.ts";
import { emptyValues, filled } from "./fill.ts";
import { withRates } from "./rates.ts";

/** A group of a response, with the rates after its values. */
export type AnsweredGroup = Group & {
  /** Values of the group it is compared with; null without a comparison. */
  readonly previous: readonly GroupValue[] | null;
};

/**
 * Answers a group query: the store computes the groups, and FILL, RATE and COMPARE are applied to
 * them. Groups are filled first, so that HAVING, SORT, SKIP and TAKE see empty ones too.
 *
 * @throws LoggiaError `unsupported` if there are too many groups
 */
export async function answerGroups(store: Pick<Store, "group">, question: PlannedGroups): Promise<AnsweredGroup[]> {
  const { plan, fill, after, now_ms } = question;
  const found = await store.group(plan);
  const all = fill === null ? found : await filled(found, plan, fill, now_ms);
  const rated = await withRates(all, question, lengthOfRange(question.plan, now_ms));
  const groups = after === null ? rated : await arranged(rated, plan, after);
  return await withPrevious(store, question, groups);
}

function lengthOfRange({ where }: Pick<PlannedGroups["plan"], "where">, now_ms: number): number {
  const { from_ms, to_ms } = conditionTimeRange(where);
  return (to_ms === Infinity ? now_ms : to_ms) - from_ms;
}

async function arranged(
  groups: readonly Group[],
  { by }: PlannedGroups["plan"],
  { having, sort, skip, take }: AfterStore,
): Promise<Group[]> {
  const kept = having === null ? groups : await filterYielding(groups, ({ values }) => meetsHaving(having, values));
  const { rank, compare } = orderOfGroups({ by, sort }, parseNumber);
  const sorted = await sortYielding(await mapYielding(kept, rank), compare);
  return sorted.slice(skip, take === null ? undefined : skip + take).map(({ group }) => group);
}

async function withPrevious(
  store: Pick<Store, "group">,
  question: PlannedGroups,
  groups: readonly Group[],
): Promise<AnsweredGroup[]> {
  const { plan, compare, now_ms, zone } = question;
  if (compare === null || groups.length === 0)
    return await mapYielding(groups, (group) => ({ ...group, previous: null }));
  const { plan: before, finder } = planEarlierGroups(plan, compare, zone, now_ms, groups);
  const found = await withRates(
    await store.group(before),
    { ...question, plan: before },
    lengthOfRange(before, now_ms),
  );
  const find = await finder(found);
  const nothing = [...emptyValues(plan.aggregates), ...question.rates.map(() => 0)];
  return await mapYielding(groups, (group) => ({ ...group, previous: find(group.keys)?.values ?? nothing }));
}
