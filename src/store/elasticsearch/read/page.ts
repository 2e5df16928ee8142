import type { EventRow, LogKey } from "../../../events/event.ts";
import type { Direction, ListPlan } from "../../../query/plan.ts";
import type { Query } from "../client/queries.ts";
import { compileSort } from "../compile/compile-sort.ts";
import { sourceOfFewRows, toRow } from "../documents/document.ts";
import type { Document } from "../documents/document.ts";
import { WINDOW, WITHOUT_PRE_FILTER } from "../client/scan.ts";
import type { Hit, SearchRequest, Searcher } from "../client/scan.ts";

/** A page that one search reaches: `skip` plus `take` is at most {@link WINDOW}. */
export type PageRequest = {
  readonly query: Query;
  /** Whether the plan's order is reversed. */
  readonly reversed?: boolean;
  readonly skip: number;
  readonly take: number;
  /** Number of hits up to which they are counted. */
  readonly count: number | false;
};

export type FoundPage = { readonly rows: readonly EventRow[]; readonly answer: Awaited<ReturnType<Searcher>> };

type Plan = Pick<ListPlan, "sort" | "logs">;

/** Whether the order is by time, with ties broken by id. */
export function isByTimeAlone({ sort }: Plan): boolean {
  return sort.length === 0 || (sort.length === 1 && sort[0]!.field === "created");
}

/** Returns the direction of a plan whose first key is the time. */
export function planDirection({ sort }: Plan, reversed = false): Direction {
  return ((sort[0]?.direction ?? "asc") === "asc") !== reversed ? "asc" : "desc";
}

/** Sorts rows by time, then by id. */
export function byTime(rows: readonly EventRow[], direction: Direction): EventRow[] {
  const sign = direction === "desc" ? -1 : 1;
  return rows.toSorted((a, b) => sign * (a.created - b.created || (a.id < b.id ? -1 : 1)));
}

export function eventRowFromHit({ _source: source }: Hit): EventRow {
  return toRow(source as Document);
}

/** Reads a page, sorted by time only if that is enough. */
export async function readPage(search: Searcher, plan: Plan, page: PageRequest): Promise<FoundPage> {
  const request: SearchRequest = {
    query: page.query,
    track_total_hits: page.count,
    _source: sourceOfFewRows(plan.logs),
    ...WITHOUT_PRE_FILTER,
  };
  return (await readByTime(search, plan, page, request)) ?? (await readByKeys(search, plan, page, request));
}

async function readByKeys(
  search: Searcher,
  { sort }: Plan,
  { reversed, skip, take }: PageRequest,
  request: SearchRequest,
): Promise<FoundPage> {
  const answer = await search({ ...request, sort: compileSort(sort, reversed), from: skip, size: take });
  return { rows: answer.hits.hits.map(eventRowFromHit), answer };
}

/**
 * Time for which pages of a log are sorted by id too, after a page began or ended among events of
 * the same time.
 */
const TIES_LAST_MS = 60_000;
/** End of that time, by log. */
const tiesEnd_ms = new Map<LogKey, number>();

/**
 * Reads a page sorted by time only, which costs the engine less than sorting by time and id; events
 * of the same time are sorted by id here. Returns null if an event beside the page has the same
 * time as its first or last event, since then ids decide which events belong to the page.
 */
async function readByTime(
  search: Searcher,
  plan: Plan,
  { reversed, skip, take }: PageRequest,
  request: SearchRequest,
): Promise<FoundPage | null> {
  if (!isByTimeAlone(plan) || take === 0 || skip + take >= WINDOW) return null;
  if (plan.logs.some((log) => performance.now() < (tiesEnd_ms.get(log) ?? 0))) return null;
  // Reads one more event at either end to detect ties.
  const before = Math.min(1, skip);
  const answer = await search({
    ...request,
    sort: compileSort(plan.sort, reversed).slice(0, 1),
    from: skip - before,
    size: before + take + 1,
  });
  const rows = answer.hits.hits.map(eventRowFromHit);
  const isTied = (i: number): boolean => i > 0 && i < rows.length && rows[i - 1]!.created === rows[i]!.created;
  if (isTied(before) || isTied(before + take)) {
    for (const log of plan.logs) tiesEnd_ms.set(log, performance.now() + TIES_LAST_MS);
    return null;
  }
  return { rows: byTime(rows.slice(before, before + take), planDirection(plan, reversed)), answer };
}
