import type { DuckDBConnection } from "@duckdb/node-api";

import { parseNumber } from "../../../events/attributes.ts";
import { keyOfPeriod, periodLength, offsetPeriodsFor } from "../../../query/calendar.ts";
import { meetsHaving, orderOfGroups } from "../../../query/groups.ts";
import type { Condition, GroupPlan, Period } from "../../../query/plan.ts";
import { conditionTimeRange } from "../../../query/time-range.ts";
import { filterYielding, mapYielding, sortYielding } from "../../../scheduling/yielding.ts";
import { valueOfSums } from "../../number-aggregates.ts";
import type { AggregateOfSums } from "../../number-aggregates.ts";
import type { Group, GroupValue } from "../../store.ts";
import { queryRows } from "../database/run-statement.ts";
import type { IdRange } from "../compile/compile.ts";
import type { ColumnStatistics } from "../memory/column-statistics.ts";
import { summedAggregate } from "../compile/number-sums.ts";
import { compileSums, sliceNumber } from "../compile/sums.ts";
import type { SumsRow } from "../compile/sums.ts";
import { added, MOST_SLICES, SLICE_MS } from "../memory/time-sums.ts";
import type { LogSums, SumsSlice, TimeSums } from "../memory/time-sums.ts";
import type { QuerySchema } from "../memory/query-schema.ts";
import type { WorkKind } from "../../../scheduling/yielding.ts";

/** Shorter ranges are scanned just as fast. */
const LEAST_MS = 86_400_000;

/** Sums are first built for a query that covers this share of the time range of all events. */
const SHARE_OF_EXTENT = 0.5;

type SumsContext = {
  readonly querying: WorkKind;
  readonly statistics: ColumnStatistics;
  readonly sums: TimeSums;
  readonly schema: QuerySchema;
};

/** A query that sums by time can answer. */
type SumsQuery = { readonly period: Period | null; readonly aggregates: readonly ("count" | AggregateOfSums)[] };

/** The slices entirely within a range, and the parts at its ends that do not fill a slice. */
type AlignedRange = { readonly from: number; readonly to: number; readonly edges: readonly IdRange[] };

/**
 * Computes groups from sums by time. Returns null if the plan needs anything else, if the sums are
 * missing and not worth building, or if writes meanwhile invalidated them.
 */
export async function groupBySums(
  connection: DuckDBConnection,
  plan: GroupPlan,
  { querying, statistics, sums, schema }: SumsContext,
): Promise<Group[] | null> {
  const question = sumsQueryOf(plan);
  const log = plan.logs.length === 1 ? schema.logs.get(plan.logs[0]!) : undefined;
  if (question === null || log === undefined) return null;
  const cut = alignedRangeOf(plan.where);
  if (cut === null) return null;
  const { mutationVersion, writeVersion } = sums;
  const before = sums.get(log);
  if (mutationVersion === null || before?.slices === null) return null;
  if (before === undefined && !(await isWorthBuilding(connection, cut, statistics, sums.leastEvents))) return null;
  // Counts alone are cheaper than sums, which might be dropped before they are used again.
  const isCount = plan.aggregates.every(({ kind }) => kind === "count");
  if (before === undefined && isCount && !sums.isQueriedAgain(log)) return null;
  const isSame = before !== undefined && writeVersion !== null && before.writeVersion === writeVersion;
  const edges: SumsSlice[] = [];
  let now = before;
  if (!isSame || cut.edges.length > 0) {
    const rows = await queryRows(connection, compileSums(log, before?.upTo ?? null, cut.edges), querying);
    const found = rows.map((row) => sliceOf(row as unknown as SumsRow));
    if (sums.mutationVersion !== mutationVersion) return null;
    const fresh = found.filter(({ edge }) => edge === 0);
    edges.push(...found.filter(({ edge }) => edge > 0).map(({ slice }) => slice));
    const isUnchanged = writeVersion !== null && writeVersion === sums.writeVersion;
    now = withFresh(before, fresh, mutationVersion, isUnchanged ? writeVersion : null);
    sums.set(log, now);
  }
  const slices = now?.slices ?? null;
  if (slices === null) return null;
  const whole = slices.values().filter(({ slice }) => slice >= cut.from && slice < cut.to);
  const groups = groupsOf([...whole, ...edges], question);
  return groups === null ? null : await filteredAndSorted(groups, plan, querying);
}

function sumsQueryOf({ from, by, aggregates }: GroupPlan): SumsQuery | null {
  const [first = null] = by;
  if (from.kind !== "events" || by.length > 1) return null;
  if (first !== null && (first.kind !== "period" || !isOfSlices(first))) return null;
  const summed = aggregates.map(summedAggregate).filter((aggregate) => aggregate !== null);
  return summed.length === aggregates.length ? { period: first, aggregates: summed } : null;
}

function isOfSlices(period: Period): boolean {
  const length_ms = periodLength(period);
  return length_ms === null || length_ms % SLICE_MS === 0;
}

/** Returns null unless the condition is a sufficiently long range of time. */
function alignedRangeOf(where: Condition): AlignedRange | null {
  if (!isOfTime(where)) return null;
  const { from_ms, to_ms } = conditionTimeRange(where);
  if (!(to_ms - from_ms >= LEAST_MS)) return null;
  const [from, to] = [Math.ceil(from_ms / SLICE_MS), Math.floor(to_ms / SLICE_MS)];
  const edges = [
    { from_ms, to_ms: from * SLICE_MS },
    { from_ms: to * SLICE_MS, to_ms },
  ].filter((edge) => edge.from_ms < edge.to_ms);
  return { from, to, edges: edges.map((edge) => ({ from: BigInt(edge.from_ms), to: BigInt(edge.to_ms) })) };
}

function isOfTime(where: Condition): boolean {
  return where.kind === "and" ? where.conditions.every(isOfTime) : where.kind === "number" && where.field === "created";
}

async function isWorthBuilding(
  connection: DuckDBConnection,
  { from, to }: AlignedRange,
  statistics: ColumnStatistics,
  leastEvents: number,
): Promise<boolean> {
  const { count, first, last } = await statistics.extent(connection);
  if (count <= leastEvents) return false;
  const asked_ms = Math.min(to * SLICE_MS, last) - Math.max(from * SLICE_MS, first);
  return asked_ms >= SHARE_OF_EXTENT * (last - first);
}

type ScannedSlice = { readonly edge: number; readonly slice: SumsSlice; readonly last: bigint };

function sliceOf(row: SumsRow): ScannedSlice {
  const [edge, , count, numbers, sum, min, max, last] = row;
  return {
    edge,
    slice: {
      slice: sliceNumber(row),
      count: Number(count),
      numbers: Number(numbers),
      sum: sum ?? 0,
      error: 0,
      min: min ?? 0,
      max: max ?? 0,
    },
    last,
  };
}

function withFresh(
  before: LogSums | undefined,
  fresh: readonly ScannedSlice[],
  mutationVersion: number,
  writeVersion: number | null,
): LogSums {
  const upTo = fresh.reduce((most, { last }) => (last > most ? last : most), before?.upTo ?? 0n);
  const known = before?.slices ?? new Map<number, SumsSlice>();
  if (fresh.length === 0) return { mutationVersion, upTo, writeVersion, slices: known };
  if (fresh.length > MOST_SLICES) return { mutationVersion, upTo, writeVersion, slices: null };
  const slices = new Map(known);
  for (const { slice } of fresh) {
    const same = slices.get(slice.slice);
    slices.set(slice.slice, same === undefined ? slice : added(same, slice));
  }
  return { mutationVersion, upTo, writeVersion, slices };
}

/** Returns null if a group does not consist of whole slices, or if a sum overflows. */
function groupsOf(slices: readonly SumsSlice[], { period, aggregates }: SumsQuery): Group[] | null {
  if (period !== null && !isAligned(period, slices)) return null;
  const keyOf = period === null ? () => null : keyOfPeriod(period);
  const found = new Map<number | null, SumsSlice>();
  if (period === null) found.set(null, NOTHING);
  for (const slice of slices) {
    const key = keyOf(slice.slice * SLICE_MS);
    const same = found.get(key);
    found.set(key, same === undefined ? slice : added(same, slice));
  }
  if (!found.values().every(({ sum }) => Number.isFinite(sum))) return null;
  return Array.from(found, ([key, slice]) => ({
    keys: key === null ? [] : [key],
    values: aggregates.map((aggregate) => valueOf(aggregate, slice)),
  }));
}

const NOTHING: SumsSlice = { slice: 0, count: 0, numbers: 0, sum: 0, error: 0, min: 0, max: 0 };

/** Returns whether the zone's offset is a multiple of a slice throughout their time. */
function isAligned(period: Period, slices: readonly SumsSlice[]): boolean {
  const [first, last] = slices.reduce<readonly [number, number]>(
    ([least, most], { slice }) => [Math.min(least, slice), Math.max(most, slice)],
    [Infinity, -Infinity],
  );
  return offsetPeriodsFor(period, first * SLICE_MS, (last + 1) * SLICE_MS).every(
    ({ from_ms, offset_ms }) => offset_ms % SLICE_MS === 0 && (from_ms <= first * SLICE_MS || from_ms % SLICE_MS === 0),
  );
}

function valueOf(aggregate: "count" | AggregateOfSums, slice: SumsSlice): GroupValue {
  if (aggregate === "count") return slice.count;
  return valueOfSums(aggregate, { ...slice, sum: slice.sum + slice.error });
}

async function filteredAndSorted(groups: readonly Group[], plan: GroupPlan, querying: WorkKind): Promise<Group[]> {
  const { having, skip, take } = plan;
  const kept =
    having === null ? groups : await filterYielding(groups, ({ values }) => meetsHaving(having, values), querying);
  const { rank, compare } = orderOfGroups<Group>(plan, parseNumber);
  const sorted = await sortYielding(await mapYielding(kept, rank, querying), compare, querying);
  return sorted.slice(skip, take === null ? undefined : skip + take).map(({ group }) => group);
}
