import { fold } from "../../events/text.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, addMonths, keyOfPeriod } from "../../query/calendar.ts";
import { stepFrom } from "../../query/when.ts";
import { isAttribute } from "../../query/plan.ts";
import type { Aggregate, Condition, FieldGrouping, Grouping, GroupPlan, Period } from "../../query/plan.ts";
import { conditionTimeRange } from "../../query/time-range.ts";
import type { Step } from "../../query/syntax.ts";
import { UTC } from "../../query/zone.ts";
import type { Zone } from "../../query/zone.ts";
import { mapYielding } from "../../scheduling/yielding.ts";
import type { Group, GroupValue } from "../../store/store.ts";

/** Up to this many groups are queried by key, instead of querying all earlier groups. */
const MAX_GROUPS_BY_KEY = 500;

export type EarlierGroups = {
  readonly plan: GroupPlan;
  /** Returns a function that finds the earlier group of a current one among the plan's groups. */
  readonly finder: (groups: readonly Group[]) => Promise<(keys: readonly GroupValue[]) => Group | undefined>;
};

/**
 * Plans the same groups at an earlier time. Events are shifted forward by the step, so groups by
 * time have the same keys as the current ones, except for a step in months.
 *
 * @param shown the current groups
 */
export function planEarlierGroups(
  plan: GroupPlan,
  step: Step,
  zone: Zone,
  now_ms: number,
  shown: readonly Group[],
): EarlierGroups {
  const back = { unit: step.unit, count: -step.count };
  const shift = (moment: number): number => stepFrom(moment, back, zone);
  const parts = [shifted(plan.where, shift)];
  if (conditionTimeRange(plan.where).to_ms === Infinity) {
    parts.push({ kind: "number", field: "created", op: "<", value: shift(now_ms) });
  }
  const onlyShown = conditionOfGroups(plan.by, shown);
  if (onlyShown !== null) parts.push(onlyShown);
  const aggregates = plan.aggregates.map((aggregate) => shiftedAggregate(aggregate, shift));
  return {
    plan: {
      ...plan,
      where: { kind: "and", conditions: parts },
      by: plan.by.map((by) => (by.kind === "period" ? shiftedPeriod(by, step) : by)),
      aggregates,
      having: null,
      sort: { by: "key", direction: "asc" },
      skip: 0,
      take: null,
    },
    finder: async (groups) => {
      const byKeys = new Map<string, Group>();
      await mapYielding(groups, (group) => byKeys.set(JSON.stringify(group.keys), group));
      const keysOf = earlierKeys(plan.by, step);
      return (keys) => byKeys.get(JSON.stringify(keysOf(keys)));
    },
  };
}

/** Shifts all moments of `created` in a condition. */
function shifted(condition: Condition, shift: (moment: number) => number): Condition {
  if (condition.kind === "and" || condition.kind === "or") {
    return { kind: condition.kind, conditions: condition.conditions.map((part) => shifted(part, shift)) };
  }
  if (condition.kind === "not") return { kind: "not", condition: shifted(condition.condition, shift) };
  if (condition.kind !== "number" || condition.field !== "created") return condition;
  return { ...condition, value: shift(condition.value) };
}

function shiftedAggregate(aggregate: Aggregate, shift: (moment: number) => number): Aggregate {
  if (aggregate.kind !== "count" || aggregate.where === null) return aggregate;
  return { kind: "count", where: shifted(aggregate.where, shift) };
}

/** Shifts a period's zone forward, so that earlier events get the keys of current groups. */
function shiftedPeriod(by: Period, { unit, count }: Step): Period {
  const { zone } = by;
  switch (unit) {
    case "MINUTES":
    case "HOURS": {
      const length_ms = count * (unit === "MINUTES" ? MINUTE_MS : HOUR_MS);
      return { ...by, zone: shiftedZone(zone, length_ms, length_ms) };
    }
    case "DAYS":
    case "WEEKS":
      return { ...by, zone: shiftedZone(zone, count * (unit === "DAYS" ? DAY_MS : 7 * DAY_MS), 0) };
    case "MONTHS":
      return by;
  }
  throw unit satisfies never;
}

/** @param sooner_ms how much earlier the zone's offset changes happen */
function shiftedZone(zone: Zone, ahead_ms: number, sooner_ms: number): Zone {
  return {
    offset_ms: zone.offset_ms + ahead_ms,
    changes: zone.changes.map(({ at_ms, offset_ms }) => ({
      at_ms: at_ms - sooner_ms,
      offset_ms: offset_ms + ahead_ms,
    })),
  };
}

/** Maps current keys to earlier ones, for steps in months, which vary in length. */
function earlierKeys(by: readonly Grouping[], step: Step): (keys: readonly GroupValue[]) => readonly GroupValue[] {
  if (step.unit !== "MONTHS" || by.every(({ kind }) => kind !== "period")) return (keys) => keys;
  const keysOf = by.map((grouping) => {
    if (grouping.kind !== "period") return (key: GroupValue): GroupValue => key;
    const keyOf = keyOfPeriod({ ...grouping, zone: UTC });
    return (key: GroupValue): GroupValue => keyOf(addMonths(Number(key), -step.count, UTC));
  });
  return (keys) => keys.map((key, i) => keysOf[i]!(key));
}

/** Returns a condition that all events of these groups meet; null to query all groups. */
function conditionOfGroups(by: readonly Grouping[], groups: readonly Group[]): Condition | null {
  const [grouping] = by;
  if (by.length !== 1 || grouping?.kind !== "field" || groups.length > MAX_GROUPS_BY_KEY) return null;
  return isIn(
    grouping.field,
    groups.map(({ keys }) => keys[0]!),
  );
}

function isIn(field: FieldGrouping["field"], keys: readonly GroupValue[]): Condition {
  if (field === "value" || isAttribute(field)) {
    const texts = keys.filter((key) => typeof key === "string");
    const numbers = keys.filter((key) => typeof key === "number");
    const conditions: Condition[] = numbers.map((value) => ({ kind: "number", field, op: "=", value }));
    if (texts.length > 0) conditions.push({ kind: "in", field, values: texts.map(fold) });
    if (keys.includes(null)) conditions.push({ kind: "absent", field });
    return { kind: "or", conditions };
  }
  return { kind: "in", field, values: keys.map((key) => fold(String(key))) };
}
