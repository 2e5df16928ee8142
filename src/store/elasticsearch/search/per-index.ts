import type { Client } from "@elastic/elasticsearch";

import { patiently, totalOf } from "./scan.ts";
import type { Hit, Request } from "./scan.ts";

/**
 * Of more indices than this, all are searched as ever: what a round costs is little then beside the
 * searches themselves.
 */
const FEW_INDICES = 4;
/** How long the indices of an alias are remembered. That one has come or gone meanwhile is seen by the next search. */
const REMEMBERED_MS = 60_000;

type Known = { readonly indices: readonly string[]; readonly until_ms: number };
/** The indices of each alias, as they were seen last. */
const known = new Map<string, Known>();

export type Found = { readonly hits: readonly Hit[]; readonly total: number };

/**
 * Searches the few indices of an alias each by itself, all in one request. Of several shards at
 * once, a search first learns which documents to read and then reads them in a second round, which
 * costs as much as finding a hundred; of one shard it does both in one.
 *
 * What comes is in no order, and each index gives its part of `size`; the total is that of all.
 * @returns null where the indices are one, or many, or not those that were remembered: then the
 * alias is to be searched as a whole, which also tells what is wrong with one
 */
export async function searchEachIndex(client: Client, alias: string, request: Request): Promise<Found | null> {
  const indices = await indicesOf(client, alias);
  if (indices.length < 2 || indices.length > FEW_INDICES) return null;
  const header = { ignore_unavailable: true, allow_no_indices: true, allow_partial_search_results: false };
  const body = { ...request, size: Math.ceil((request.size ?? 0) / indices.length) };
  // Whatever the alias has besides is nothing, or somebody has made an index since.
  const others = [`${alias}-2*`, ...indices.map((index) => `-${index}`)];
  const places = [...indices, others];
  const { responses } = await patiently(() =>
    client.msearch({ searches: places.flatMap((index) => [{ ...header, index }, body]) }),
  );
  const answers = responses.flatMap((answer) => ("error" in answer ? [] : [answer]));
  if (answers.length < places.length) return null;
  const isAsRemembered = answers.every(({ _shards: { total } }, i) => total > 0 === i < indices.length);
  if (!isAsRemembered) {
    known.delete(alias);
    return null;
  }
  return {
    hits: answers.flatMap(({ hits }) => hits.hits),
    total: answers.reduce((sum, answer) => sum + totalOf(answer), 0),
  };
}

/** Whether an alias has one index alone, as it was seen last. */
export async function isOneIndex(client: Client, alias: string): Promise<boolean> {
  return (await indicesOf(client, alias)).length === 1;
}

async function indicesOf(client: Client, alias: string): Promise<readonly string[]> {
  const remembered = known.get(alias);
  if (remembered !== undefined && performance.now() < remembered.until_ms) return remembered.indices;
  const indices = Object.keys(
    await client.indices.getAlias({ index: alias, ignore_unavailable: true, allow_no_indices: true }),
  );
  known.set(alias, { indices, until_ms: performance.now() + REMEMBERED_MS });
  return indices;
}
