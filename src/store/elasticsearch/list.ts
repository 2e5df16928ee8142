import type { Client } from "@elastic/elasticsearch";

import type { EventRow, LogKey } from "../../events/event.ts";
import { someComparison } from "../../query/plan.ts";
import type { Condition, ListPlan } from "../../query/plan.ts";
import type { Page } from "../store.ts";
import { answer, verified } from "./candidates.ts";
import { compileFilter, compileSort } from "./compile.ts";
import type { Query } from "./compile.ts";
import { ROW_SOURCE, sourceOfFewRows, toRow } from "./document.ts";
import type { Document } from "./document.ts";
import { indexOf } from "./mapping.ts";
import type { Names } from "./mapping.ts";
import { marksAmong } from "./people.ts";
import { atOneMoment, isExact, scan, searcherOf, totalOf, WINDOW } from "./scan.ts";
import type { Hit, Request, Searcher } from "./scan.ts";
import { seek } from "./seek.ts";

/** Answers a list plan; any page, to the end of all. */
export async function list(client: Client, names: Names, plan: ListPlan): Promise<Page> {
  if (plan.logs.length === 0) return { rows: [], total: 0 };
  const index = indexOf(names, plan.from);
  const [page, marks] = await Promise.all([
    answer(plan, {
      async exactly(query) {
        if (plan.skip + plan.take <= WINDOW) return nearPage(searcherOf(client, index), plan, query);
        return atOneMoment(client, index, (search) => farPage(search, plan, query));
      },
      looking: (query) => atOneMoment(client, index, (search) => verifiedPage(search, plan, query)),
      among: (rows) => ({ rows: inOrder(rows, plan).slice(plan.skip, plan.skip + plan.take), total: rows.length }),
      few: {
        search: searcherOf(client, index),
        wordless: names.wordless,
        sort: isByTimeAlone(plan) ? ["_doc"] : compileSort(plan.sort),
        source: sourceOfFewRows(plan.logs),
      },
    }),
    // Last: where both are but a search, the page's takes longer.
    marksAlong(client, names, plan),
  ]);
  return marks === null ? page : { ...page, marks };
}

/**
 * The marks of all that a plan finds, or null where they have to be asked for by ids. They are asked for without expressions, as copies have no index of words: what that finds
 * holds all that the plan does.
 */
async function marksAlong(client: Client, names: Names, plan: ListPlan): ReturnType<typeof marksAmong> {
  if (plan.from.kind !== "events" || asksForClass(plan.where)) return null;
  return marksAmong(client, names, compileFilter(plan, "broad").query);
}

function isByTimeAlone({ sort }: ListPlan): boolean {
  return sort.length === 0 || (sort.length === 1 && sort[0]!.field === "created");
}

/** Few rows in the order of a plan. Of time, we make it: ordering a hundred rows takes the engine as long as finding a third of them. */
function inOrder(rows: readonly EventRow[], plan: ListPlan): readonly EventRow[] {
  if (!isByTimeAlone(plan)) return rows;
  const sign = plan.sort[0]?.direction === "desc" ? -1 : 1;
  return rows.toSorted((a, b) => sign * (a.created - b.created || (a.id < b.id ? -1 : 1)));
}

/** A rebuilt store has events by the classes of today, and copies by those that they had when somebody got them. */
function asksForClass(condition: Condition): boolean {
  return someComparison(condition, (each) => each.kind !== "accepted-after" && each.field === "class");
}

/** Up to so many hits are counted along with a page. */
const COUNTED = 10_000;

/**
 * Who wants all hits counted makes the search look at each of them, where a page in the order of time needs but a few; counting alone costs next to nothing. So where
 * there are many, they are counted apart. The count may be of a later moment than the page: what the page shows is counted in any case.
 */
async function nearPage(search: Searcher, plan: ListPlan, query: Query): Promise<Page> {
  const request = { query, track_total_hits: COUNTED, _source: sourceOfFewRows(plan.logs) };
  const { rows, found } = (await pageByTime(search, plan, request)) ?? (await pageByKeys(search, plan, request));
  if (isExact(found)) return { rows, total: totalOf(found) };
  const counted = totalOf(await search({ query, size: 0, track_total_hits: true }));
  return { rows, total: rows.length === 0 ? counted : Math.max(counted, plan.skip + rows.length) };
}

type Found = { readonly rows: readonly EventRow[]; readonly found: Awaited<ReturnType<Searcher>> };

async function pageByKeys(search: Searcher, plan: ListPlan, request: Request): Promise<Found> {
  const found = await search({ ...request, sort: compileSort(plan.sort), from: plan.skip, size: plan.take });
  return { rows: found.hits.hits.map(rowOf), found };
}

/** How long a page of a log is not asked for by its time alone any more, once one had begun or ended among events of the same moment. */
const TIES_LAST_MS = 60_000;
/** When that ends, by log. */
const tiesEnd_ms = new Map<LogKey, number>();

/**
 * A page by its time alone, which takes the engine two thirds of what it takes by time and id: ids decide where moments are the same, and then so do we. Null where that is no
 * page, as events beside it are of the same moment as its first or its last, so that which of them belong to it is for the ids to say.
 */
async function pageByTime(search: Searcher, plan: ListPlan, request: Request): Promise<Found | null> {
  const { skip, take, logs } = plan;
  if (!isByTimeAlone(plan) || take === 0 || skip + take >= WINDOW) return null;
  if (logs.some((log) => performance.now() < (tiesEnd_ms.get(log) ?? 0))) return null;
  const before = Math.min(1, skip);
  const found = await search({
    ...request,
    sort: compileSort(plan.sort).slice(0, 1),
    from: skip - before,
    size: before + take + 1,
  });
  const hits = found.hits.hits.map(rowOf);
  const isTied = (i: number): boolean => i > 0 && i < hits.length && hits[i - 1]!.created === hits[i]!.created;
  if (isTied(before) || isTied(before + take)) {
    for (const log of logs) tiesEnd_ms.set(log, performance.now() + TIES_LAST_MS);
    return null;
  }
  return { rows: inOrder(hits.slice(before, before + take), plan), found };
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
): Promise<EventRow[]> {
  const { reversed, take } = place;
  const sort = compileSort(plan.sort, reversed);
  const isByTime = plan.sort.length === 0 || plan.sort[0]?.field === "created";
  const direction = ((plan.sort[0]?.direction ?? "asc") === "asc") !== reversed ? "asc" : "desc";
  const { query, skip } = isByTime ? await seek(search, { ...place, direction }) : place;
  if (skip + take <= WINDOW) {
    const found = await search({
      query,
      sort,
      from: skip,
      size: take,
      track_total_hits: false,
      _source: sourceOfFewRows(plan.logs),
    });
    return found.hits.hits.map(rowOf);
  }
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

async function verifiedPage(search: Searcher, plan: ListPlan, query: Query): Promise<Page> {
  const rows: EventRow[] = [];
  let total = 0;
  for await (const row of verified(search, plan, {
    query,
    sort: compileSort(plan.sort),
    source: ROW_SOURCE,
  })) {
    if (total >= plan.skip && rows.length < plan.take) rows.push(row);
    total += 1;
  }
  return { rows, total };
}

function rowOf(hit: Hit): EventRow {
  const { _source: source } = hit;
  return toRow(source as Document);
}
