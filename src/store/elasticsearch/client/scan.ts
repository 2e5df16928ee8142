import type { Client, estypes } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";
import { setTimeout as sleep } from "node:timers/promises";

import { LoggiaError } from "../../../errors.ts";
import { NEW_INDEX_DELAYS_MS, retryWhile } from "../../../elasticsearch/retry.ts";
import type { Query, Sort } from "./queries.ts";

/** Number of hits that a search reaches. Beyond it, searches continue after the last hit. */
export const WINDOW = 10_000;
const KEEP_ALIVE = "2m";

export type Hit = estypes.SearchHit;

/** A search without its index. */
export type SearchRequest = Omit<estypes.SearchRequest, "index" | "allow_partial_search_results">;

/**
 * For a search sorted by a field, Elasticsearch first checks in an extra round whether each shard
 * can have hits. That is not worth it for as few shards as a node searches concurrently.
 */
export const WITHOUT_PRE_FILTER: SearchRequest = { pre_filter_shard_size: 5 };

/**
 * Searches an index, an alias or a point in time. A missing index counts as empty: its first
 * document creates it. An unavailable shard is an error, never a partial result.
 */
export type Searcher = (request: SearchRequest) => Promise<estypes.SearchResponse<unknown, Record<string, Aggregate>>>;

/** The fields of aggregations that are read. */
export type Aggregate = {
  readonly value?: number | null;
  readonly count?: number;
  readonly doc_count?: number;
  readonly sum_other_doc_count?: number;
  readonly doc_count_error_upper_bound?: number;
  readonly after_key?: Record<string, RawKey>;
  readonly buckets?: readonly Bucket[];
};
/** A group, with its computed values under their names. */
export type Bucket = {
  readonly key: RawKey | Record<string, RawKey>;
  readonly doc_count: number;
  readonly [computed: string]: unknown;
};
/** Key of a group as Elasticsearch returns it; null if the field is absent. */
export type RawKey = string | number | null;

/** Limits of an answer; see {@link isTooLong}. */
export type AnswerLimits = { readonly maxResponseSize?: number };

export function newSearcher(client: Client, index: string, limits: AnswerLimits = {}): Searcher {
  return (request) =>
    retryTransient(() =>
      client.search(
        {
          ...request,
          index,
          ignore_unavailable: true,
          allow_no_indices: true,
          allow_partial_search_results: false,
        },
        limits,
      ),
    );
}

/** Whether an answer was not read because it is longer than its {@link AnswerLimits}. */
export function isTooLong(error: unknown): boolean {
  return error instanceof errors.RequestAbortedError && error.message.includes("bigger than the maximum allowed");
}

/**
 * Retries a request while an index is in transition. An index returns 503 right after its first
 * document has created it, for example in a new month. An index that is being replaced by a later
 * generation is blocked briefly, and then gone.
 */
export function retryTransient<T>(request: () => Promise<T>): Promise<T> {
  return retryWhile(isTransient, NEW_INDEX_DELAYS_MS, request);
}

/**
 * Thrown if the shard of a requested document has no copy ready. Elasticsearch reports it for the
 * document, in a response with status 200.
 */
export class ShardNotReady extends LoggiaError {
  constructor(reason: string | null | undefined) {
    super("store_unavailable", `Elasticsearch could not read an event: ${reason ?? "its shard is not ready"}`);
  }
}

function isTransient(error: unknown): boolean {
  if (error instanceof ShardNotReady) return true;
  if (!(error instanceof errors.ResponseError)) return false;
  return error.statusCode === 503 || isReplaced(error) || isBlocked(error);
}

/** Whether a request failed since its index was removed or replaced by a later generation. */
function isReplaced(error: unknown): boolean {
  if (!(error instanceof errors.ResponseError) || error.statusCode !== 404) return false;
  return /index_not_found_exception|search_context_missing_exception/.test(JSON.stringify(error.body ?? null));
}

/** Whether an index is blocked for writes. */
export function isBlocked(error: unknown): boolean {
  if (!(error instanceof errors.ResponseError) || error.statusCode !== 403) return false;
  return JSON.stringify(error.body ?? null).includes(BLOCK_EXCEPTION);
}

/** Type of Elasticsearch's error for a write to a blocked index. */
export const BLOCK_EXCEPTION = "cluster_block_exception";

/**
 * Runs `work` on a snapshot of an index. If a later generation replaces the index meanwhile, the
 * snapshot is lost, and `work` runs once more on the new index.
 */
export async function withPointInTime<T>(
  client: Client,
  index: string,
  work: (search: Searcher) => Promise<T>,
): Promise<T> {
  try {
    return await withPointInTimeOnce(client, index, work);
  } catch (error) {
    const isGone = isReplaced(error) || (error instanceof errors.ResponseError && error.statusCode === 503);
    if (!isGone) throw error;
    await sleep(NEW_INDEX_DELAYS_MS[0]);
    return withPointInTimeOnce(client, index, work);
  }
}

/** Runs `work` on a snapshot of an index, and fails if the index is removed meanwhile. */
export async function withPointInTimeOnce<T>(
  client: Client,
  index: string,
  work: (search: Searcher) => Promise<T>,
): Promise<T> {
  const { id } = await retryTransient(() =>
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
    // It expires by itself. A failure to close it must not hide the result.
    await client.closePointInTime({ id: latest }).catch(() => {});
  }
}

export type ScanOptions = {
  readonly query: Query;
  readonly sort: Sort;
  readonly batch: number;
  /** Returns the size of the next batch; by default all have the same. */
  readonly nextBatch?: (hits: readonly Hit[]) => number;
  readonly source: estypes.SearchSourceConfig;
  /** Whether hits include the version of their document. */
  readonly versions?: boolean;
};

/** Yields all hits of a query in order, in batches. Requires the searcher of a snapshot. */
export async function* scan(search: Searcher, options: ScanOptions): AsyncGenerator<readonly Hit[]> {
  const { query, sort, nextBatch, source, versions = false } = options;
  let { batch } = options;
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
    batch = nextBatch?.(hits) ?? batch;
  }
}

/** The order in which a scan costs least. */
export const ANY_ORDER: Sort = ["_shard_doc"];

export function answerTotal(answer: estypes.SearchResponse<unknown, unknown>): number {
  const { total } = answer.hits;
  return typeof total === "number" ? total : (total?.value ?? 0);
}

/** Whether a query finds anything. */
export async function isFound(search: Searcher, query: Query): Promise<boolean> {
  return answerTotal(await search({ query, size: 0, track_total_hits: 1, terminate_after: 1 })) > 0;
}

/** Whether {@link answerTotal} is the number of all hits rather than a lower bound. */
export function isExact({ hits: { total } }: estypes.SearchResponse<unknown, unknown>): boolean {
  return typeof total === "number" || total?.relation !== "gte";
}

/** Counts the documents of an index that searches see. */
export async function countDocuments(client: Client, index: string, query?: Query): Promise<number> {
  const request = { size: 0, track_total_hits: true, ...(query !== undefined && { query }) };
  return answerTotal(await newSearcher(client, index)(request));
}
