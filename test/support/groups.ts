import type { Aggregate, GroupPlan, Period } from "../../src/query/plan.ts";
import type { Group, GroupValue, Store } from "../../src/store/store.ts";
import type { Zone } from "../../src/query/zone.ts";

/** The aggregates of a query that names no columns. */
export const USUAL: readonly Aggregate[] = [
  { kind: "count", where: null },
  { kind: "avg", of: "value" },
  { kind: "sum", of: "value" },
  { kind: "min", of: "value" },
  { kind: "max", of: "value" },
];
/** Indices of the aggregates in {@link USUAL}. */
export const [COUNT, AVG, SUM, MIN, MAX] = [0, 1, 2, 3, 4] as const;

export function day(zone: Zone): Period {
  return { kind: "period", unit: "days", count: 1, zone };
}

export function hour(zone: Zone): Period {
  return { kind: "period", unit: "hours", count: 1, zone };
}

export function month(zone: Zone): Period {
  return { kind: "period", unit: "months", count: 1, zone };
}

/** A group with one key and the aggregates of {@link USUAL}. */
export type UsualGroup = {
  readonly key: GroupValue;
  readonly count: number;
  readonly avg: number | null;
  readonly sum: number | null;
  readonly min: number | null;
  readonly max: number | null;
};

export function usualGroup({ keys, values }: Group): UsualGroup {
  const [count, avg, sum, min, max] = values as number[];
  return { key: keys[0]!, count: count!, avg: avg!, sum: sum!, min: min!, max: max! };
}

export async function usualGroups(store: Store, plan: GroupPlan): Promise<UsualGroup[]> {
  return (await store.group(plan)).map(usualGroup);
}
