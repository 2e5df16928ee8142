import type { ClassFilter } from "../../src/catalog/catalog.ts";
import { isBefore } from "./loop.ts";
import { compileMatcher } from "./matcher.ts";
import type { Matcher, Subject } from "./matcher.ts";

/**
 * Maximum number of removed and added filters; a changed filter counts as both. A matcher of so few
 * is built in much less than a millisecond.
 */
const MAX_DIFFERENCES = 16;

/**
 * Returns the key of the filter that gives an event its class, null if none matches, or undefined
 * if all filters have to be tested.
 */
export type PatchedMatcher = (event: Subject) => string | null | undefined;

export type Patch = {
  readonly filters: readonly ClassFilter[];
  /** Null if too many filters differ. */
  readonly match: PatchedMatcher | null;
  /** Whether so many filters differ that a matcher of all filters is due. */
  readonly isLarge: boolean;
};

/**
 * Derives a matcher of `filters` from one of `base`, which differs in a few filters: the heaviest
 * match is that of the base or that of the added filters.
 */
export function patchMatcher(
  base: { readonly filters: readonly ClassFilter[]; readonly match: Matcher },
  filters: readonly ClassFilter[],
): Patch {
  const { removed, added } = differences(base.filters, filters);
  const count = removed.size + added.size;
  if (count > MAX_DIFFERENCES) return { filters, match: null, isLarge: true };
  const matchAdded = compileMatcher([...added.values()]);
  const match: PatchedMatcher = (event) => {
    const before = base.match(event);
    // A removed filter may have hidden any other filter.
    if (before !== null && removed.has(before)) return undefined;
    const after = matchAdded(event);
    if (before === null || after === null) return before ?? after;
    const found = base.filters.find(({ key }) => key === before)!;
    return isBefore(added.get(after)!, found) ? after : before;
  };
  return { filters, match, isLarge: count > MAX_DIFFERENCES / 2 };
}

/**
 * Returns the filters that only one of two lists has, by key. Lists are sorted by key; in unsorted
 * lists more filters count as changed.
 */
function differences(before: readonly ClassFilter[], after: readonly ClassFilter[]) {
  const removed = new Map<string, ClassFilter>();
  const added = new Map<string, ClassFilter>();
  for (let i = 0, j = 0; i < before.length || j < after.length;) {
    const [old, now] = [before[i], after[j]];
    if (old === now) {
      i += 1;
      j += 1;
      continue;
    }
    const isOld = now === undefined || (old !== undefined && old.key <= now.key);
    const isNow = old === undefined || (now !== undefined && now.key <= old.key);
    if (isOld) removed.set(old!.key, before[i++]!);
    if (isNow) added.set(now!.key, after[j++]!);
    if (removed.size + added.size > MAX_DIFFERENCES) break;
  }
  return { removed, added };
}
