import type { Direction, GroupPlan, HavingCondition, ListPlan, UsersPlan } from "./plan.ts";
import type { Step } from "./syntax.ts";
import type { Zone } from "./zone.ts";

/** What a query asks: plans, and of groups also what is made of them above the store. */
export type Question = ListPlan | GroupQuestion | UsersPlan;

export type GroupQuestion = {
  readonly kind: "groups";
  /** What the store is asked. */
  readonly plan: GroupPlan;
  /** Counts by time. Their values follow those of the plan's aggregates, in order. */
  readonly rates: readonly Rate[];
  /** The grouping of the plan, by its index, whose empty groups are added; null: none are. */
  readonly fill: number | null;
  /** What is done above the store, as it needs rates or the groups that were added; null: the store does it. */
  readonly after: AfterStore | null;
  /** Beside each group the same group of so much earlier; null: nothing is compared. */
  readonly compare: Step | null;
  /** In the order in which they are shown. */
  readonly columns: readonly GroupColumn[];
  /** What NOW means: milliseconds since the Unix epoch. */
  readonly now_ms: number;
  readonly zone: Zone;
};

/** A count, an aggregate of the plan by its index, in each `per_ms` of the time that its group is long. */
export type Rate = { readonly of: number; readonly per_ms: number };

/** As in {@link GroupPlan}, where indices of aggregates go on with those of rates. */
export type AfterStore = {
  readonly having: HavingCondition | null;
  readonly sort: { readonly by: "key" | number; readonly direction: Direction };
  readonly skip: number;
  readonly take: number | null;
};

export type GroupColumn = {
  /** The key in the record. */
  readonly name: string;
  /** The keys of the group; or a value, by its index among the plan's aggregates and the rates. */
  readonly shows: "key" | number;
};
