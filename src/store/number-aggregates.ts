import type { estypes } from "@elastic/elasticsearch";

import type { NumberAggregate, NumberAggregateName } from "../query/plan.ts";

/**
 * How each store computes the aggregates of numbers. `compute` defines an aggregate over numbers in
 * memory, of which there is at least one; without numbers every aggregate is null.
 */
export type NumberAggregation = AggregateOfSums | AggregateOfNumbers;

/** Sums of numbers. Those of a group can be merged from those of its parts. */
export type NumberSums<Of = number> = {
  readonly numbers: Of;
  readonly sum: Of;
  readonly min: Of;
  readonly max: Of;
};

/** An aggregate that follows from the sums of a group, or from merged sums of its parts. */
export type AggregateOfSums = {
  readonly from: "sums";
  readonly compute: (sums: NumberSums) => number;
  /** Returns its SQL for DuckDB from that of the sums. */
  readonly sql: (sums: NumberSums<string>) => string;
  /** Its name in the `stats` of Elasticsearch, which then sorts groups by it; null if it has none. */
  readonly stats: "avg" | "sum" | "min" | "max" | null;
};

/** An aggregate that needs all numbers of a group at once. */
export type AggregateOfNumbers = {
  readonly from: "numbers";
  readonly compute: (numbers: readonly number[]) => number;
  /** Returns its SQL for DuckDB from that of a number. */
  readonly sql: (number: string) => string;
  /** Returns the aggregation of Elasticsearch for a field of numbers. */
  readonly aggregation: (field: string) => estypes.AggregationsAggregationContainer;
  /** Reads the result of the aggregation, null without numbers. */
  readonly read: (result: unknown) => number | null;
};

const NUMBER_AGGREGATIONS: Readonly<Record<NumberAggregateName, NumberAggregation>> = {
  avg: {
    from: "sums",
    compute: ({ sum, numbers }) => sum / numbers,
    sql: ({ sum, numbers }) => `${sum} / ${numbers}`,
    stats: "avg",
  },
  sum: { from: "sums", compute: ({ sum }) => sum, sql: ({ sum }) => sum, stats: "sum" },
  min: { from: "sums", compute: ({ min }) => min, sql: ({ min }) => min, stats: "min" },
  max: { from: "sums", compute: ({ max }) => max, sql: ({ max }) => max, stats: "max" },
};

/** Keeps the rank error of percentiles far below 1 %. */
const CENTROIDS = 500;

function percentileOf(percent: number): AggregateOfNumbers {
  return {
    from: "numbers",
    compute(numbers) {
      const sorted = Float64Array.from(numbers).sort();
      return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)]!;
    },
    sql: (number) => `quantile_disc(${number}, ${percent / 100})`,
    aggregation: (field) => ({
      percentiles: { field, percents: [percent], keyed: false, tdigest: { compression: CENTROIDS } },
    }),
    read: (result) => (result as { values: { value: number | null }[] }).values[0]?.value ?? null,
  };
}

export function numberAggregation(aggregate: NumberAggregate): NumberAggregation {
  return aggregate.kind === "percentile" ? percentileOf(aggregate.percent) : NUMBER_AGGREGATIONS[aggregate.kind];
}

/** Returns an aggregate of sums, null without numbers. */
export function valueOfSums({ compute }: AggregateOfSums, sums: NumberSums): number | null {
  return sums.numbers === 0 ? null : compute(sums);
}

/** Returns what rounding takes from `a + b` (Neumaier): the smaller operand loses digits. */
export function roundingError(a: number, b: number): number {
  const sum = a + b;
  return Math.abs(a) >= Math.abs(b) ? a - sum + b : b - sum + a;
}
