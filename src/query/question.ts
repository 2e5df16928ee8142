import type { GroupPlan, ListPlan, UsersPlan } from "./plan.ts";
import type { Step } from "./syntax.ts";

/** What a query asks: plans, and of groups also what is made of them above the store. */
export type Question = ListPlan | GroupQuestion | UsersPlan;

export type GroupQuestion = {
  readonly kind: "groups";
  readonly plan: GroupPlan;
  /** In the order in which they are shown. */
  readonly columns: readonly GroupColumn[];
  /** The grouping of the plan, by its index, whose empty groups are added; null: none are. */
  readonly fill: number | null;
  /** Beside each group the same group of so much earlier; null: nothing is compared. */
  readonly compare: Step | null;
  /** What NOW means: milliseconds since the Unix epoch. */
  readonly now_ms: number;
};

export type GroupColumn = {
  /** The key in the record. */
  readonly name: string;
  readonly shows: ShownOfGroup;
};

export type ShownOfGroup =
  | { readonly kind: "key" }
  /** An aggregate of the plan, by its index. */
  | { readonly kind: "aggregate"; readonly of: number }
  /** The count, an aggregate of the plan by its index, in each `per_ms` of the time that the group is long. */
  | { readonly kind: "rate"; readonly of: number; readonly per_ms: number };
