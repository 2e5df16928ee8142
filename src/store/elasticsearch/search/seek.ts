import type { Direction } from "../../../query/plan.ts";
import type { Query } from "./compile.ts";
import { WINDOW } from "./scan.ts";
import type { Searcher } from "./scan.ts";

/** Buckets of one step: a year is narrowed to the millisecond in four. */
const BUCKETS = 1000;

/**
 * Moves a place in the order of `created` near: a query that leaves out whole stretches of time
 * before it, and how much of the rest is still to skip. Counts events by time and looks closer
 * where the place falls, until a search can reach it (or all of them are of one millisecond).
 */
export async function seek(
  search: Searcher,
  place: { query: Query; skip: number; take: number; direction: Direction },
): Promise<{ query: Query; skip: number }> {
  const { query, direction } = place;
  let { skip } = place;
  let range = await rangeOf(search);
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

/** Milliseconds since the Unix epoch, both inclusive. */
type Range = { first: number; last: number };

/**
 * From the first to the last moment of all that the index holds: that it knows, where those of a
 * query take a look at each event.
 */
export async function rangeOf(search: Searcher, query?: Query): Promise<Range | null> {
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
          // Buckets begin at the range's first moment.
          offset: `${((first % bucket_ms) + bucket_ms) % bucket_ms}ms`,
          min_doc_count: 1,
          order: { _key: direction },
        },
      },
    },
  });
  return (aggregations?.["times"]?.buckets ?? []).map(({ key, doc_count }) => ({ key: key as number, doc_count }));
}
