import type { EventRow } from "../../../../events/event.ts";
import type { ListPlan } from "../../../../query/plan.ts";
import type { Page } from "../../../store.ts";
import { compileInOnePass, compileNearEnd, compileUnsorted } from "../../compile/compile.ts";
import { queryRows } from "../../database/run-statement.ts";
import { toRows } from "../read.ts";
import { END, isByTime, isEverything, isNewestFirst } from "./plan-records.ts";
import type { ListContext } from "./plan-records.ts";

/**
 * Lists of fewer records than this are found and returned in one pass. It reads whole rows, which
 * is slow if they are far apart; with blocks that exclude most rows, the pass stops sooner.
 */
const MOST_RECORDS = 1000;
const MOST_RECORDS_IN_BLOCKS = 100;
/** Stores with at most this many records are scanned in one pass. */
const SMALL_STORE = 100_000;

/** A page that ends further away would need a sort of everything before it. */
const NEAR_ROWS = 2000;
/** Margin, as a multiple of the span that events of even density would need. */
const MARGIN = 4;

/**
 * Returns page and count from one statement that scans little, or null if that was not enough:
 * a page near an end of all events, or the page of few records.
 */
export async function listInOnePass(context: ListContext, plan: ListPlan, countUpTo: number): Promise<Page | null> {
  if (isEverything(plan)) return isByTime(plan) ? listNearEnd(context, plan, countUpTo) : null;
  const most = await mostRecords(context, plan);
  return most === 0 ? null : listFew(context, plan, most);
}

/** Returns the most records for a single pass, or 0 if the page should be located by time first. */
async function mostRecords({ connection, statistics, schema }: ListContext, plan: ListPlan): Promise<number> {
  if (!isByTime(plan) || plan.from.kind !== "events") return MOST_RECORDS;
  if (schema.blocks.rangesOf(plan.where) !== null) return MOST_RECORDS_IN_BLOCKS;
  return (await statistics.extent(connection)).count <= SMALL_STORE ? MOST_RECORDS : 0;
}

/**
 * Lists few records. Returns null if there are `most` or more, which the pass notices early because
 * they are dense, or if a page beyond the end leaves the total unknown.
 */
async function listFew(
  { connection, querying, schema }: ListContext,
  plan: ListPlan,
  most: number,
): Promise<Page | null> {
  if (isByTime(plan) && most <= MOST_RECORDS_IN_BLOCKS) {
    const all = await queryRows(connection, compileUnsorted(plan, most, schema), querying);
    return all.length < most ? { rows: pageOfAll(await toRows(all, querying), plan), total: all.length } : null;
  }
  const found = await queryRows(connection, compileInOnePass(plan, most, schema), querying);
  const total = found.length > 0 ? Number(found[0]!.at(-1)) : plan.skip === 0 && plan.take > 0 ? 0 : most;
  return total < most ? { rows: await toRows(found, querying), total } : null;
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
  { connection, querying, statistics, schema }: ListContext,
  plan: ListPlan,
  countUpTo: number,
): Promise<Page | null> {
  const { count, first, last } = await statistics.extent(connection);
  const needed = plan.skip + plan.take;
  if (plan.take === 0 || needed > NEAR_ROWS || MARGIN * needed >= count) return null;
  const near_ms = BigInt(Math.ceil((MARGIN * needed * (last - first)) / count));
  const span = isNewestFirst(plan)
    ? { from: BigInt(last) - near_ms, to: END }
    : { from: -END, to: BigInt(first) + near_ms };
  const found = await queryRows(connection, compileNearEnd(plan, span, countUpTo, schema), querying);
  return found.length < plan.take ? null : { rows: await toRows(found, querying), total: Number(found[0]!.at(-1)) };
}
