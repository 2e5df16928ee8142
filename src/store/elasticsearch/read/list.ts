import type { Client } from "@elastic/elasticsearch";

import type { EventRow } from "../../../events/event.ts";
import { isAttribute, someComparison } from "../../../query/plan.ts";
import type { Condition, ListPlan } from "../../../query/plan.ts";
import type { Page } from "../../store.ts";
import { runPlan, verified } from "./candidates.ts";
import { compileFilter } from "../compile/compile.ts";
import type { Query } from "../client/queries.ts";
import { compileSort, scored } from "../compile/compile-sort.ts";
import { uncertainSortQueries } from "../compile/uncertain.ts";
import { sourceOfFewRows } from "../documents/document.ts";
import { recordIndex } from "../documents/mapping.ts";
import type { Names } from "../documents/mapping.ts";
import { byTime, planDirection, isByTimeAlone, readPage, eventRowFromHit } from "./page.ts";
import { orderOfRows } from "./order.ts";
import { ANY_ORDER, isExact, scan, newSearcher, answerTotal, WINDOW, withPointInTime } from "../client/scan.ts";
import type { Hit, Searcher } from "../client/scan.ts";
import { sortYielding } from "../../../scheduling/yielding.ts";
import { seek } from "./seek.ts";
import { annotationsByQuery } from "./annotations.ts";
import type { WorkKind } from "../../../scheduling/yielding.ts";

/** Runs a list plan, for any page up to the end. */
export async function list(
  client: Client,
  names: Names,
  plan: ListPlan,
  { countUpTo = Infinity, querying }: { readonly countUpTo?: number; readonly querying: WorkKind },
): Promise<Page> {
  if (plan.logs.length === 0) return { rows: [], total: 0 };
  const index = recordIndex(names, plan.from);
  const [page, annotations] = await Promise.all([
    runPlan(plan, {
      async exact(found, search, data) {
        const query = scored(found, plan.sort);
        const isNear = plan.skip + plan.take <= WINDOW;
        if (data !== undefined) {
          return isNear ? nearPage(search, plan, query, countUpTo) : farPage(search, plan, query);
        }
        if (isNear) return nearPage(newSearcher(client, index), plan, query, countUpTo);
        return withPointInTime(client, index, (search) => farPage(search, plan, query));
      },
      byScanning: (query) =>
        withPointInTime(client, index, (search) => verifiedPage(search, plan, { query, countUpTo, querying })),
      fromRows: (rows) => ({ rows: inOrder(rows, plan).slice(plan.skip, plan.skip + plan.take), total: rows.length }),
      isWhole: countUpTo === Infinity || !isSortedByIndex(plan),
      querying,
      ...orderOptions(client, names, plan),
    }),
    // Started last: if both are single searches, the one for the page takes longer.
    annotationsOfMatches(client, names, plan),
  ]);
  return annotations === null ? page : { ...page, annotations };
}

/** Returns the records of a page within the window of a search, without counting hits. */
export async function rows(
  client: Client,
  names: Names,
  plan: ListPlan,
  querying: WorkKind,
): Promise<readonly EventRow[]> {
  const { logs, skip, take } = plan;
  if (logs.length === 0 || take === 0) return [];
  if (!isSortedByIndex(plan)) return (await list(client, names, plan, { querying })).rows;
  const index = recordIndex(names, plan.from);
  return await runPlan(plan, {
    async exact(query) {
      return (await readPage(newSearcher(client, index), plan, { query, skip, take, count: false })).rows;
    },
    byScanning: (query) => withPointInTime(client, index, (search) => firstVerified(search, plan, query, querying)),
    fromRows: (found) => inOrder(found, plan).slice(skip, skip + take),
    isWhole: false,
    querying,
    ...orderOptions(client, names, plan),
  });
}

/** Returns options for reading few events, in the plan's order if the index has it. */
function orderOptions(client: Client, names: Names, plan: ListPlan) {
  return {
    exactness: () => ({ isExact: true, doubts: uncertainSortQueries(plan) }),
    few: {
      client,
      index: recordIndex(names, plan.from),
      ...(isSortedByIndex(plan) && !isByTimeAlone(plan) && { sort: compileSort(plan.sort) }),
      source: sourceOfFewRows(plan.logs),
    },
  };
}

/** Tests events until the page is full. */
async function firstVerified(
  search: Searcher,
  plan: ListPlan,
  query: Query,
  querying: WorkKind,
): Promise<readonly EventRow[]> {
  const found: EventRow[] = [];
  const sort = compileSort(plan.sort);
  for await (const row of verified(search, plan, { query, sort, isWhole: false, querying })) {
    found.push(row);
    if (found.length === plan.skip + plan.take) break;
  }
  return found.slice(plan.skip);
}

/**
 * Returns the annotations of the events that a plan finds, or null if they must be requested by
 * ids. The query omits expressions, since copies have no index of words, and so finds a superset.
 */
async function annotationsOfMatches(
  client: Client,
  names: Names,
  plan: ListPlan,
): ReturnType<typeof annotationsByQuery> {
  if (plan.from.kind !== "events" || dependsOnClass(plan.where)) return null;
  return annotationsByQuery(client, names, compileFilter(plan, "broad").query);
}

/**
 * Returns few rows in the order of the plan. Rows by time are sorted here: sorting them in the
 * engine would take a considerable part of the time of the search.
 */
function inOrder(rows: readonly EventRow[], plan: ListPlan): readonly EventRow[] {
  if (!isSortedByIndex(plan)) return rows.toSorted(orderOfRows(plan.sort));
  return isByTimeAlone(plan) ? byTime(rows, planDirection(plan)) : rows;
}

/** Whether a plan tests the class, which copies keep while a rebuild changes that of events. */
function dependsOnClass(condition: Condition): boolean {
  return someComparison(condition, (each) => "field" in each && each.field === "class");
}

/** Number of hits up to which a page counts them itself. */
const COUNTED = 10_001;

/**
 * Reads a page within the window of a search. Counting all hits makes the search visit each of
 * them, whereas a page in time order needs few, and a count alone is cheap. So many hits are
 * counted by a separate request. That may see a later moment than the page, so the total includes
 * the page's rows.
 */
async function nearPage(search: Searcher, plan: ListPlan, query: Query, countUpTo: number): Promise<Page> {
  const { skip, take } = plan;
  const { rows, answer } = await readPage(search, plan, { query, skip, take, count: Math.min(countUpTo, COUNTED) });
  if (isExact(answer) || countUpTo <= COUNTED) return { rows, total: answerTotal(answer) };
  const counted = answerTotal(await search({ query, size: 0, track_total_hits: true }));
  return { rows, total: rows.length === 0 ? counted : Math.max(counted, skip + rows.length) };
}

/** Reads a page beyond the window of a search, from the nearer end. */
async function farPage(search: Searcher, plan: ListPlan, query: Query): Promise<Page> {
  const total = answerTotal(await search({ query, size: 0, track_total_hits: true }));
  const take = Math.min(plan.take, total - plan.skip);
  if (take <= 0) return { rows: [], total };
  const reversed = plan.skip > total / 2;
  const skip = reversed ? total - plan.skip - take : plan.skip;
  const rows = await rowsAt(search, plan, { query, reversed, skip, take });
  return { rows: reversed ? rows.toReversed() : rows, total };
}

async function rowsAt(
  search: Searcher,
  plan: ListPlan,
  place: { query: Query; reversed: boolean; skip: number; take: number },
): Promise<readonly EventRow[]> {
  const { reversed, take } = place;
  const isByTime = plan.sort.length === 0 || plan.sort[0]?.field === "created";
  const { query, skip } = isByTime ? await seek(search, { ...place, direction: planDirection(plan, reversed) }) : place;
  if (skip + take <= WINDOW) return (await readPage(search, plan, { query, reversed, skip, take, count: false })).rows;
  const sort = compileSort(plan.sort, reversed);
  const after = await walk(search, { query, sort, skip });
  const found = await search({
    query,
    sort,
    size: take,
    track_total_hits: false,
    _source: sourceOfFewRows(plan.logs),
    ...(after !== undefined && { search_after: after }),
  });
  return found.hits.hits.map(eventRowFromHit);
}

/** Returns the `search_after` position after `skip` hits. Reads sort values only. */
async function walk(
  search: Searcher,
  place: { query: Query; sort: ReturnType<typeof compileSort>; skip: number },
): Promise<Hit["sort"]> {
  let left = place.skip;
  let after: Hit["sort"];
  for await (const hits of scan(search, { query: place.query, sort: place.sort, batch: WINDOW, source: false })) {
    after = hits[Math.min(left, hits.length) - 1]?.sort;
    left -= hits.length;
    if (left <= 0) break;
  }
  return after;
}

/** Whether the index can sort by the plan's keys, whatever the query. Otherwise rows are sorted after they are read. */
function isSortedByIndex({ sort }: ListPlan): boolean {
  return sort.every(({ field }) => field !== "pattern" && field !== "level" && !isAttribute(field));
}

async function verifiedPage(
  search: Searcher,
  plan: ListPlan,
  { query, countUpTo, querying }: { readonly query: Query; readonly countUpTo: number; readonly querying: WorkKind },
): Promise<Page> {
  if (!isSortedByIndex(plan))
    return sortedPage(plan, verified(search, plan, { query, sort: ANY_ORDER, isWhole: true, querying }), querying);
  const rows: EventRow[] = [];
  let total = 0;
  const isWhole = countUpTo === Infinity;
  for await (const row of verified(search, plan, { query, sort: compileSort(plan.sort), isWhole, querying })) {
    if (total >= plan.skip && rows.length < plan.take) rows.push(row);
    total += 1;
    if (total >= countUpTo) break;
  }
  return { rows, total };
}

/** Sorts rows that arrive in any order into a page, keeping only slightly more rows than needed. */
async function sortedPage(
  { sort, skip, take }: ListPlan,
  rows: AsyncIterable<EventRow>,
  querying: WorkKind,
): Promise<Page> {
  const order = orderOfRows(sort);
  let kept: EventRow[] = [];
  let total = 0;
  for await (const row of rows) {
    total += 1;
    if (kept.push(row) >= (skip + take) * 2 + SPARE_ROWS)
      kept = (await sortYielding(kept, order, querying)).slice(0, skip + take);
  }
  return { rows: (await sortYielding(kept, order, querying)).slice(skip, skip + take), total };
}

/** Number of extra rows at which rows are sorted and cut. */
const SPARE_ROWS = 1_000;
