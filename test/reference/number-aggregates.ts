import type { NumberAggregate, NumberAggregateName } from "../../src/query/plan.ts";

/** The meaning of an aggregate of numbers. */
type NumberMeaning = {
  /** @param values at least one, in ascending order */
  readonly compute: (values: readonly number[]) => number;
  /**
   * Returns by how much engines may differ, which add in an order of their own; null if they are
   * equal to the last bit, so that groups may be filtered and sorted by it.
   *
   * @param size the rounding error of the largest value
   */
  readonly tolerance: ((size: number, count: number) => number) | null;
};

export const NUMBER_MEANINGS: Readonly<Record<NumberAggregateName, NumberMeaning>> = {
  avg: { compute: (values) => exactSum(values) / values.length, tolerance: (size, count) => size * count },
  sum: { compute: exactSum, tolerance: (size, count) => size * count ** 2 },
  min: { compute: (values) => values[0]!, tolerance: null },
  max: { compute: (values) => values.at(-1)!, tolerance: null },
};

/** Computes an aggregate of at least one number, in ascending order. */
export function computeNumber(aggregate: NumberAggregate, values: readonly number[]): number {
  if (aggregate.kind !== "percentile") return NUMBER_MEANINGS[aggregate.kind].compute(values);
  return values[Math.max(0, Math.ceil((aggregate.percent / 100) * values.length) - 1)]!;
}

/** Sums with compensation of rounding errors (Neumaier): exact to the last bit or two. */
function exactSum(values: readonly number[]): number {
  let sum = 0;
  let lost = 0;
  for (const value of values) {
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return sum + lost;
}
