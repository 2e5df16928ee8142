import { errors } from "@elastic/elasticsearch";
import type { estypes } from "@elastic/elasticsearch";

import type { GroupPlan } from "../../../query/plan.ts";
import { spanOf } from "../../../query/span.ts";
import type { Bucket } from "../search/scan.ts";

/**
 * How different values are counted: all of them by the values themselves, which is exact and has a
 * bucket for each, or estimated by a sketch and counted afterwards where they are few.
 */
export type DistinctWay = "counted" | "estimated";

/** Numbers of different values up to 10,000 are counted: an estimate of so many may be some more or less. */
export const MAX_DISTINCT = 10_500;
/** So many values of all groups together are well within the 65,536 buckets that a cluster gives. */
export const MAX_VALUES = 40_000;
const MAX_KNOWN = 1_000;

type Aggregation = estypes.AggregationsAggregationContainer;

/** Leaves the values out of an answer, which tells how many they are. */
export const WITHOUT_VALUES = "-**.values of *.buckets";

/** Counts the values of a column. The count has the name `name`. */
export function countingOf(name: string, field: string): Record<string, Aggregation> {
  return {
    [valuesNameOf(name)]: { terms: { field, size: MAX_DISTINCT, shard_size: MAX_DISTINCT, order: { _key: "asc" } } },
    [name]: { stats_bucket: { buckets_path: `${valuesNameOf(name)}>_count` } },
  };
}

/** @throws TooManyValues where there are more than were counted */
export function readCounted(bucket: Bucket, name: string): number {
  const { sum_other_doc_count: others } = bucket[valuesNameOf(name)] as { sum_other_doc_count: number };
  if (others > 0) throw new TooManyValues();
  return (bucket[name] as { count: number }).count;
}

function valuesNameOf(name: string): string {
  return `values of ${name}`;
}

/** The values are too many to be counted one by one. */
export class TooManyValues extends Error {}

export function isTooMany(error: unknown): boolean {
  if (error instanceof TooManyValues) return true;
  if (!(error instanceof errors.ResponseError)) return false;
  return /too_many_buckets|circuit_breaking/.test(JSON.stringify(error.body ?? null));
}

/**
 * What answers have told of numbers of values, so that the next question like it is asked in the way
 * that takes one pass. Of many groups it has to be known that they have few values; of a single one
 * it is tried.
 */
export class KnownDistinct {
  readonly #known = new Map<string, DistinctWay>();

  wayOf(plan: GroupPlan): DistinctWay {
    return this.#known.get(nameOf(plan)) ?? (plan.by.length === 0 ? "counted" : "estimated");
  }

  note(plan: GroupPlan, way: DistinctWay): void {
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(nameOf(plan), way);
  }
}

/** The same for questions that differ in little but the time. */
function nameOf({ from, logs, by, aggregates, where }: GroupPlan): string {
  const [from_ms, to_ms] = spanOf(where);
  const length = Math.round(Math.log2(Math.max(1, to_ms - from_ms)));
  const fields = aggregates.flatMap((each) => (each.kind === "distinct" ? each.field : []));
  const keys = by.map((each) => (each.kind === "period" ? [each.unit, each.count] : each));
  return JSON.stringify([from, logs, keys, fields, Number.isFinite(length) ? length : null]);
}
