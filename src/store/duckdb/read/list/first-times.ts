import type { DuckDBListValue } from "@duckdb/node-api";

import type { EventRow } from "../../../../events/event.ts";
import type { Condition, ListPlan } from "../../../../query/plan.ts";
import type { Page } from "../../../store.ts";
import type { EventExtent } from "../../../within-time.ts";
import { compileFirstTimes, compileShortPage } from "../../compile/compile.ts";
import type { IdRange } from "../../compile/compile.ts";
import { queryRows } from "../../database/run-statement.ts";
import { joinId } from "../../database/schema.ts";
import type { CachedTimes } from "../../memory/list-times-cache.ts";
import { toRows } from "../read.ts";
import { countRecords, END, isNewestFirst, readPage } from "./plan-records.ts";
import type { ListContext } from "./plan-records.ts";

/** Approximate number of records of all logs in the first span. */
const FIRST_SPAN_ROWS = 50_000;
/** Times read beyond the page, to tell whether few other records share the time of its last one. */
const SPARE_TIMES = 100;
const MARGIN_OF_SPANS = 1.5;
/** Smallest count that estimates density. If that is far too low, the next span is everything. */
const MIN_SAMPLE = 5;
const SURELY_ALL = 2;
const MIN_GROWTH = 4;
const MAX_GROWTH = 32;

/** Largest lower integer of an id. */
const MAX_ID_LO = 2 ** 32 - 1;

/**
 * Lists a page in order of time. Growing spans, from the end where the order begins, give their
 * counts and the times of their first records, until `countUpTo` records and the page are found.
 * Only the rows of the page are read whole.
 */
export async function listFirst(context: ListContext, plan: ListPlan, countUpTo: number): Promise<Page> {
  const needed = plan.skip + plan.take + SPARE_TIMES;
  const goal = Math.max(countUpTo, needed);
  const cached = await listFromCache(context, plan, goal);
  if (cached !== null) return cached;
  const extent = await context.statistics.extent(context.connection);
  const times: bigint[] = [];
  let total = 0;
  let edge: bigint | null = null;
  let isLast = false;
  for (let rows = FIRST_SPAN_ROWS; !isLast && total < goal;) {
    // Half of all events in another span cost as much as all of them.
    isLast = rows >= extent.count / 2;
    const span = spanUpTo(isLast ? null : edgeOf(extent, rows, isNewestFirst(plan)), edge, isNewestFirst(plan));
    // If few records are found, the times of all are cached.
    const needs = edge !== null && times.length === total ? goal : needed;
    const found = await firstRecords(context, plan, Math.max(0, needs - times.length), span);
    total += found.count;
    times.push(...found.times);
    edge = isNewestFirst(plan) ? span.from : span.to;
    const enough = (MARGIN_OF_SPANS * rows * goal) / Math.max(total, 1);
    const most = total >= MIN_SAMPLE && enough >= SURELY_ALL * extent.count ? extent.count : MAX_GROWTH * rows;
    rows = Math.min(Math.max(enough, MIN_GROWTH * rows), most);
  }
  const all = BigInt64Array.from(times);
  const isAll = isLast && times.length === total;
  if (isAll) await cacheTimes(context, plan, all);
  return { rows: await pageOf(context, plan, all, isAll), total };
}

/** Lists from the times that an earlier page cached, and from events accepted since. */
async function listFromCache(context: ListContext, plan: ListPlan, goal: number): Promise<Page | null> {
  const { listTimes } = context.statistics;
  const before = listTimes?.get(plan) ?? null;
  if (listTimes === null || before === null) return null;
  for (let isSame = before.writeVersion === context.writeVersion; ; isSame = false) {
    const times = isSame ? before.times : await withFresh(context, plan, before, goal);
    if (times === null) return null;
    const total = times.length;
    const rows = await pageOf(context, plan, times, true);
    if (!listTimes.isValid(before)) return null;
    // The rows may include writes since the query began.
    if (!isSame || before.writeVersion === listTimes.writeVersion) return { rows, total };
  }
}

/** Adds the records accepted since. Returns null if there are `goal` or more in total. */
async function withFresh(
  context: ListContext,
  plan: ListPlan,
  { times, upTo }: CachedTimes,
  goal: number,
): Promise<BigInt64Array | null> {
  const since: Condition = { kind: "accepted-after", id: joinId(upTo, MAX_ID_LO) };
  const where: Condition = { kind: "and", conditions: [plan.where, since] };
  const fresh = await firstRecords(context, { ...plan, where }, goal, { from: -END, to: END });
  if (times.length + fresh.count >= goal) return null;
  const all = BigInt64Array.from([...times, ...fresh.times]).sort();
  if (isNewestFirst(plan)) all.reverse();
  await cacheTimes(context, plan, all);
  return all;
}

/** Caches the times of a complete list. @param times of all records that the plan finds */
async function cacheTimes(
  { connection, querying, statistics: { listTimes }, writeVersion }: ListContext,
  plan: ListPlan,
  times: BigInt64Array,
): Promise<void> {
  if (listTimes === null || writeVersion === null || writeVersion !== listTimes.writeVersion) return;
  const sql = "select coalesce(max(id_hi), 0) from events";
  const [row] = await queryRows(connection, { sql, values: [], types: [] }, querying);
  listTimes.set(plan, writeVersion, { times, upTo: row![0] as bigint });
}

/**
 * Counts the records of a span and returns the times of the first `most`, in the order of the plan.
 */
async function firstRecords(
  context: ListContext,
  plan: ListPlan,
  most: number,
  span: IdRange,
): Promise<{ readonly count: number; readonly times: readonly bigint[] }> {
  if (most === 0) return { count: await countRecords(context, plan, Infinity, span), times: [] };
  const [row] = await queryRows(
    context.connection,
    compileFirstTimes(plan, most, span, context.schema),
    context.querying,
  );
  const [count, times] = row as [bigint, DuckDBListValue | null];
  return { count: Number(count), times: (times?.items ?? []) as bigint[] };
}

/**
 * Returns the page of a plan, given the times of its first records.
 * @param times of the first records, up to at least one after the page if there is one
 * @param isAll whether these are all records
 */
async function pageOf(context: ListContext, plan: ListPlan, times: BigInt64Array, isAll: boolean): Promise<EventRow[]> {
  if (plan.take === 0 || times.length <= plan.skip) return [];
  const first = times[plan.skip]!;
  const last = times[Math.min(plan.skip + plan.take, times.length) - 1]!;
  const [from, to] = isNewestFirst(plan) ? [last, first] : [first, last];
  const span = { from, to: to + 1n };
  const [start, end] = [times.indexOf(first), times.lastIndexOf(last) + 1];
  const skip = plan.skip - start;
  // If many records share a time, they are sorted before they are read whole.
  const isShort = end - start <= plan.take + 2 * SPARE_TIMES && (isAll || end < times.length);
  return isShort
    ? toRows(
        await queryRows(context.connection, compileShortPage(plan, skip, span, context.schema), context.querying),
        context.querying,
      )
    : readPage(context, plan, skip, span);
}

/**
 * Returns the time up to which about `rows` records of all logs lie, from where the order begins.
 */
function edgeOf({ count, first, last }: EventExtent, rows: number, newestFirst: boolean): bigint {
  const extent_ms = Math.ceil((rows / count) * (last - first));
  return BigInt(newestFirst ? last - extent_ms : first + extent_ms);
}

/** Returns the span after `before` up to `edge`, in the order; null is unbounded. */
function spanUpTo(edge: bigint | null, before: bigint | null, newestFirst: boolean): IdRange {
  return newestFirst ? { from: edge ?? -END, to: before ?? END } : { from: before ?? -END, to: edge ?? END };
}
