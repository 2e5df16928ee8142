import type { Direction, GroupPlan, HavingCondition, ListPlan, UsersPlan } from "./plan.ts";
import type { Step } from "./syntax.ts";
import type { Zone } from "./zone.ts";

/** A parsed and planned query. Groups also have steps that run above the store. */
export type PlannedQuery = ListPlan | PlannedGroups | UsersPlan;

export type PlannedGroups = {
  readonly kind: "groups";
  /** The plan for the store. */
  readonly plan: GroupPlan;
  /** Counts by time. Their values follow those of the plan's aggregates, in order. */
  readonly rates: readonly Rate[];
  /** Index of the grouping whose empty groups are added; null: none are. */
  readonly fill: number | null;
  /** Steps above the store, if they need rates or added groups; null: the store runs them. */
  readonly after: AfterStore | null;
  /** Each group is compared with the same group this much earlier; null: no comparison. */
  readonly compare: Step | null;
  /** In display order. */
  readonly columns: readonly GroupColumn[];
  /** Value of NOW, in milliseconds since the Unix epoch. */
  readonly now_ms: number;
  readonly zone: Zone;
};

/** The rate of a count (an aggregate of the plan, by index) per `per_ms` of its group's length. */
export type Rate = { readonly of: number; readonly per_ms: number };

/** As in {@link GroupPlan}; indices of rates follow those of aggregates. */
export type AfterStore = {
  readonly having: HavingCondition | null;
  readonly sort: { readonly by: "key" | number; readonly direction: Direction };
  readonly skip: number;
  readonly take: number | null;
};

export type GroupColumn = {
  /** Key in the output record. */
  readonly name: string;
  /** The keys of the group, or a value, by its index among the plan's aggregates and the rates. */
  readonly shows: "key" | number;
};
