import { compareCodePoints, fold } from "../events/text.ts";
import { isAttribute } from "./plan.ts";
import { placeOfKey } from "./places.ts";
import type { ComparisonOp, Grouping, GroupPlan, HavingCondition } from "./plan.ts";

/** The parts of a group that are compared: a key for each grouping, a value for each aggregate. */
type Compared = {
  readonly keys: readonly (number | string | null)[];
  readonly values: readonly (number | string | null)[];
};

/** Returns whether the aggregates of a group meet a condition. A comparison with null is false. */
export function meetsHaving(having: HavingCondition, values: Compared["values"]): boolean {
  switch (having.kind) {
    case "and":
      return having.conditions.every((part) => meetsHaving(part, values));
    case "or":
      return having.conditions.some((part) => meetsHaving(part, values));
    case "not":
      return !meetsHaving(having.condition, values);
    case "compare": {
      const value = values[having.aggregate];
      return typeof value === "number" && compares(having.op, value, having.value);
    }
    case "absent":
      return values[having.aggregate] === null;
  }
  throw having satisfies never;
}

function compares(op: ComparisonOp, a: number, b: number): boolean {
  switch (op) {
    case "=":
      return a === b;
    case "<":
      return a < b;
    case "<=":
      return a <= b;
    case ">":
      return a > b;
    case ">=":
      return a >= b;
  }
  throw op satisfies never;
}

/**
 * Returns the order of a plan's groups, see {@link GroupPlan.sort}. `rank` prepares a group once
 * for all of its comparisons.
 *
 * @param numberOf returns the number that a text spells, or null
 */
export function orderOfGroups<G extends Compared>(
  { by, sort }: Pick<GroupPlan, "by" | "sort">,
  numberOf: (text: string) => number | null,
): { readonly rank: (group: G) => Ranked<G>; readonly compare: (a: Ranked<G>, b: Ranked<G>) => number } {
  const rankings = by.map((grouping) => rankingOf(grouping, numberOf));
  const sign = sort.direction === "asc" ? 1 : -1;
  const byKeys = (a: Ranked<G>, b: Ranked<G>): number => compareAll(a.ranks, b.ranks);
  const rank = (group: G): Ranked<G> => ({ group, ranks: group.keys.flatMap((key, i) => rankings[i]!(key)) });
  if (sort.by === "key") return { rank, compare: (a, b) => sign * byKeys(a, b) };
  const of = sort.by;
  const compare = (a: Ranked<G>, b: Ranked<G>): number =>
    sign * compareValues(a.group.values[of]!, b.group.values[of]!) || byKeys(a, b);
  return { rank, compare };
}

export type Ranked<G> = { readonly group: G; readonly ranks: readonly Rank[] };

/** A comparable key: absent before numbers, numbers before texts, texts folded and then exact. */
type Rank = { readonly number: number | null; readonly folded: string | null; readonly text: string };

type Ranking = (key: number | string | null) => Rank | readonly Rank[];

function rankingOf(by: Grouping, numberOf: (text: string) => number | null): Ranking {
  if (by.kind === "place") return (key) => ranksOfPlace(String(key));
  const numberIn = by.kind === "field" && isAttribute(by.field) ? numberOf : () => null;
  return (key) => {
    if (key === null) return { number: null, folded: null, text: "" };
    if (typeof key === "number") return { number: key, folded: null, text: "" };
    const number = numberIn(key);
    return { number, folded: number === null ? fold(key) : null, text: key };
  };
}

/** Ranks places from south to north, then from west to east. */
function ranksOfPlace(key: string): readonly Rank[] {
  const place = placeOfKey(key);
  return [place?.lat ?? null, place?.lon ?? null].map((number) => ({ number, folded: null, text: "" }));
}

function compareAll(a: readonly Rank[], b: readonly Rank[]): number {
  for (const [i, rank] of a.entries()) {
    const difference = compareRanks(rank, b[i]!);
    if (difference !== 0) return difference;
  }
  return 0;
}

function compareRanks(a: Rank, b: Rank): number {
  if (a.folded !== null && b.folded !== null) {
    return compareCodePoints(a.folded, b.folded) || compareCodePoints(a.text, b.text);
  }
  if (a.folded !== null || b.folded !== null) return a.folded !== null ? 1 : -1;
  return compareValues(a.number, b.number) || compareCodePoints(a.text, b.text);
}

/**
 * Compares aggregates: absent before numbers, numbers before texts, texts folded and then exact.
 */
function compareValues(a: number | string | null, b: number | string | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1;
  if (typeof a === "string" && typeof b === "string") {
    return compareCodePoints(fold(a), fold(b)) || compareCodePoints(a, b);
  }
  if (typeof a === "string" || typeof b === "string") return typeof a === "string" ? 1 : -1;
  return a < b ? -1 : a > b ? 1 : 0;
}
