import { LEVELS } from "../../../events/level.ts";
import { isAttribute } from "../../../query/plan.ts";
import type { Direction, SortField, SortKey } from "../../../query/plan.ts";
import { attributeColumn, keyOfField } from "../documents/attributes.ts";
import { foldedPath, isAtLeast } from "./compile.ts";
import type { Query, Sort } from "../client/queries.ts";

/**
 * Compiles the order of a plan. Ties are broken by `created` and `id`.
 * For a level, the query must be {@link scored}.
 * @param reversed whether to reverse the order
 */
export function compileSort(keys: readonly SortKey[], reversed = false): Sort {
  const last = keys.at(-1)?.direction ?? "asc";
  const ties: SortKey[] = [
    { field: "created", direction: last },
    { field: "id", direction: last },
  ];
  const seen = new Set<SortField>();
  const sort: Sort = [];
  for (const { field, direction } of [...keys, ...ties]) {
    if (seen.has(field)) continue;
    seen.add(field);
    const order: Direction = (direction === "asc") !== reversed ? "asc" : "desc";
    // Absent values are less than all others.
    const missing = order === "asc" ? "_first" : "_last";
    if (isAttribute(field)) {
      // Values with texts sort after all numbers, absent ones before.
      const key = keyOfField(field);
      sort.push({ [attributeColumn("folded", key)]: { order, missing, unmapped_type: "keyword" } });
      sort.push({ [attributeColumn("numbers", key)]: { order, missing, unmapped_type: "double" } });
      continue;
    }
    if (field === "level") {
      sort.push({ _score: { order } });
      continue;
    }
    sort.push({ [foldedPath(field)]: { order, missing } });
    // Ids are unique, so later keys have no effect.
    if (field === "id") break;
  }
  return sort;
}

/**
 * Returns a query whose score is the rank of an event's level if a plan sorts by that. Documents
 * hold no level: it is derived from their tags.
 */
export function scored(query: Query, keys: readonly SortKey[]): Query {
  if (!keys.some(({ field }) => field === "level")) return query;
  const should = LEVELS.slice(1).map((_, index) => ({ constant_score: { filter: isAtLeast(index + 1), boost: 1 } }));
  return { bool: { filter: [query], should, minimum_should_match: 0 } };
}
