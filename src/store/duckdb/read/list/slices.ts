import type { ListPlan } from "../../../../query/plan.ts";
import type { Page } from "../../../store.ts";
import { compileSlices } from "../../compile/compile.ts";
import type { IdRange } from "../../compile/compile.ts";
import { queryRows } from "../../database/run-statement.ts";
import { isNewestFirst, readPage } from "./plan-records.ts";
import type { ListContext } from "./plan-records.ts";

/** Approximate number of time slices that a list is counted in to locate its page. */
const SLICES = 1024;

/** Lists by counting slices of time. The counts locate the page, so any page reads few rows. */
export async function listBySlices(context: ListContext, plan: ListPlan): Promise<Page> {
  const { connection, querying, statistics, schema } = context;
  const { first, last } = await statistics.extent(connection);
  const shift = Math.max(0, (last - first).toString(2).length - SLICES.toString(2).length + 1);
  const slices = (await queryRows(connection, compileSlices(plan, shift, schema), querying)) as [bigint, bigint][];
  const counted = slices.map(([slice, count]) => ({
    from: slice << BigInt(shift),
    to: (slice + 1n) << BigInt(shift),
    count: Number(count),
  }));
  return pageAmong(context, plan, isNewestFirst(plan) ? counted.toReversed() : counted);
}

/** A span and the number of a plan's records in it. */
type CountedSpan = IdRange & { readonly count: number };

/** Returns the page of a plan that lies within spans, given in the order of the plan. */
async function pageAmong(context: ListContext, plan: ListPlan, spans: readonly CountedSpan[]): Promise<Page> {
  let total = 0;
  let { skip } = plan;
  let around: IdRange | null = null;
  for (const { from, to, count } of spans) {
    if (total + count <= plan.skip) skip -= count;
    else if (total < plan.skip + plan.take) around = widened(around, from, to);
    total += count;
  }
  return { rows: around === null ? [] : await readPage(context, plan, skip, around), total };
}

function widened(span: IdRange | null, from: bigint, to: bigint): IdRange {
  if (span === null) return { from, to };
  return { from: from < span.from ? from : span.from, to: to > span.to ? to : span.to };
}
