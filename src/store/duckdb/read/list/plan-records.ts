import type { DuckDBConnection } from "@duckdb/node-api";

import type { EventRow } from "../../../../events/event.ts";
import type { ListPlan } from "../../../../query/plan.ts";
import { compileCount, compilePage } from "../../compile/compile.ts";
import type { IdRange } from "../../compile/compile.ts";
import { queryRows } from "../../database/run-statement.ts";
import type { ColumnStatistics } from "../../memory/column-statistics.ts";
import type { QuerySchema } from "../../memory/query-schema.ts";
import { toRows } from "../read.ts";
import type { WorkKind } from "../../../../scheduling/yielding.ts";

/** What a list needs besides its plan. */
export type ListContext = {
  readonly connection: DuckDBConnection;
  readonly querying: WorkKind;
  readonly statistics: ColumnStatistics;
  readonly schema: QuerySchema;
  /** Taken before anything was read, see `ListTimesCache.set`. */
  readonly writeVersion: number | null;
};

/** Later than any time. */
export const END = 10n ** 17n;

/** Returns whether a plan is ordered by (`created`, `id`), in either direction. */
export function isByTime(plan: ListPlan): boolean {
  return plan.sort.length === 0 || (plan.sort.length === 1 && plan.sort[0]?.field === "created");
}

export function isNewestFirst({ sort }: ListPlan): boolean {
  return sort[0]?.direction === "desc";
}

/** Returns whether a plan finds all events of its logs. */
export function isEverything({ from, where }: ListPlan): boolean {
  return from.kind === "events" && where.kind === "and" && where.conditions.length === 0;
}

/** Counts the records of a plan, up to `most`, within `span` if one is given. */
export async function countRecords(
  { connection, querying, schema }: ListContext,
  plan: ListPlan,
  most: number,
  span: IdRange | null,
): Promise<number> {
  return Number((await queryRows(connection, compileCount(plan, most, span, schema), querying))[0]?.[0]);
}

/** Reads the page of a plan. `span` narrows the scan to the page; `skip` counts from its start. */
export async function readPage(
  { connection, querying, schema }: Pick<ListContext, "connection" | "querying" | "schema">,
  plan: ListPlan,
  skip: number,
  span: IdRange | null,
): Promise<EventRow[]> {
  return toRows(await queryRows(connection, compilePage(plan, skip, span, schema), querying), querying);
}
