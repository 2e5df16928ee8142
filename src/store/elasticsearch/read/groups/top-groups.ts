import type { Aggregate, GroupPlan } from "../../../../query/plan.ts";
import type { GroupValue } from "../../../store.ts";
import type { Computation } from "./aggregates.ts";
import { isSketched, aggregateOrderPath } from "./aggregates.ts";
import { absentGroup, mayRepeat } from "./parts.ts";
import type { Part, RawGroup } from "./parts.ts";
import { answerTotal } from "../../client/scan.ts";
import type { Bucket, RawKey, Searcher } from "../../client/scan.ts";

/** Number of groups beyond which sorting them here costs little compared with reading them. */
const MAX_WANTED = 1_000;
/** Extra groups requested: groups tied with the last one leave the order undecided. */
const SPARE = 50;

/**
 * Returns the greatest groups of a plan by one aggregate, plus some more, sorted by the index:
 * reading thousands of groups takes longer than computing them. Returns null if the index cannot
 * sort them, or if a group it left out could be among the greatest.
 */
export async function topGroups(
  search: Searcher,
  plan: GroupPlan,
  part: Part,
  { computation, isOneShard }: { readonly computation: Computation; readonly isOneShard: () => Promise<boolean> },
): Promise<RawGroup[] | null> {
  const order = orderOf(plan);
  const [source] = part.sources;
  if (order === null || part.slices.length > 1 || source === undefined || !("terms" in source.source)) return null;
  const { field } = source.source.terms;
  const { aggs, page } = computation;
  const size = order.wanted + SPARE;
  // One shard knows its greatest groups. Several shards have to return all of theirs.
  const shardSize = (await isOneShard()) ? size : page;
  const terms = { field, size, shard_size: shardSize, order: { [order.path]: "desc" as const } };
  const [answer, absentGroups] = await Promise.all([
    search({ query: part.query, size: 0, track_total_hits: true, aggs: { groups: { terms, aggs } } }),
    mayRepeat(field) ? absentGroup(search, part, field, computation) : null,
  ]);
  const groups = answer.aggregations?.["groups"];
  if (groups === undefined) return [];
  const buckets = groups.buckets ?? [];
  const others = groups.sum_other_doc_count ?? 0;
  const counted = buckets.reduce((sum, bucket) => sum + bucket.doc_count, others);
  const absent =
    absentGroups ?? (counted === answerTotal(answer) ? [] : await absentGroup(search, part, field, computation));
  const valueOf = (bucket: Bucket): GroupValue => computation.read(bucket)[order.by]!;
  // With several shards, the order is final only if each returned all its groups.
  const { _shards: shards } = answer;
  const isOfAll = shards.total === 1 || groups.doc_count_error_upper_bound === 0;
  const isWhole = others === 0 && isOfAll;
  if (!isWhole && !(isOfAll && isDecided(order.wanted, buckets, valueOf))) return null;
  return [...buckets.map((bucket) => ({ raw: [bucket.key as RawKey], bucket })), ...absent];
}

type Order = { readonly by: number; readonly path: string; readonly wanted: number };

/** Returns the order for the index, or null if it does not sort the plan's groups. */
function orderOf({ sort, aggregates, having, skip, take }: GroupPlan): Order | null {
  if (sort.by === "key" || sort.direction === "asc" || having !== null || take === null) return null;
  const wanted = skip + take;
  const path = pathOf(aggregates[sort.by]!);
  return path === null || aggregates.some(isSketched) || wanted > MAX_WANTED ? null : { by: sort.by, path, wanted };
}

function pathOf(aggregate: Aggregate): string | null {
  if (aggregate.kind === "count") return aggregate.where === null ? "_count" : null;
  return "of" in aggregate ? aggregateOrderPath(aggregate) : null;
}

/** Whether enough groups are greater than the last one, and thus than all groups left out. */
function isDecided(wanted: number, buckets: readonly Bucket[], valueOf: (bucket: Bucket) => GroupValue): boolean {
  const values = buckets.map(valueOf);
  const least = values.at(-1);
  // The index sorts groups without a number among the others.
  if (typeof least !== "number") return false;
  return values.filter((value) => typeof value === "number" && value > least).length >= wanted;
}
