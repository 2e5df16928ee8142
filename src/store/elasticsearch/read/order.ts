import { numberOfValue } from "../../../events/attributes.ts";
import type { EventRow } from "../../../events/event.ts";
import { rankOfTags } from "../../../events/level.ts";
import { compareCodePoints, fold } from "../../../events/text.ts";
import { isAttribute } from "../../../query/plan.ts";
import type { Direction, SortField, SortKey } from "../../../query/plan.ts";
import { fieldNumbers, fieldTexts, attributeValues } from "./verify.ts";

/** Returns the order of a list plan, for rows that the index cannot sort. */
export function orderOfRows(sort: readonly SortKey[]): (a: EventRow, b: EventRow) => number {
  const ranksByRow = new WeakMap<EventRow, readonly Rank[]>();
  const ranksOf = (row: EventRow): readonly Rank[] => {
    let ranks = ranksByRow.get(row);
    if (ranks === undefined) {
      ranks = sort.map(({ field, direction }) => rankOf(row, field, direction));
      ranksByRow.set(row, ranks);
    }
    return ranks;
  };
  const last = sort.at(-1)?.direction ?? "asc";
  return (a, b) => {
    const [ofA, ofB] = [ranksOf(a), ranksOf(b)];
    for (const [i, { direction }] of sort.entries()) {
      const difference = compareRanks(ofA[i]!, ofB[i]!);
      if (difference !== 0) return direction === "asc" ? difference : -difference;
    }
    const tie = a.created - b.created || (a.id < b.id ? -1 : 1);
    return last === "asc" ? tie : -tie;
  };
}

/** Sort value of a row: absent before numbers, numbers before texts. Texts are folded. */
type Rank = number | string | null;

function rankOf(row: EventRow, field: SortField, direction: Direction): Rank {
  if (field === "created" || field === "value") return fieldNumbers(row, field)[0] ?? null;
  if (field === "level") return rankOfTags(row.tags);
  const ranks: Rank[] = isAttribute(field)
    ? attributeValues(row, field).map((value) => numberOfValue(value) ?? fold(String(value)))
    : fieldTexts(row, field).map(fold);
  ranks.sort(compareRanks);
  return (direction === "asc" ? ranks[0] : ranks.at(-1)) ?? null;
}

function compareRanks(a: Rank, b: Rank): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1;
  if (typeof a === "string" && typeof b === "string") return compareCodePoints(a, b);
  if (typeof a === "string" || typeof b === "string") return typeof a === "string" ? 1 : -1;
  return a - b;
}
