import type { ClassFilter } from "../../src/catalog/catalog.ts";
import type { LogKey } from "../../src/events/event.ts";
import { yieldToRequests } from "../../src/scheduling/cooperative.ts";
import { matcherInSteps } from "./matcher.ts";
import type { Matcher } from "./matcher.ts";
import { patchMatcher } from "./patch.ts";
import type { Patch, PatchedMatcher } from "./patch.ts";

/** A log for whose filters no matcher is ready. */
export type Missing = {
  readonly log: LogKey;
  readonly owner: string;
  /** The very array that the catalog gave: another one has other filters. */
  readonly filters: readonly ClassFilter[];
};

/**
 * The compiled matchers of logs, in bounded memory. They are built beside the events, one at a time
 * and in small steps; the one that was built replaces the one before at once. It is used for the very
 * filters that it was built from, and for those that differ in a few, with a small one of these.
 *
 * Looking at all filters for an event costs far less than building a matcher. So one is built where
 * what a log's events have cost without it comes to what it costs: logs of thousands of filters and
 * few events make no work for the others. Of several that are wanted, the next is of the owner for
 * whom the least was built lately.
 */
export type Matchers = {
  find(log: LogKey, filters: readonly ClassFilter[]): PatchedMatcher | null;
  /** Counts an event for which there was none. */
  missed(missing: Missing): void;
  /** Resolves once nothing more is to be built. */
  idle(): Promise<void>;
};

/**
 * How large matchers may be, counted by {@link sizeOf}: all together, some 200 MB, and those of one
 * owner. A log with as many filters as it may have, each as long as it may be, is within the
 * latter.
 */
const MAX_SIZE = { all: 5_000_000, owner: 4_500_000 };

type Kept = Missing & {
  readonly match: Matcher;
  readonly size: number;
  /** For the filters that the log has now, where these are others. */
  patch: Patch | null;
};

/** What events of a log have cost without a matcher for its filters, in units of {@link sizeOf}. */
type Spent = { readonly filters: readonly ClassFilter[]; readonly size: number; spent: number };

/**
 * Logs of which costs are known. Of those beyond, the ones without events for longest are
 * forgotten.
 */
const MAX_COSTS = 10_000;

export function createMatchers(
  options: {
    readonly maxSize?: typeof MAX_SIZE;
    /** Awaited between two steps. */
    readonly pause?: () => Promise<void>;
  } = {},
): Matchers {
  const { maxSize = MAX_SIZE, pause = yieldToRequests } = options;
  /** In order of last use. */
  const kept = new Map<LogKey, Kept>();
  const heldBy = new Map<string, number>();
  let held = 0;
  const costs = new Map<LogKey, Spent>();
  const wanted = new Map<LogKey, Missing & { readonly size: number }>();
  /** What was built by owner, since nothing was wanted last. */
  const built = new Map<string, number>();
  let current: Missing | null = null;
  let building: Promise<void> | null = null;

  const drop = (log: LogKey): void => {
    const entry = kept.get(log);
    if (entry === undefined) return;
    kept.delete(log);
    held -= entry.size;
    const left = heldBy.get(entry.owner)! - entry.size;
    if (left > 0) heldBy.set(entry.owner, left);
    else heldBy.delete(entry.owner);
  };

  const keep = (entry: Kept): void => {
    drop(entry.log);
    kept.set(entry.log, entry);
    held += entry.size;
    heldBy.set(entry.owner, (heldBy.get(entry.owner) ?? 0) + entry.size);
    while (heldBy.get(entry.owner)! > maxSize.owner && dropOldest(entry.owner, entry.log));
    while (held > maxSize.all && dropOldest(largestOwner(), entry.log));
  };

  /**
   * Whether another one than that of `except` was dropped, of `owner` or, where it has no other, of
   * anybody.
   */
  const dropOldest = (owner: string, except: LogKey): boolean => {
    const others = [...kept.values()].filter(({ log }) => log !== except);
    const oldest = others.find((entry) => entry.owner === owner) ?? (held > maxSize.all ? others[0] : undefined);
    if (oldest === undefined) return false;
    drop(oldest.log);
    return true;
  };

  const largestOwner = (): string => {
    let largest = "";
    for (const [owner, size] of heldBy) if (size > (heldBy.get(largest) ?? 0)) largest = owner;
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
      keep({ ...next, match: step.value, patch: null });
      costs.delete(next.log);
    }
    current = null;
    built.clear();
    building = null;
  };

  const missed = (missing: Missing): void => {
    const { log, filters } = missing;
    // What is being built is there soon.
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
      const entry = kept.get(log);
      if (entry === undefined) return null;
      // The last one is where it belongs already.
      if (kept.size > 1) {
        kept.delete(log);
        kept.set(log, entry);
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

/** Besides its filters, an event has to wait for its turn. */
const EVENT_COST = 100;

/**
 * Each character of a pattern may become a node, which has a table of its own near the roots, and
 * each filter a table.
 */
function sizeOf(filters: readonly ClassFilter[]): number {
  const characters = filters.reduce((sum, { text, link }) => sum + text.length + link.length, 0);
  return characters + Math.min(characters * TABLE_SIZE, TABLES_MAX_SIZE) + filters.length * FILTER_SIZE;
}

const TABLE_SIZE = 3;
const TABLES_MAX_SIZE = 13_000;
const FILTER_SIZE = 20;
