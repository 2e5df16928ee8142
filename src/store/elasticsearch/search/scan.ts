import type { Client, estypes } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";
import { setTimeout as sleep } from "node:timers/promises";

import { LoggiaError } from "../../../errors.ts";
import { NEW_INDEX_DELAYS_MS, retryWhile } from "../../../elasticsearch/retry.ts";
import type { Query } from "./compile.ts";
import type { Sort } from "./compile-sort.ts";

/** A search at most reaches this far into its hits; beyond, one goes on from the last hit seen. */
export const WINDOW = 10_000;
const KEEP_ALIVE = "2m";

export type Hit = estypes.SearchHit;

/** Part of a search: where it looks and what it asks. */
export type Request = Omit<estypes.SearchRequest, "index" | "allow_partial_search_results">;

/**
 * Of a search that orders its hits by a field, Elasticsearch first asks each shard what it may
 * hold, in a round of its own. That is not worth it for as many shards as a node is asked to search
 * at once in any case.
 */
export const FEW_SHARDS_UNASKED: Request = { pre_filter_shard_size: 5 };

/**
 * Searches an index, an alias or a point in time. A missing index is an empty one: it is made by its first document.
 * A shard that cannot answer is an error, never a smaller answer.
 */
export type Searcher = (request: Request) => Promise<estypes.SearchResponse<unknown, Record<string, Aggregate>>>;

/** What we read of the aggregations that we ask for. */
export type Aggregate = {
  readonly value?: number | null;
  readonly doc_count?: number;
  readonly sum_other_doc_count?: number;
  readonly doc_count_error_upper_bound?: number;
  readonly after_key?: Record<string, RawKey>;
  readonly buckets?: readonly Bucket[];
};
/** A group, with what is computed of it under names of our own. */
export type Bucket = {
  readonly key: RawKey | Record<string, RawKey>;
  readonly doc_count: number;
  readonly [computed: string]: unknown;
};
/** The key of a group as Elasticsearch tells it; null where the field is absent. */
export type RawKey = string | number | null;
export type Stats = {
  readonly count: number;
  readonly sum: number;
  readonly avg: number | null;
  readonly min: number | null;
  readonly max: number | null;
};

export function searcherOf(client: Client, index: string): Searcher {
  return (request) =>
    patiently(() =>
      client.search({
        ...request,
        index,
        ignore_unavailable: true,
        allow_no_indices: true,
        allow_partial_search_results: false,
      }),
    );
}

/**
 * An index answers 503 for the first moments after its first document has made it: a month begins,
 * somebody bookmarks for the first time. One that is being replaced by a later generation takes no
 * writes for a moment, and then is gone. That is waited for.
 */
export function patiently<T>(request: () => Promise<T>): Promise<T> {
  return retryWhile(isPassing, NEW_INDEX_DELAYS_MS, request);
}

/**
 * Documents of a request whose shard has no copy that is ready. Elasticsearch tells of each
 * document, and answers the request 200.
 */
export class NotReady extends LoggiaError {
  constructor(reason: string | null | undefined) {
    super("store_unavailable", `Elasticsearch could not read an event: ${reason ?? "its shard is not ready"}`);
  }
}

function isPassing(error: unknown): boolean {
  if (error instanceof NotReady) return true;
  if (!(error instanceof errors.ResponseError)) return false;
  return error.statusCode === 503 || isReplaced(error) || isBlocked(error);
}

/** Whether a request met an index that has just gone, which a later generation may have replaced. */
function isReplaced(error: unknown): boolean {
  if (!(error instanceof errors.ResponseError) || error.statusCode !== 404) return false;
  return /index_not_found_exception|search_context_missing_exception/.test(JSON.stringify(error.body ?? null));
}

/** Whether an index takes no writes. */
export function isBlocked(error: unknown): boolean {
  if (!(error instanceof errors.ResponseError) || error.statusCode !== 403) return false;
  return JSON.stringify(error.body ?? null).includes(BLOCKED);
}

/** What the cluster calls the error of a write to an index that takes none. */
export const BLOCKED = "cluster_block_exception";

/**
 * Runs `work` on the state of an index as it is now, whatever is written meanwhile. Where a later
 * generation replaces the index under it, the state is gone: then it runs once more, on what is
 * there now.
 */
export async function atOneMoment<T>(
  client: Client,
  index: string,
  work: (search: Searcher) => Promise<T>,
): Promise<T> {
  try {
    return await atThisMoment(client, index, work);
  } catch (error) {
    const isGone = isReplaced(error) || (error instanceof errors.ResponseError && error.statusCode === 503);
    if (!isGone) throw error;
    await sleep(NEW_INDEX_DELAYS_MS[0]);
    return atThisMoment(client, index, work);
  }
}

/** The same, but an index that goes meanwhile is an error. */
export async function atThisMoment<T>(
  client: Client,
  index: string,
  work: (search: Searcher) => Promise<T>,
): Promise<T> {
  const { id } = await patiently(() =>
    client.openPointInTime({
      index,
      keep_alive: KEEP_ALIVE,
      ignore_unavailable: true,
      allow_partial_search_results: false,
    }),
  );
  let latest = id;
  try {
    return await work(async (request) => {
      const answer = await client.search<unknown, Record<string, Aggregate>>({
        ...request,
        pit: { id: latest, keep_alive: KEEP_ALIVE },
        allow_partial_search_results: false,
      });
      latest = answer.pit_id ?? latest;
      return answer;
    });
  } finally {
    // It would end by itself; a failure to close it must not hide the answer.
    await client.closePointInTime({ id: latest }).catch(() => {});
  }
}

export type ScanOptions = {
  readonly query: Query;
  readonly sort: Sort;
  readonly batch: number;
  readonly source: estypes.SearchSourceConfig;
  /** Whether hits tell the version of their document. */
  readonly versions?: boolean;
};

/** All hits of a query in order, a batch at a time. Needs a searcher of one moment. */
export async function* scan(search: Searcher, options: ScanOptions): AsyncGenerator<readonly Hit[]> {
  const { query, sort, batch, source, versions = false } = options;
  let after: estypes.SortResults | undefined;
  for (;;) {
    const { hits } = await search({
      query,
      sort,
      size: batch,
      _source: source,
      track_total_hits: false,
      ...(versions && { seq_no_primary_term: true }),
      ...(after !== undefined && { search_after: after }),
    }).then((answer) => answer.hits);
    if (hits.length > 0) yield hits;
    after = hits.at(-1)?.sort;
    if (hits.length < batch || after === undefined) return;
  }
}

/** The order in which a scan costs least. */
export const ANY_ORDER: Sort = ["_shard_doc"];

export function totalOf(answer: estypes.SearchResponse<unknown, unknown>): number {
  const { total } = answer.hits;
  return typeof total === "number" ? total : (total?.value ?? 0);
}

/** Whether a query finds anything. */
export async function isFound(search: Searcher, query: Query): Promise<boolean> {
  return totalOf(await search({ query, size: 0, track_total_hits: 1, terminate_after: 1 })) > 0;
}

/** Whether {@link totalOf} is the number of all hits, and not just as far as they were counted. */
export function isExact({ hits: { total } }: estypes.SearchResponse<unknown, unknown>): boolean {
  return typeof total === "number" || total?.relation !== "gte";
}
