import type { DuckDBConnection } from "@duckdb/node-api";

import type { EventRow } from "../../../events/event.ts";
import type { ListPlan } from "../../../query/plan.ts";
import type { Page } from "../../store.ts";
import { transaction } from "../database/transaction.ts";
import type { ColumnStatistics } from "../memory/column-statistics.ts";
import { listFirst } from "./list/first-times.ts";
import { listInOnePass } from "./list/one-pass.ts";
import { countRecords, isByTime, readPage } from "./list/plan-records.ts";
import type { ListContext } from "./list/plan-records.ts";
import { listBySlices } from "./list/slices.ts";
import type { WorkKind } from "../../../scheduling/yielding.ts";

/*
 * A list is read in the first of these ways that can read it. The last one can read every list, and
 * is the meaning of the others.
 *
 *     listInOnePass  few records, or a page near an end of all events: one statement
 *     listFirst      in order of time, a bounded count, a page among the first 10,000
 *     listBySlices   in order of time, any other page or count
 *     listSorted     in any order
 */

/** Pages that end beyond this are not located by the times of all records before them. */
const MAX_LOCATED_ROWS = 10_000;

const NO_ANNOTATIONS: NonNullable<Page["annotations"]> = new Map();

type ListReader = (
  connection: DuckDBConnection,
  plan: ListPlan,
  countUpTo: number,
  statistics: ColumnStatistics,
  querying: WorkKind,
) => Promise<Page>;

/** Lists a page, with a count that is exact up to `countUpTo`. */
export const list: ListReader = async (connection, plan, countUpTo, statistics, querying) => {
  const page = await readList(connection, statistics, querying, async (context) => {
    const found = await listInOnePass(context, plan, countUpTo);
    if (found !== null) return found;
    return transaction(connection, () => {
      if (!isByTime(plan)) return sortedPage(context, plan, countUpTo);
      const isNear = plan.skip + plan.take <= MAX_LOCATED_ROWS;
      return isNear && countUpTo < Infinity ? listFirst(context, plan, countUpTo) : listBySlices(context, plan);
    });
  });
  return plan.from.kind !== "events" || plan.logs.some((log) => statistics.annotatedLogs.has(log))
    ? page
    : { ...page, annotations: NO_ANNOTATIONS };
};

/** Counts all records and sorts them: the plain twin of {@link list}. */
export const listSorted: ListReader = (connection, plan, countUpTo, statistics, querying) =>
  readList(connection, statistics, querying, (context) =>
    transaction(connection, () => sortedPage(context, plan, countUpTo)),
  );

/** Returns the records of a page without a count. */
export async function rows(
  connection: DuckDBConnection,
  plan: ListPlan,
  statistics: ColumnStatistics,
  querying: WorkKind,
): Promise<EventRow[]> {
  if (plan.take === 0) return [];
  return statistics.runQuery(connection, (schema) => readPage({ connection, querying, schema }, plan, plan.skip, null));
}

function readList(
  connection: DuckDBConnection,
  statistics: ColumnStatistics,
  querying: WorkKind,
  read: (context: ListContext) => Promise<Page>,
): Promise<Page> {
  return statistics.runQuery(connection, (schema) =>
    read({ connection, querying, statistics, schema, writeVersion: statistics.listTimes?.writeVersion ?? null }),
  );
}

async function sortedPage(context: ListContext, plan: ListPlan, countUpTo: number): Promise<Page> {
  const total = await countRecords(context, plan, countUpTo, null);
  return { rows: total <= plan.skip ? [] : await readPage(context, plan, plan.skip, null), total };
}
