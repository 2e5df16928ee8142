import type { Client } from "@elastic/elasticsearch";

import type { EventRow } from "../../../events/event.ts";
import { isAttribute, someComparison } from "../../../query/plan.ts";
import type { Condition, ListPlan } from "../../../query/plan.ts";
import type { Page } from "../../store.ts";
import { answer, verified } from "./candidates.ts";
import { compileFilter } from "./compile.ts";
import type { Query } from "./compile.ts";
import { compileSort } from "./compile-sort.ts";
import { doubtsOfSort } from "../text-index/doubts.ts";
import { ROW_SOURCE, sourceOfFewRows } from "../document.ts";
import { indexOf } from "../mapping.ts";
import type { Names } from "../mapping.ts";
import { byTime, directionOf, isByTimeAlone, readPage, rowOf } from "./page.ts";
import { marksAmong } from "../annotations.ts";
import { orderOfRows } from "./order.ts";
import { ANY_ORDER, atOneMoment, isExact, scan, searcherOf, totalOf, WINDOW } from "./scan.ts";
import type { Hit, Searcher } from "./scan.ts";
import { sortGently } from "../../../scheduling/pacer.ts";
import { seek } from "./seek.ts";

/** Answers a list plan; any page, to the end of all. */
export async function list(client: Client, names: Names, plan: ListPlan, countUpTo = Infinity): Promise<Page> {
  if (plan.logs.length === 0) return { rows: [], total: 0 };
  const index = indexOf(names, plan.from);
  const [page, marks] = await Promise.all([
    answer(plan, {
      async exactly(query) {
        if (plan.skip + plan.take <= WINDOW) return nearPage(searcherOf(client, index), plan, query, countUpTo);
        return atOneMoment(client, index, (search) => farPage(search, plan, query));
      },
      looking: (query) => atOneMoment(client, index, (search) => verifiedPage(search, plan, query, countUpTo)),
      among: (rows) => ({ rows: inOrder(rows, plan).slice(plan.skip, plan.skip + plan.take), total: rows.length }),
      ...orderedWays(client, names, plan),
    }),
    // Last: where both are but a search, the page's takes longer.
    marksAlong(client, names, plan),
  ]);
  return marks === null ? page : { ...page, marks };
}

/** The records of a page that one search reaches, uncounted. */
export async function rows(client: Client, names: Names, plan: ListPlan): Promise<readonly EventRow[]> {
  const { logs, skip, take } = plan;
  if (logs.length === 0 || take === 0) return [];
  if (!isSortedByIndex(plan)) return (await list(client, names, plan)).rows;
  const index = indexOf(names, plan.from);
  return await answer(plan, {
    async exactly(query) {
      return (await readPage(searcherOf(client, index), plan, { query, skip, take, count: false })).rows;
    },
    looking: (query) => atOneMoment(client, index, (search) => firstVerified(search, plan, query)),
    among: (found) => inOrder(found, plan).slice(skip, skip + take),
    ...orderedWays(client, names, plan),
  });
}

/** How few events are read, in the order of a plan where the index has that order. */
function orderedWays(client: Client, names: Names, plan: ListPlan) {
  return {
    doubts: doubtsOfSort(plan, names.earlier),
    few: {
      client,
      index: indexOf(names, plan.from),
      names,
      ...(isSortedByIndex(plan) && !isByTimeAlone(plan) && { sort: compileSort(plan.sort) }),
      source: sourceOfFewRows(plan.logs),
    },
  };
}

/** Looks at events until a page is full. */
async function firstVerified(search: Searcher, plan: ListPlan, query: Query): Promise<readonly EventRow[]> {
  const found: EventRow[] = [];
  const sort = compileSort(plan.sort);
  for await (const row of verified(search, plan, { query, sort, source: ROW_SOURCE })) {
    found.push(row);
    if (found.length === plan.skip + plan.take) break;
  }
  return found.slice(plan.skip);
}

/**
 * The marks of all that a plan finds, or null where they have to be asked for by ids. They are
 * asked for without expressions, as copies have no index of words: what that finds holds all that
 * the plan does.
 */
async function marksAlong(client: Client, names: Names, plan: ListPlan): ReturnType<typeof marksAmong> {
  if (plan.from.kind !== "events" || asksForClass(plan.where)) return null;
  return marksAmong(client, names, compileFilter(plan, "broad", names.earlier).query);
}

/**
 * Few rows in the order of a plan. Of time, we make it: ordering a hundred rows takes the engine as
 * long as finding a third of them.
 */
function inOrder(rows: readonly EventRow[], plan: ListPlan): readonly EventRow[] {
  if (!isSortedByIndex(plan)) return rows.toSorted(orderOfRows(plan.sort));
  return isByTimeAlone(plan) ? byTime(rows, directionOf(plan)) : rows;
}

/** A rebuilt store has events by the classes of its day, and copies by those that they had before. */
function asksForClass(condition: Condition): boolean {
  return someComparison(condition, (each) => "field" in each && each.field === "class");
}

/** Up to so many hits are counted along with a page. */
const COUNTED = 10_001;

/**
 * Who wants all hits counted makes the search look at each of them, where a page in the order of
 * time needs but a few; counting alone costs next to nothing. So where there are many, they are
 * counted apart. The count may be of a later moment than the page: what the page shows is counted
 * in any case.
 */
async function nearPage(search: Searcher, plan: ListPlan, query: Query, countUpTo: number): Promise<Page> {
  const { skip, take } = plan;
  const { rows, answer } = await readPage(search, plan, { query, skip, take, count: Math.min(countUpTo, COUNTED) });
  if (isExact(answer) || countUpTo <= COUNTED) return { rows, total: totalOf(answer) };
  const counted = totalOf(await search({ query, size: 0, track_total_hits: true }));
  return { rows, total: rows.length === 0 ? counted : Math.max(counted, skip + rows.length) };
}

/** A page that no search reaches by itself. It is counted from the nearer end. */
async function farPage(search: Searcher, plan: ListPlan, query: Query): Promise<Page> {
  const total = totalOf(await search({ query, size: 0, track_total_hits: true }));
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
  const { query, skip } = isByTime ? await seek(search, { ...place, direction: directionOf(plan, reversed) }) : place;
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
  return found.hits.hits.map(rowOf);
}

/** The place after `skip` hits, for `search_after`. Reads sort values alone. */
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

/** Whether the index knows what to sort by of each event; else rows are sorted as they are read. */
function isSortedByIndex({ sort }: ListPlan): boolean {
  return sort.every(({ field }) => field !== "pattern" && !isAttribute(field));
}

async function verifiedPage(search: Searcher, plan: ListPlan, query: Query, countUpTo: number): Promise<Page> {
  if (!isSortedByIndex(plan))
    return sortedPage(plan, verified(search, plan, { query, sort: ANY_ORDER, source: ROW_SOURCE }));
  const rows: EventRow[] = [];
  let total = 0;
  for await (const row of verified(search, plan, {
    query,
    sort: compileSort(plan.sort),
    source: ROW_SOURCE,
  })) {
    if (total >= plan.skip && rows.length < plan.take) rows.push(row);
    total += 1;
    if (total >= countUpTo) break;
  }
  return { rows, total };
}

/** A page of rows that come in any order: never many more than the page reaches are kept. */
async function sortedPage({ sort, skip, take }: ListPlan, rows: AsyncIterable<EventRow>): Promise<Page> {
  const order = orderOfRows(sort);
  let kept: EventRow[] = [];
  let total = 0;
  for await (const row of rows) {
    total += 1;
    if (kept.push(row) >= (skip + take) * 2 + KEPT) kept = (await sortGently(kept, order)).slice(0, skip + take);
  }
  return { rows: (await sortGently(kept, order)).slice(skip, skip + take), total };
}

/** Rows are sorted once there are so many more than are kept. */
const KEPT = 10_000;
