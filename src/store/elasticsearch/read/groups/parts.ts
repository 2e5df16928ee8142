import { errors } from "@elastic/elasticsearch";
import type { estypes } from "@elastic/elasticsearch";

import type { GroupValue } from "../../../store.ts";
import type { Computation } from "./aggregates.ts";
import { and, not } from "../../client/queries.ts";
import type { Query } from "../../client/queries.ts";
import { answerTotal } from "../../client/scan.ts";
import type { Aggregate, Bucket, RawKey, Searcher } from "../../client/scan.ts";
import { filterOfSlices } from "../../compile/slices.ts";
import type { GroupSlice, Source } from "../../compile/slices.ts";

/** Groups of one slice of each key: the query and the sources among the slices. */
export type Part = {
  readonly query: Query;
  readonly slices: readonly GroupSlice[];
  readonly sources: readonly Source[];
};

/** A group as Elasticsearch returns it, with a raw key for each source of its part. */
export type RawGroup = { readonly raw: readonly RawKey[]; readonly bucket: Bucket };

export function groupPart(query: Query, slices: readonly GroupSlice[]): Part {
  const sources = slices.filter((slice) => slice.kind === "many");
  return { query: and([query, filterOfSlices(slices)]), slices, sources };
}

/** Returns the keys of a group in the order of its part's slices. */
export function keysIn({ slices }: Part, raw: readonly RawKey[]): GroupValue[] {
  let next = 0;
  return slices.map((slice) => (slice.kind === "one" ? slice.key : slice.keyOf(raw[next++]!)));
}

/** Yields the groups of a part in batches. */
export async function* groupsOfPart(
  search: Searcher,
  part: Part,
  computation: Computation,
): AsyncGenerator<RawGroup[]> {
  const [source, another] = part.sources;
  if (source === undefined) {
    yield await oneGroup(search, part.query, computation);
    return;
  }
  const some = another === undefined ? await fewGroups(search, part, source, computation) : null;
  if (some !== null) yield some;
  else yield* allGroups(search, part, computation);
}

async function oneGroup(search: Searcher, query: Query, { aggs }: Computation): Promise<RawGroup[]> {
  const answer = await search({ query, size: 0, track_total_hits: true, aggs });
  const count = answerTotal(answer);
  return count === 0 ? [] : [{ raw: [], bucket: { ...answer.aggregations, key: null, doc_count: count } }];
}

/** Reads the groups in one pass, faster than {@link allGroups}. Returns null if there are many. */
async function fewGroups(
  search: Searcher,
  part: Part,
  { source }: Source,
  computation: Computation,
): Promise<RawGroup[] | null> {
  if ("pair" in source) return null;
  if ("terms" in source) return fewValues(search, part, source.terms.field, computation);
  return fewTimes(search, part, source.date_histogram, computation);
}

/**
 * Groups by the values of a field. Elasticsearch has no group for events without the field, so they
 * are counted separately unless the groups add up to the total; that takes as long as the groups.
 */
async function fewValues(
  search: Searcher,
  part: Part,
  field: string,
  computation: Computation,
): Promise<RawGroup[] | null> {
  const { query } = part;
  const { aggs, page } = computation;
  // If an event may be in several groups, their counts do not show whether some events are missing.
  const [answer, absentGroups] = await Promise.all([
    search({
      query,
      size: 0,
      track_total_hits: true,
      aggs: { groups: { terms: { field, size: page, shard_size: page }, aggs } },
    }),
    mayRepeat(field) ? absentGroup(search, part, field, computation) : null,
  ]);
  const groups = answer.aggregations?.["groups"];
  if (groups === undefined) return [];
  if ((groups.sum_other_doc_count ?? 0) > 0) return null;
  const found = (groups.buckets ?? []).map((bucket): RawGroup => ({ raw: [bucket.key as RawKey], bucket }));
  const counted = found.reduce((sum, { bucket }) => sum + bucket.doc_count, 0);
  if (absentGroups === null && counted === answerTotal(answer)) return found;
  return [...found, ...(absentGroups ?? (await absentGroup(search, part, field, computation)))];
}

/** Returns the group of events without a value in a field, if there are any. */
export async function absentGroup(
  search: Searcher,
  { query }: Part,
  field: string,
  computation: Computation,
): Promise<RawGroup[]> {
  const groups = await oneGroup(search, and([query, not({ exists: { field } })]), computation);
  return groups.map(({ bucket }) => ({ raw: [null], bucket }));
}

/** Whether an event may have several values in a field. */
export function mayRepeat(field: string): boolean {
  return field === "tags" || field.includes(".");
}

async function fewTimes(
  search: Searcher,
  { query }: Part,
  histogram: estypes.AggregationsDateHistogramAggregation,
  { aggs }: Computation,
): Promise<RawGroup[] | null> {
  try {
    const times = { date_histogram: { ...histogram, min_doc_count: 1 }, aggs };
    const { aggregations } = await search({ query, size: 0, track_total_hits: false, aggs: { groups: times } });
    return (aggregations?.["groups"]?.buckets ?? []).map((bucket) => ({ raw: [bucket.key as number], bucket }));
  } catch (error) {
    if (isTooManyBuckets(error)) return null;
    throw error;
  }
}

function isTooManyBuckets(error: unknown): boolean {
  return error instanceof errors.ResponseError && JSON.stringify(error.body ?? null).includes("too_many_buckets");
}

/** Yields all groups in the order of their keys, with a pass over the events for each page. */
async function* allGroups(
  search: Searcher,
  { query, sources }: Part,
  { aggs, page }: Computation,
): AsyncGenerator<RawGroup[]> {
  const compound = compositeSources(sources);
  for await (const buckets of compositePages(search, query, { sources: compound, size: page }, aggs)) {
    yield buckets.map((bucket) => ({ raw: rawGroupKeys(sources, bucket.key as Record<string, RawKey>), bucket }));
  }
}

type CompositeSource =
  Exclude<Source["source"], { readonly pair: unknown }> | { readonly terms: { readonly field: string } };

type Composite = {
  readonly sources: readonly Record<string, CompositeSource>[];
  readonly size: number;
};

/** Returns a part's sources for a composite aggregation: `0`, or `1.0` and `1.1` for a pair. */
export function compositeSources(sources: readonly Source[]): readonly Record<string, CompositeSource>[] {
  return sources.flatMap(({ source }, i): Record<string, CompositeSource>[] =>
    "pair" in source ? source.pair.map((each, j) => ({ [`${i}.${j}`]: each })) : [{ [String(i)]: source }],
  );
}

/** Returns the raw key of each source from a composite key; a pair as `40.1203,-76.2944`. */
export function rawGroupKeys(sources: readonly Source[], key: Readonly<Record<string, RawKey>>): RawKey[] {
  return sources.map(({ source }, i) => {
    if (!("pair" in source)) return key[String(i)] ?? null;
    const [first = null, second = null] = [key[`${i}.0`], key[`${i}.1`]];
    return first === null ? null : `${first},${second}`;
  });
}

/** Yields the buckets of a composite aggregation, page by page. */
export async function* compositePages(
  search: Searcher,
  query: Query,
  composite: Composite,
  aggs: Computation["aggs"],
): AsyncGenerator<readonly Bucket[]> {
  let after: Aggregate["after_key"];
  do {
    const { aggregations } = await search({
      query,
      size: 0,
      track_total_hits: false,
      aggs: { groups: { composite: { ...ofClient(composite), ...(after !== undefined && { after }) }, aggs } },
    });
    const groups = aggregations?.["groups"];
    const buckets = groups?.buckets ?? [];
    yield buckets;
    after = buckets.length === composite.size ? groups?.after_key : undefined;
  } while (after !== undefined);
}

/** Casts to the client's type, which has no union of sources. */
function ofClient(composite: Composite): estypes.AggregationsCompositeAggregation {
  return composite as unknown as estypes.AggregationsCompositeAggregation;
}
