import type { estypes } from "@elastic/elasticsearch";

import { isAttribute } from "../../../query/plan.ts";
import type { Direction, SortField, SortKey } from "../../../query/plan.ts";
import { columnOf, keyOfField } from "../attributes.ts";
import { foldedPath } from "./compile.ts";

/** Order of a search in Elasticsearch's form. */
export type Sort = estypes.SortCombinations[];

/**
 * Compiles the order of a plan. Ties are broken by `created` and `id`.
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
      sort.push({ [columnOf("folded", key)]: { order, missing, unmapped_type: "keyword" } });
      sort.push({ [columnOf("numbers", key)]: { order, missing, unmapped_type: "double" } });
      continue;
    }
    sort.push({ [foldedPath(field)]: { order, missing } });
    // Ids are unique, so later keys have no effect.
    if (field === "id") break;
  }
  return sort;
}
