import { Binder } from "./binder.ts";
import type { IdRange } from "./compile.ts";
import { MOST_SLICES, SLICE_MS } from "../memory/time-sums.ts";
import { sumsOfColumn } from "./number-sums.ts";
import type { Statement } from "../database/run-statement.ts";

/** Slices by which times are shifted above 0, as DuckDB's division truncates toward 0. */
const SHIFT_SLICES = (100_000_000 * 86_400_000) / SLICE_MS;

/** A row of {@link compileSums}. */
export type SumsRow = readonly [
  edge: number,
  shifted: bigint,
  count: bigint,
  numbers: bigint,
  sum: number | null,
  min: number | null,
  max: number | null,
  last: bigint,
];

/**
 * Compiles the sums by slice of a log's events with ids above `beyond` (null: all), with `edge` 0,
 * and of all events within each of the edges, from 1 on. A single statement, so that all see the
 * same state. Beyond {@link MOST_SLICES} some slices are omitted.
 */
export function compileSums(log: number, beyond: bigint | null, edges: readonly IdRange[]): Statement {
  const bind = new Binder();
  const isBeyond = beyond === null ? "" : ` and id_hi > ${bind.unsigned(beyond)}`;
  const within = edges.map(({ from, to }) => ` and created >= ${bind.big(from)} and created < ${bind.big(to)}`);
  const shifted = `(created + ${bind.big(BigInt(SHIFT_SLICES * SLICE_MS))}) // ${bind.integer(SLICE_MS)}`;
  const { numbers, sum, min, max } = sumsOfColumn("value");
  const scans = [isBeyond, ...within].map(
    (condition, edge) =>
      `(select ${edge}, ${shifted} as shifted, count(*), ${numbers}, ${sum}, ${min}, ${max}, max(id_hi)
       from events where log_number = ${bind.unsigned32(log)}${condition} group by shifted limit ${MOST_SLICES + 1})`,
  );
  return bind.statement(scans.join(" union all "));
}

/** Returns the number of the slice, from 1970 on, of a row of {@link compileSums}. */
export function sliceNumber([, shifted]: SumsRow): number {
  return Number(shifted) - SHIFT_SLICES;
}
