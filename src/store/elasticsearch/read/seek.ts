import type { Direction, ListPlan } from "../../../query/plan.ts";
import type { EventExtent } from "../../within-time.ts";
import type { Query } from "../client/queries.ts";
import { matchAnyValue } from "../client/queries.ts";
import { answerTotal, WINDOW } from "../client/scan.ts";
import type { Searcher } from "../client/scan.ts";

/** Number of buckets per step. Four steps narrow a year to the millisecond. */
const BUCKETS = 1000;

/**
 * Narrows a position in the order of `created`. Returns a query that leaves out whole ranges of
 * time before the position, and the number of hits still to skip. It counts events by time and
 * zooms into the position's bucket until a search reaches it, or all events left are of one
 * millisecond.
 */
export async function seek(
  search: Searcher,
  place: { query: Query; skip: number; take: number; direction: Direction },
): Promise<{ query: Query; skip: number }> {
  const { query, direction } = place;
  let { skip } = place;
  let range = await readTimeRange(search);
  if (range === null) return { query, skip };
  while (skip + place.take > WINDOW && range.last > range.first) {
    const bucket_ms: number = Math.ceil((range.last - range.first + 1) / BUCKETS);
    const buckets = await count(search, within(query, range), range.first, bucket_ms, direction);
    let next: Range | null = null;
    for (const { key, doc_count } of buckets) {
      if (skip < doc_count) {
        next = { first: Math.max(key, range.first), last: Math.min(key + bucket_ms - 1, range.last) };
        break;
      }
      skip -= doc_count;
    }
    if (next === null) break;
    range = next;
  }
  const from = direction === "asc" ? { gte: range.first } : { lte: range.last };
  return { query: { bool: { filter: [query, { range: { created: from } }] } }, skip };
}

/**
 * Returns the earliest moment known from which on at most so many events match, or null if even the
 * last millisecond has more.
 */
export async function startOfNewest(search: Searcher, query: Query, most: number): Promise<number | null> {
  let range = await readTimeRange(search, query);
  while (range !== null) {
    const { first, last }: Range = range;
    const bucket_ms: number = Math.ceil((last - first + 1) / BUCKETS);
    let left = most;
    let start: number | null = null;
    let next: Range | null = null;
    for (const { key, doc_count } of await count(search, within(query, range), first, bucket_ms, "desc")) {
      if (doc_count > left) {
        next = { first: Math.max(key, first), last: Math.min(key + bucket_ms - 1, last) };
        break;
      }
      left -= doc_count;
      start = Math.max(key, first);
    }
    if (start !== null) return start;
    range = bucket_ms === 1 ? null : next;
  }
  return null;
}

/** Milliseconds since the Unix epoch, both inclusive. */
type Range = { first: number; last: number };

/**
 * Returns the first and last time of the events. The index knows these for all its events; for
 * those of a query it has to visit each event.
 */
export async function readTimeRange(search: Searcher, query?: Query): Promise<Range | null> {
  const { aggregations } = await search({
    ...(query !== undefined && { query }),
    size: 0,
    track_total_hits: false,
    aggs: { first: { min: { field: "created" } }, last: { max: { field: "created" } } },
  });
  const first = aggregations?.["first"]?.value ?? null;
  const last = aggregations?.["last"]?.value ?? null;
  return first === null || last === null ? null : { first, last };
}

/** Returns the extent of the events of logs. */
export async function readEventExtent(search: Searcher, { logs }: Pick<ListPlan, "logs">): Promise<EventExtent> {
  const query = matchAnyValue("log", logs);
  const [range, counted] = await Promise.all([
    readTimeRange(search, query),
    search({ query, size: 0, track_total_hits: true }),
  ]);
  return { count: answerTotal(counted), first: range?.first ?? Infinity, last: range?.last ?? -Infinity };
}

function within(query: Query, range: Range): Query {
  return { bool: { filter: [query, { range: { created: { gte: range.first, lte: range.last } } }] } };
}

async function count(
  search: Searcher,
  query: Query,
  first: number,
  bucket_ms: number,
  direction: Direction,
): Promise<{ key: number; doc_count: number }[]> {
  const { aggregations } = await search({
    query,
    size: 0,
    track_total_hits: false,
    aggs: {
      times: {
        date_histogram: {
          field: "created",
          fixed_interval: `${bucket_ms}ms`,
          // Aligns buckets with the start of the range.
          offset: `${((first % bucket_ms) + bucket_ms) % bucket_ms}ms`,
          min_doc_count: 1,
          order: { _key: direction },
        },
      },
    },
  });
  return (aggregations?.["times"]?.buckets ?? []).map(({ key, doc_count }) => ({ key: key as number, doc_count }));
}
