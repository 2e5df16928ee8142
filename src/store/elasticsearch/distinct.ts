import type { GroupValue } from "../store.ts";
import type { Computation } from "./aggregates.ts";
import { compositePages } from "./parts.ts";
import type { Part } from "./parts.ts";
import { and, not, or } from "./queries.ts";
import type { Query } from "./queries.ts";
import type { RawKey, Searcher } from "./scan.ts";

/** Numbers of different values up to here are counted; an estimate of so many may be some more or less. */
const EXACT = 10_000;
const SURELY_MORE = EXACT * 1.05;
const PAGE = 10_000;

/** A group whose values can still be set. */
export type Estimated = { readonly raw: readonly RawKey[]; readonly values: GroupValue[] };

/** Counts the different values of those groups of a part whose estimate says that they are few. */
export async function countDistinct(
  search: Searcher,
  part: Part,
  { distinct }: Computation,
  groups: readonly Estimated[],
): Promise<void> {
  for (const { aggregate, path } of distinct) {
    const few = groups.filter(({ values }) => isBetween(values[aggregate], 2, SURELY_MORE));
    if (few.length === 0) continue;
    const many = groups.filter(({ values }) => (values[aggregate] as number) > SURELY_MORE);
    const query = and([part.query, { exists: { field: path } }, ...without(part, many)]);
    const counts = await countPairs(search, part, query, path);
    for (const { raw, values } of few) values[aggregate] = counts.get(JSON.stringify(raw)) ?? 0;
  }
}

function isBetween(value: GroupValue | undefined, least: number, most: number): boolean {
  return typeof value === "number" && value >= least && value <= most;
}

function without({ sources }: Part, groups: readonly Estimated[]): Query[] {
  if (groups.length === 0) return [];
  return [not(or(groups.map(({ raw }) => and(sources.map(({ filterOf }, i) => filterOf(raw[i]!))))))];
}

/** How many values each group has, by its raw keys. */
async function countPairs(search: Searcher, part: Part, query: Query, path: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const sources = [
    ...part.sources.map(({ source }, i) => ({ [String(i)]: source })),
    { value: { terms: { field: path } } },
  ];
  for await (const buckets of compositePages(search, query, { sources, size: PAGE }, {})) {
    for (const { key } of buckets) {
      const raw = part.sources.map((_, i) => (key as Record<string, RawKey>)[String(i)] ?? null);
      const name = JSON.stringify(raw);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}
