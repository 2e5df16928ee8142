import { errors } from "@elastic/elasticsearch";
import type { estypes } from "@elastic/elasticsearch";

import type { GroupPlan } from "../../../../query/plan.ts";
import { conditionTimeBounds } from "../../../../query/time-range.ts";
import type { Bucket } from "../../client/scan.ts";

/**
 * How distinct values are counted: exactly, by a bucket for each value, or estimated by a sketch
 * and counted afterwards if they are few.
 */
export type DistinctMethod = "counted" | "estimated";

/** Up to 10,000 distinct values are counted exactly. The margin covers the error of an estimate. */
export const MAX_DISTINCT = 10_500;
/** Maximum number of values of all groups, well within the cluster's limit of 65,536 buckets. */
export const MAX_VALUES = 40_000;
const MAX_HINTS = 1_000;

type Aggregation = estypes.AggregationsAggregationContainer;

/** Response filter that removes the values, since only their number is needed. */
export const WITHOUT_VALUES = "-**.values of *.buckets";

/** Returns aggregations that count the distinct values of a column, under the name `name`. */
export function cardinalityAggregation(name: string, field: string): Record<string, Aggregation> {
  return {
    [valuesNameOf(name)]: { terms: { field, size: MAX_DISTINCT, shard_size: MAX_DISTINCT, order: { _key: "asc" } } },
    [name]: { stats_bucket: { buckets_path: `${valuesNameOf(name)}>_count` } },
  };
}

/** Reads a count of distinct values. @throws TooManyValues if it exceeds the limit */
export function readCounted(bucket: Bucket, name: string): number {
  const { sum_other_doc_count: others } = bucket[valuesNameOf(name)] as { sum_other_doc_count: number };
  if (others > 0) throw new TooManyValues();
  return (bucket[name] as { count: number }).count;
}

function valuesNameOf(name: string): string {
  return `values of ${name}`;
}

/** Thrown if there are too many values to count one by one. */
export class TooManyValues extends Error {}

export function isTooMany(error: unknown): boolean {
  if (error instanceof TooManyValues) return true;
  if (!(error instanceof errors.ResponseError)) return false;
  return /too_many_buckets|circuit_breaking/.test(JSON.stringify(error.body ?? null));
}

/**
 * Remembers how earlier queries counted distinct values, so that similar ones need one pass.
 * Several groups are counted only if they are known to have few values; a single group is tried.
 */
export class DistinctHints {
  readonly #methods = new Map<string, DistinctMethod>();

  wayOf(plan: GroupPlan): DistinctMethod {
    return this.#methods.get(nameOf(plan)) ?? (plan.by.length === 0 ? "counted" : "estimated");
  }

  note(plan: GroupPlan, method: DistinctMethod): void {
    if (this.#methods.size >= MAX_HINTS) this.#methods.clear();
    this.#methods.set(nameOf(plan), method);
  }
}

/** Identifies queries that differ in little but their time range. */
function nameOf({ from, logs, by, aggregates, where }: GroupPlan): string {
  const [from_ms, to_ms] = conditionTimeBounds(where);
  const length = Math.round(Math.log2(Math.max(1, to_ms - from_ms)));
  const fields = aggregates.flatMap((each) => (each.kind === "distinct" ? each.field : []));
  const keys = by.map((each) => (each.kind === "period" ? [each.unit, each.count] : each));
  return JSON.stringify([from, logs, keys, fields, Number.isFinite(length) ? length : null]);
}
