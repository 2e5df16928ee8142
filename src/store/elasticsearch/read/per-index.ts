import type { Client } from "@elastic/elasticsearch";

import { retryTransient, answerTotal } from "../client/scan.ts";
import type { AnswerLimits, Hit, SearchRequest } from "../client/scan.ts";

/**
 * Number of indices beyond which they are searched together. The second round then costs little
 * compared with the searches.
 */
const FEW_INDICES = 4;
/** Time for which an alias's indices are cached. The next search detects changes. */
const CACHED_MS = 60_000;

type CachedIndices = { readonly indices: readonly string[]; readonly until_ms: number };
/** Indices of each alias, as last seen. */
const indicesByAlias = new Map<string, CachedIndices>();

export type Found = { readonly hits: readonly Hit[]; readonly total: number };

/**
 * Searches each of the few indices of an alias by itself, all in one request. A search of several
 * shards first finds documents and then fetches them in a second round, which costs as much as
 * finding a hundred. A search of one shard does both at once.
 *
 * Hits are unordered, and each index returns its part of `size`; the total is that of all indices.
 * @returns null if the alias has one index or many, or other indices than those cached: the caller
 * then searches the alias as a whole, which also reports errors of an index
 */
export async function searchEachIndex(
  client: Client,
  alias: string,
  request: SearchRequest,
  limits: AnswerLimits = {},
): Promise<Found | null> {
  const indices = await indicesOf(client, alias);
  if (indices.length < 2 || indices.length > FEW_INDICES) return null;
  const header = { ignore_unavailable: true, allow_no_indices: true, allow_partial_search_results: false };
  const body = { ...request, size: Math.ceil((request.size ?? 0) / indices.length) };
  // Other indices of the alias: none, unless an index was created since.
  const others = [`${alias}-2*`, ...indices.map((index) => `-${index}`)];
  const places = [...indices, others];
  const { responses } = await retryTransient(() =>
    client.msearch({ searches: places.flatMap((index) => [{ ...header, index }, body]) }, limits),
  );
  const answers = responses.flatMap((answer) => ("error" in answer ? [] : [answer]));
  if (answers.length < places.length) return null;
  const isCacheCurrent = answers.every(({ _shards: { total } }, i) => total > 0 === i < indices.length);
  if (!isCacheCurrent) {
    indicesByAlias.delete(alias);
    return null;
  }
  return {
    hits: answers.flatMap(({ hits }) => hits.hits),
    total: answers.reduce((sum, answer) => sum + answerTotal(answer), 0),
  };
}

/** Whether an alias has a single index, as last seen. */
export async function isOneIndex(client: Client, alias: string): Promise<boolean> {
  return (await indicesOf(client, alias)).length === 1;
}

async function indicesOf(client: Client, alias: string): Promise<readonly string[]> {
  const cached = indicesByAlias.get(alias);
  if (cached !== undefined && performance.now() < cached.until_ms) return cached.indices;
  const indices = Object.keys(
    await client.indices.getAlias({ index: alias, ignore_unavailable: true, allow_no_indices: true }),
  );
  indicesByAlias.set(alias, { indices, until_ms: performance.now() + CACHED_MS });
  return indices;
}
