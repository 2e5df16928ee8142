import type { estypes } from "@elastic/elasticsearch";

import { isAttribute } from "../../../query/plan.ts";
import type { Direction, SortField, SortKey } from "../../../query/plan.ts";
import { columnOf, keyOfField } from "../attributes.ts";
import { foldedPath } from "./compile.ts";

/** The order of a search, as Elasticsearch takes it. */
export type Sort = estypes.SortCombinations[];

/**
 * The order of a plan, which ends with the moment and the id of an event.
 * @param reversed the same order from its end
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
    // Absent values are smaller than all others.
    const missing = order === "asc" ? "_first" : "_last";
    if (isAttribute(field)) {
      // Whatever has a text comes behind all numbers, and what has neither before them.
      const key = keyOfField(field);
      sort.push({ [columnOf("folded", key)]: { order, missing, unmapped_type: "keyword" } });
      sort.push({ [columnOf("numbers", key)]: { order, missing, unmapped_type: "double" } });
      continue;
    }
    sort.push({ [foldedPath(field)]: { order, missing } });
    // Ids are unique: what follows decides nothing.
    if (field === "id") break;
  }
  return sort;
}
