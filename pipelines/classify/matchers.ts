import type { ClassFilter } from "../../src/catalog/catalog.ts";
import type { LogKey } from "../../src/events/event.ts";
import { yieldToRequests } from "../../src/scheduling/cooperative.ts";
import { matcherInSteps } from "./matcher.ts";
import type { Matcher } from "./matcher.ts";
import { patchMatcher } from "./patch.ts";
import type { Patch, PatchedMatcher } from "./patch.ts";

/** A log without a matcher for its current filters. */
export type Missing = {
  readonly log: LogKey;
  readonly owner: string;
  /** The array returned by the catalog, compared by identity. */
  readonly filters: readonly ClassFilter[];
};

/**
 * Compiled matchers of logs, in bounded memory. Matchers are built in the background, one at a time
 * and in small steps; a finished one replaces its predecessor at once. A matcher serves the filter
 * array it was built from, and arrays that differ in a few filters, patched with a small matcher of
 * these.
 *
 * Testing all filters for one event costs far less than building a matcher. So a matcher is built
 * once the events of a log have cost as much without it: logs with thousands of filters and few
 * events add no work for others. If several are due, the owner with the least recent building work
 * comes first.
 */
export type Matchers = {
  find(log: LogKey, filters: readonly ClassFilter[]): PatchedMatcher | null;
  /** Counts an event for which there was no matcher. */
  missed(missing: Missing): void;
  /** Resolves once no matcher is left to build. */
  idle(): Promise<void>;
};

/**
 * Maximum size of all matchers, some 200 MB, and of those of one owner, in units of {@link sizeOf}.
 * A log with the maximum number of filters of maximum length fits the owner's limit.
 */
const MAX_SIZE = { all: 5_000_000, owner: 4_500_000 };

type CachedMatcher = Missing & {
  readonly match: Matcher;
  readonly size: number;
  /** Matcher for the log's current filters, if they differ from `filters`. */
  patch: Patch | null;
};

/** Cost of a log's events without a matcher for its filters, in units of {@link sizeOf}. */
type Cost = { readonly filters: readonly ClassFilter[]; readonly size: number; spent: number };

/** Maximum number of logs with known costs. The logs without events for longest are dropped. */
const MAX_COSTS = 10_000;

export function createMatchers(
  options: {
    readonly maxSize?: typeof MAX_SIZE;
    /** Called and awaited between two steps. */
    readonly pause?: () => Promise<void>;
  } = {},
): Matchers {
  const { maxSize = MAX_SIZE, pause = yieldToRequests } = options;
  /** In order of last use. */
  const cache = new Map<LogKey, CachedMatcher>();
  const sizeByOwner = new Map<string, number>();
  let totalSize = 0;
  const costs = new Map<LogKey, Cost>();
  const wanted = new Map<LogKey, Missing & { readonly size: number }>();
  /** Size of the matchers built, by owner, since the queue was last empty. */
  const built = new Map<string, number>();
  let current: Missing | null = null;
  let building: Promise<void> | null = null;

  const drop = (log: LogKey): void => {
    const entry = cache.get(log);
    if (entry === undefined) return;
    cache.delete(log);
    totalSize -= entry.size;
    const left = sizeByOwner.get(entry.owner)! - entry.size;
    if (left > 0) sizeByOwner.set(entry.owner, left);
    else sizeByOwner.delete(entry.owner);
  };

  const insert = (entry: CachedMatcher): void => {
    drop(entry.log);
    cache.set(entry.log, entry);
    totalSize += entry.size;
    sizeByOwner.set(entry.owner, (sizeByOwner.get(entry.owner) ?? 0) + entry.size);
    while (sizeByOwner.get(entry.owner)! > maxSize.owner && dropOldest(entry.owner, entry.log));
    while (totalSize > maxSize.all && dropOldest(largestOwner(), entry.log));
  };

  /**
   * Drops the oldest matcher of `owner`, except that of log `except`. If the owner has no other and
   * the limit of all is exceeded, drops the oldest of any owner. Returns whether one was dropped.
   */
  const dropOldest = (owner: string, except: LogKey): boolean => {
    const others = [...cache.values()].filter(({ log }) => log !== except);
    const oldest = others.find((entry) => entry.owner === owner) ?? (totalSize > maxSize.all ? others[0] : undefined);
    if (oldest === undefined) return false;
    drop(oldest.log);
    return true;
  };

  const largestOwner = (): string => {
    let largest = "";
    for (const [owner, size] of sizeByOwner) if (size > (sizeByOwner.get(largest) ?? 0)) largest = owner;
    return largest;
  };

  const nextWanted = (): (Missing & { readonly size: number }) | null => {
    let next: (Missing & { readonly size: number }) | null = null;
    for (const one of wanted.values()) {
      if (next === null || (built.get(one.owner) ?? 0) < (built.get(next.owner) ?? 0)) next = one;
    }
    return next;
  };

  const build = async (): Promise<void> => {
    for (let next = nextWanted(); next !== null; next = nextWanted()) {
      current = next;
      wanted.delete(next.log);
      built.set(next.owner, (built.get(next.owner) ?? 0) + next.size);
      const steps = matcherInSteps(next.filters);
      let step = steps.next();
      for (; step.done !== true; step = steps.next()) await pause();
      insert({ ...next, match: step.value, patch: null });
      costs.delete(next.log);
    }
    current = null;
    built.clear();
    building = null;
  };

  const missed = (missing: Missing): void => {
    const { log, filters } = missing;
    // The matcher is being built.
    if (current?.log === log && current.filters === filters) return;
    const known = costs.get(log);
    const cost = known?.filters === filters ? known : { filters, size: sizeOf(filters), spent: 0 };
    cost.spent += filters.length + EVENT_COST;
    costs.delete(log);
    costs.set(log, cost);
    if (costs.size > MAX_COSTS) costs.delete(costs.keys().next().value!);
    if (cost.spent < cost.size) return;
    wanted.set(log, { ...missing, size: cost.size });
    building ??= build();
  };

  return {
    find(log, filters) {
      const entry = cache.get(log);
      if (entry === undefined) return null;
      // A single entry is in order already.
      if (cache.size > 1) {
        cache.delete(log);
        cache.set(log, entry);
      }
      if (entry.filters === filters) return entry.match;
      if (entry.patch?.filters !== filters) entry.patch = patchMatcher(entry, filters);
      const { match, isLarge } = entry.patch;
      if (match !== null && isLarge) missed({ log, owner: entry.owner, filters });
      return match;
    },
    missed,
    idle: () => building ?? Promise.resolve(),
  };
}

/** Fixed cost of an event without a matcher: it waits for its turn on the thread. */
const EVENT_COST = 100;

/**
 * Estimates the size of a matcher: each character of a pattern may become a node, with a table if
 * it is near the roots, and each filter a table.
 */
function sizeOf(filters: readonly ClassFilter[]): number {
  const characters = filters.reduce((sum, { text, link }) => sum + text.length + link.length, 0);
  return characters + Math.min(characters * TABLE_SIZE, TABLES_MAX_SIZE) + filters.length * FILTER_SIZE;
}

const TABLE_SIZE = 3;
const TABLES_MAX_SIZE = 13_000;
const FILTER_SIZE = 20;
