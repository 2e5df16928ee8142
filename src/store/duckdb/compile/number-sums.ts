import type { Aggregate } from "../../../query/plan.ts";
import { numberAggregation } from "../../number-aggregates.ts";
import type { AggregateOfSums, NumberSums } from "../../number-aggregates.ts";

/**
 * Returns how an aggregate follows from the events counted, or from the sums of their `value`,
 * in the parts of a group; null if it does not.
 */
export function summedAggregate(aggregate: Aggregate): "count" | AggregateOfSums | null {
  if (aggregate.kind === "count") return aggregate.where === null ? "count" : null;
  if (!("of" in aggregate) || aggregate.of !== "value") return null;
  const aggregation = numberAggregation(aggregate);
  return aggregation.from === "sums" ? aggregation : null;
}

/** Returns the SQL of the sums of a column. */
export function sumsOfColumn(column: string): NumberSums<string> {
  // fsum compensates rounding errors; plain sums would depend on the order of rows.
  return { numbers: `count(${column})`, sum: `fsum(${column})`, min: `min(${column})`, max: `max(${column})` };
}

/** The SQL of the sums of a group from those of its parts, columns of their names. */
export const MERGED_SUMS: NumberSums<string> = {
  numbers: `sum("numbers")`,
  sum: `fsum("sum")`,
  min: `min("min")`,
  max: `max("max")`,
};
