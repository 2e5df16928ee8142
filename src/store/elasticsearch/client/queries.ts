import type { estypes } from "@elastic/elasticsearch";

export type Query = NonNullable<estypes.QueryDslQueryContainer>;
/** Order of a search in Elasticsearch's form. */
export type Sort = estypes.SortCombinations[];

export const ALL: Query = { match_all: {} };
export const NOTHING: Query = { match_none: {} };
/** Finds documents, but no markers of deletions. */
export const IS_DOCUMENT: Query = { exists: { field: "log" } };

/** Finds one of several values. A single value as `term` costs less than a list of one. */
export function matchAnyValue(path: string, values: readonly string[]): Query {
  return values.length === 1 ? { term: { [path]: values[0]! } } : { terms: { [path]: [...values] } };
}

export function not(query: Query): Query {
  if (query.match_all) return NOTHING;
  if (query.match_none) return ALL;
  const inner = query.bool?.must_not;
  // Queries built here have a `must_not` of one query and no other clauses.
  if (inner !== undefined && !Array.isArray(inner)) return inner;
  return { bool: { must_not: query } };
}

export function and(queries: readonly Query[]): Query {
  const parts = queries.flatMap(conjuncts);
  if (parts.some((part) => part.match_none)) return NOTHING;
  return parts.length === 0 ? ALL : parts.length === 1 ? parts[0]! : { bool: { filter: parts } };
}

/** Returns the parts of a query that all must hold. */
export function conjuncts(query: Query): Query[] {
  if (query.match_all) return [];
  const { filter, must_not: others } = query.bool ?? {};
  return Array.isArray(filter) && others === undefined ? (filter as Query[]) : [query];
}

/** Returns how many levels a query has: one for each query that contains another, and the last. */
export function queryDepth({ bool }: Query): number {
  const parts = [bool?.filter, bool?.must_not, bool?.should].flatMap((part) => (part ?? []) as Query | Query[]);
  return 1 + parts.reduce((most, part) => Math.max(most, queryDepth(part)), 0);
}

export function or(queries: readonly Query[]): Query {
  const parts = queries.flatMap((query) => {
    if (query.match_none) return [];
    const should = query.bool?.should;
    return Array.isArray(should) ? (should as Query[]) : [query];
  });
  if (parts.some((part) => part.match_all)) return ALL;
  return parts.length === 0
    ? NOTHING
    : parts.length === 1
      ? parts[0]!
      : { bool: { should: parts, minimum_should_match: 1 } };
}
