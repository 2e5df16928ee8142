import type { DuckDBConnection, DuckDBListValue } from "@duckdb/node-api";

import type { EventRow } from "../../../events/event.ts";
import type { Condition, ListPlan } from "../../../query/plan.ts";
import type { Page } from "../../store.ts";
import { queryRows } from "../database/run-statement.ts";
import {
  compileCount,
  compileInOnePass,
  compileFirstTimes,
  compileNearEnd,
  compilePage,
  compileShortPage,
  compileSlices,
  compileUnsorted,
} from "../compile/compile.ts";
import type { Span } from "../compile/compile.ts";
import { transaction } from "../database/transaction.ts";
import type { ColumnStatistics } from "../memory/column-statistics.ts";
import type { EventExtent } from "../../within-time.ts";
import { toRows } from "./read.ts";
import type { CachedTimes } from "../memory/list-times-cache.ts";
import { joinId } from "../database/schema.ts";
import type { QuerySchema } from "../memory/query-schema.ts";

/** Approximate number of time slices that a list is counted in to locate its page. */
const SLICES = 1024;

/**
 * Lists of fewer records than this are found and returned in one pass. It reads whole rows, which
 * is slow if they are far apart; with blocks that exclude most rows, the pass stops sooner.
 */
const SINGLE_PASS_LIMIT = 1000;
const SINGLE_PASS_LIMIT_IN_BLOCKS = 100;
/** Stores with at most this many records are scanned in one pass. */
const SMALL_STORE = 100_000;

/** What a query needs besides its plan. */
type ListContext = {
  readonly connection: DuckDBConnection;
  readonly statistics: ColumnStatistics;
  readonly schema: QuerySchema;
  /** Taken before anything was read, see {@link ListTimesCache.set}. */
  readonly writeVersion: number | null;
};

export async function list(
  connection: DuckDBConnection,
  plan: ListPlan,
  countUpTo: number,
  statistics: ColumnStatistics,
): Promise<Page> {
  const page = await statistics.runQuery(connection, async (schema) => {
    const context = { connection, statistics, schema, writeVersion: statistics.listTimes.writeVersion };
    const limit = isEverything(plan) ? 0 : await singlePassLimit(context, plan);
    const early = await (limit === 0 ? listNearEnd(context, plan, countUpTo) : listInOnePass(context, plan, limit));
    if (early !== null) return early;
    return transaction(connection, () => {
      if (!isByTime(plan)) return listSorted(context, plan, countUpTo);
      if (countUpTo === Infinity) return listByTime(context, plan);
      const isNear = plan.take > 0 && plan.skip + plan.take <= MAX_LOCATED_ROWS;
      return isNear ? listFirst(context, plan, countUpTo) : listUntilCounted(context, plan, countUpTo);
    });
  });
  return plan.from.kind !== "events" || plan.logs.some((log) => statistics.annotatedLogs.has(log))
    ? page
    : { ...page, annotations: NO_ANNOTATIONS };
}

const NO_ANNOTATIONS: NonNullable<Page["annotations"]> = new Map();

/** Returns the records of a page without a count. */
export async function rows(
  connection: DuckDBConnection,
  plan: ListPlan,
  statistics: ColumnStatistics,
): Promise<EventRow[]> {
  if (plan.take === 0) return [];
  return statistics.runQuery(connection, (schema) => page({ connection, schema }, plan, plan.skip, null));
}

/** Returns the most records for a single pass, or 0 if the page should be located by time first. */
async function singlePassLimit({ connection, statistics, schema }: ListContext, plan: ListPlan): Promise<number> {
  if (!isByTime(plan) || plan.from.kind !== "events") return SINGLE_PASS_LIMIT;
  if (schema.blocks.rangesOf(plan.where) !== null) return SINGLE_PASS_LIMIT_IN_BLOCKS;
  return (await statistics.extent(connection)).count <= SMALL_STORE ? SINGLE_PASS_LIMIT : 0;
}

/**
 * Lists few records in the pass that finds them. Returns null if there are `most` or more, which
 * the pass notices early because they are dense, or if a page beyond the end leaves the total
 * unknown.
 */
async function listInOnePass({ connection, schema }: ListContext, plan: ListPlan, most: number): Promise<Page | null> {
  if (isByTime(plan) && most <= SINGLE_PASS_LIMIT_IN_BLOCKS) {
    const all = await queryRows(connection, compileUnsorted(plan, most, schema));
    return all.length < most ? { rows: pageOfAll(await toRows(all), plan), total: all.length } : null;
  }
  const found = await queryRows(connection, compileInOnePass(plan, most, schema));
  const total = found.length > 0 ? Number(found[0]!.at(-1)) : plan.skip === 0 && plan.take > 0 ? 0 : most;
  return total < most ? { rows: await toRows(found), total } : null;
}

/** Returns the page of a plan in order of time from all records that it finds. */
function pageOfAll(all: readonly EventRow[], plan: ListPlan): EventRow[] {
  const sign = isNewestFirst(plan) ? -1 : 1;
  const sorted = all.toSorted((a, b) => sign * (a.created - b.created || (a.id < b.id ? -1 : 1)));
  return sorted.slice(plan.skip, plan.skip + plan.take);
}

/**
 * Lists a page near either end of time from the span that would hold it at the average density of
 * events, with a margin. Returns null for other pages, or if the span holds too few events.
 */
async function listNearEnd(
  { connection, statistics, schema }: ListContext,
  plan: ListPlan,
  countUpTo: number,
): Promise<Page | null> {
  const { count, first, last } = await statistics.extent(connection);
  const needed = plan.skip + plan.take;
  if (!isEverything(plan) || !isByTime(plan) || plan.take === 0 || needed > NEAR_ROWS || MARGIN * needed >= count)
    return null;
  const near_ms = BigInt(Math.ceil((MARGIN * needed * (last - first)) / count));
  const span =
    plan.sort[0]?.direction === "desc"
      ? { from: BigInt(last) - near_ms, to: END }
      : { from: -END, to: BigInt(first) + near_ms };
  const found = await queryRows(connection, compileNearEnd(plan, span, countUpTo, schema));
  return found.length < plan.take ? null : { rows: await toRows(found), total: Number(found[0]!.at(-1)) };
}

/** A page that ends further away would need a sort of everything before it; slices avoid that. */
const NEAR_ROWS = 2000;
/** Margin, as a multiple of the span that events of even density would need. */
const MARGIN = 4;
/** Later than any time. */
const END = 10n ** 17n;

function isEverything({ from, where }: ListPlan): boolean {
  return from.kind === "events" && where.kind === "and" && where.conditions.length === 0;
}

/** Lists by counting slices of time. The counts locate the page, so any page reads few rows. */
async function listByTime(context: ListContext, plan: ListPlan): Promise<Page> {
  const { connection, statistics, schema } = context;
  const { first, last } = await statistics.extent(connection);
  const shift = Math.max(0, (last - first).toString(2).length - SLICES.toString(2).length + 1);
  const slices = (await queryRows(connection, compileSlices(plan, shift, schema))) as [bigint, bigint][];
  const counted = slices.map(([slice, count]) => ({
    from: slice << BigInt(shift),
    to: (slice + 1n) << BigInt(shift),
    count: Number(count),
  }));
  return pageAmong(context, plan, isNewestFirst(plan) ? counted.toReversed() : counted);
}

/**
 * Lists a page in order of time. Growing spans, from the end where the order begins, give their
 * counts and the times of their first records, until `countUpTo` records and the page are found.
 * Only the rows of the page are read whole.
 */
async function listFirst(context: ListContext, plan: ListPlan, countUpTo: number): Promise<Page> {
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
  return { rows: total <= plan.skip ? [] : await pageOf(context, plan, all, isAll), total };
}

/** Lists from the times that an earlier page cached, and from events accepted since. */
async function listFromCache(context: ListContext, plan: ListPlan, goal: number): Promise<Page | null> {
  const { listTimes } = context.statistics;
  const before = listTimes.get(plan);
  if (before === null) return null;
  for (let isSame = before.writeVersion === context.writeVersion; ; isSame = false) {
    const times = isSame ? before.times : await withFresh(context, plan, before, goal);
    if (times === null) return null;
    const total = times.length;
    const rows = total <= plan.skip ? [] : await pageOf(context, plan, times, true);
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
  { connection, statistics, writeVersion }: ListContext,
  plan: ListPlan,
  times: BigInt64Array,
): Promise<void> {
  if (writeVersion === null || writeVersion !== statistics.listTimes.writeVersion) return;
  const sql = "select coalesce(max(id_hi), 0) from events";
  const [row] = await queryRows(connection, { sql, values: [], types: [] });
  statistics.listTimes.set(plan, writeVersion, { times, upTo: row![0] as bigint });
}

/** Largest lower integer of an id. */
const MAX_ID_LO = 2 ** 32 - 1;

/** Pages that end beyond this are not located by the times of all records before them. */
const MAX_LOCATED_ROWS = 10_000;
/** Times read beyond the page, to tell whether few other records share the time of its last one. */
const SPARE_TIMES = 100;
const MARGIN_OF_SPANS = 1.5;
/** Smallest count that estimates density. If that is far too low, the next span is everything. */
const MIN_SAMPLE = 5;
const SURELY_ALL = 2;
const MIN_GROWTH = 4;
const MAX_GROWTH = 32;

/**
 * Counts the records of a span and returns the times of the first `most`, in the order of the plan.
 */
async function firstRecords(
  context: ListContext,
  plan: ListPlan,
  most: number,
  span: Span,
): Promise<{ readonly count: number; readonly times: readonly bigint[] }> {
  if (most === 0) return { count: await countRecords(context, plan, Infinity, span), times: [] };
  const [row] = await queryRows(context.connection, compileFirstTimes(plan, most, span, context.schema));
  const [count, times] = row as [bigint, DuckDBListValue | null];
  return { count: Number(count), times: (times?.items ?? []) as bigint[] };
}

/**
 * Returns the page of a plan, given the times of its first records.
 * @param times of the first records, up to at least one after the page if there is one
 * @param isAll whether these are all records
 */
async function pageOf(context: ListContext, plan: ListPlan, times: BigInt64Array, isAll: boolean): Promise<EventRow[]> {
  const first = times[plan.skip]!;
  const last = times[Math.min(plan.skip + plan.take, times.length) - 1]!;
  const [from, to] = isNewestFirst(plan) ? [last, first] : [first, last];
  const span = { from, to: to + 1n };
  const [start, end] = [times.indexOf(first), times.lastIndexOf(last) + 1];
  const skip = plan.skip - start;
  // If many records share a time, they are sorted before they are read whole.
  const isShort = end - start <= plan.take + 2 * SPARE_TIMES && (isAll || end < times.length);
  return isShort
    ? toRows(await queryRows(context.connection, compileShortPage(plan, skip, span, context.schema)))
    : page(context, plan, skip, span);
}

/**
 * Returns the time up to which about `rows` records of all logs lie, from where the order begins.
 */
function edgeOf({ count, first, last }: EventExtent, rows: number, newestFirst: boolean): bigint {
  const extent_ms = Math.ceil((rows / count) * (last - first));
  return BigInt(newestFirst ? last - extent_ms : first + extent_ms);
}

/** Returns the span after `before` up to `edge`, in the order; null is unbounded. */
function spanUpTo(edge: bigint | null, before: bigint | null, newestFirst: boolean): Span {
  return newestFirst ? { from: edge ?? -END, to: before ?? END } : { from: before ?? -END, to: edge ?? END };
}

/**
 * Lists a page in order of time. Growing spans are counted from the end where the order begins,
 * until `countUpTo` records are found; what lies beyond is not read.
 */
async function listUntilCounted(context: ListContext, plan: ListPlan, countUpTo: number): Promise<Page> {
  const counted: CountedSpan[] = [];
  let left = countUpTo;
  for (const span of growingSpans(await context.statistics.extent(context.connection), isNewestFirst(plan))) {
    const count = await countRecords(context, plan, left, span);
    counted.push({ ...span, count });
    left -= count;
    if (left <= 0) break;
  }
  return pageAmong(context, plan, counted);
}

/** Yields spans that together cover all of time, from one end to the other. */
function* growingSpans(extent: EventExtent, newestFirst: boolean): Generator<Span> {
  let before: bigint | null = null;
  for (let rows = FIRST_SPAN_ROWS; rows < extent.count; rows *= SPAN_GROWTH) {
    const edge = edgeOf(extent, rows, newestFirst);
    yield spanUpTo(edge, before, newestFirst);
    before = edge;
  }
  yield spanUpTo(null, before, newestFirst);
}

/** Approximate number of records of all logs in the first span. */
const FIRST_SPAN_ROWS = 50_000;
const SPAN_GROWTH = 4;

async function listSorted(context: ListContext, plan: ListPlan, countUpTo: number): Promise<Page> {
  const total = await countRecords(context, plan, countUpTo, null);
  return { rows: total <= plan.skip ? [] : await page(context, plan, plan.skip, null), total };
}

async function countRecords(
  { connection, schema }: ListContext,
  plan: ListPlan,
  most: number,
  span: Span | null,
): Promise<number> {
  return Number((await queryRows(connection, compileCount(plan, most, span, schema)))[0]?.[0]);
}

/** Returns whether a plan is ordered by (`created`, `id`), in either direction. */
function isByTime(plan: ListPlan): boolean {
  return plan.sort.length === 0 || (plan.sort.length === 1 && plan.sort[0]?.field === "created");
}

function isNewestFirst({ sort }: ListPlan): boolean {
  return sort[0]?.direction === "desc";
}

/** A span and the number of a plan's records in it. */
type CountedSpan = Span & { readonly count: number };

/** Returns the page of a plan that lies within spans, given in the order of the plan. */
async function pageAmong(context: ListContext, plan: ListPlan, spans: readonly CountedSpan[]): Promise<Page> {
  let total = 0;
  let { skip } = plan;
  let around: Span | null = null;
  for (const { from, to, count } of spans) {
    if (total + count <= plan.skip) skip -= count;
    else if (total < plan.skip + plan.take) around = widened(around, from, to);
    total += count;
  }
  return { rows: around === null ? [] : await page(context, plan, skip, around), total };
}

function widened(span: Span | null, from: bigint, to: bigint): Span {
  if (span === null) return { from, to };
  return { from: from < span.from ? from : span.from, to: to > span.to ? to : span.to };
}

async function page(
  { connection, schema }: Pick<ListContext, "connection" | "schema">,
  plan: ListPlan,
  skip: number,
  span: Span | null,
): Promise<EventRow[]> {
  return toRows(await queryRows(connection, compilePage(plan, skip, span, schema)));
}
