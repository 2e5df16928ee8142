import type { GroupValue } from "../../../store.ts";
import type { Computation } from "./aggregates.ts";
import { compositePages, compositeSources, rawGroupKeys } from "./parts.ts";
import { MAX_DISTINCT } from "./distinct.ts";
import type { Part, RawGroup } from "./parts.ts";
import { and, not, or } from "../../client/queries.ts";
import type { Query } from "../../client/queries.ts";
import type { RawKey, Searcher } from "../../client/scan.ts";

/**
 * Limits up to which percentiles are computed exactly: numbers of a group, and of all groups.
 * Beyond the former, one percent of the ranks is more than one number.
 */
const MAX_NUMBERS_OF_GROUP = 100;
const MAX_NUMBERS = 50_000;
const MAX_EXCLUDED = 500;
const PAGE = 10_000;
/** Maximum page size. A response with all values takes a single pass over the events. */
const MAX_PAGE = 50_000;

/** A group whose values may still be replaced. */
export type Estimated = RawGroup & { readonly values: GroupValue[] };

/** Replaces estimates by exact values in those groups of a part that are small enough. */
export async function refine(
  search: Searcher,
  part: Part,
  { distinct, percentiles }: Computation,
  groups: readonly Estimated[],
): Promise<void> {
  for (const { aggregate, path } of distinct) {
    const sizeOf = ({ values }: Estimated): number => values[aggregate] as number;
    const few = groups.filter((group) => sizeOf(group) > 1 && sizeOf(group) <= MAX_DISTINCT);
    if (few.length === 0) continue;
    const many = groups.filter((group) => sizeOf(group) > MAX_DISTINCT);
    const expected = few.reduce((sum, group) => sum + sizeOf(group), 0);
    const found = await valuesOf(search, part, { path, without: many, expected });
    for (const { raw, values } of few) values[aggregate] = found.get(nameOf(raw))?.values ?? 0;
  }
  for (const { aggregate, path, percent, countIn } of percentiles) {
    const few = groups.filter(({ bucket }) => countIn(bucket) > 1 && countIn(bucket) <= MAX_NUMBERS_OF_GROUP);
    const many = groups.filter(({ bucket }) => countIn(bucket) > MAX_NUMBERS_OF_GROUP);
    const numbers = few.reduce((sum, { bucket }) => sum + countIn(bucket), 0);
    if (few.length === 0 || numbers > MAX_NUMBERS || many.length > MAX_EXCLUDED) continue;
    const found = await valuesOf(search, part, { path, without: many, expected: numbers, isListed: true });
    for (const { raw, values } of few) values[aggregate] = percentileIn(found.get(nameOf(raw))?.counts ?? [], percent);
  }
}

/** Number of distinct values of a group and, if requested, each value with its count, in order. */
type Values = { values: number; readonly counts: (readonly [value: number, count: number])[] };

function nameOf(raw: readonly RawKey[]): string {
  return JSON.stringify(raw);
}

function percentileIn(counts: Values["counts"], percent: number): number | null {
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  let rank = Math.max(1, Math.ceil((percent / 100) * total));
  for (const [value, count] of counts) {
    rank -= count;
    if (rank <= 0) return value;
  }
  return null;
}

type Wanted = {
  readonly path: string;
  readonly without: readonly Estimated[];
  /** Approximate number of values. */
  readonly expected: number;
  /** Whether the values are needed, not only their number. */
  readonly isListed?: boolean;
};

/** Returns the values of a column in each group, by the name of its raw keys. */
async function valuesOf(
  search: Searcher,
  part: Part,
  { path, without, expected, isListed }: Wanted,
): Promise<Map<string, Values>> {
  const found = new Map<string, Values>();
  const query = and([part.query, { exists: { field: path } }, ...excluding(part, without)]);
  const sources = [...compositeSources(part.sources), { value: { terms: { field: path } } }];
  // The estimate may be slightly too low.
  const size = Math.min(MAX_PAGE, Math.max(PAGE, Math.ceil(expected * 1.1)));
  for await (const buckets of compositePages(search, query, { sources, size }, {})) {
    for (const { key, doc_count: count } of buckets) {
      const keys = key as Record<string, RawKey>;
      const name = nameOf(rawGroupKeys(part.sources, keys));
      const values = found.get(name) ?? { values: 0, counts: [] };
      found.set(name, values);
      values.values += 1;
      if (isListed) values.counts.push([keys["value"] as number, count]);
    }
  }
  return found;
}

function excluding({ sources }: Part, groups: readonly Estimated[]): Query[] {
  if (groups.length === 0 || groups.length > MAX_EXCLUDED) return [];
  return [not(or(groups.map(({ raw }) => and(sources.map(({ filterOf }, i) => filterOf(raw[i]!))))))];
}
