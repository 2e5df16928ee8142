import type { ClassFilter } from "../../src/catalog/catalog.ts";
import type { LogKey } from "../../src/events/event.ts";
import { matcherInSteps } from "./matcher.ts";
import { MatcherCache } from "./matcher-cache.ts";
import type { CacheSizes } from "./matcher-cache.ts";
import { patchMatcher } from "./patch.ts";
import type { PatchedMatcher } from "./patch.ts";

/** A log without a matcher for its current filters. */
export type Missing = {
  readonly log: LogKey;
  readonly owner: string;
  /** The array returned by the catalog, compared by identity. */
  readonly filters: readonly ClassFilter[];
};

/**
 * Maximum size of all matchers, some 200 MB, and of those of one owner, in units of {@link sizeOf}.
 * A log with the maximum number of filters of maximum length fits the owner's limit.
 */
const MAX_SIZE: CacheSizes = { all: 5_000_000, owner: 4_500_000 };

/** A log whose matcher is due, with the size of it. */
type Wanted = Missing & { readonly size: number };

/** Cost of a log's events without a matcher for its filters, in units of {@link sizeOf}. */
type Cost = { readonly filters: readonly ClassFilter[]; readonly size: number; spent: number };

/** Maximum number of logs with known costs. The logs without events for longest are dropped. */
const MAX_COSTS = 10_000;

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
export class Matchers {
  readonly #cache: MatcherCache;
  readonly #pause: () => Promise<void>;
  readonly #costs = new Map<LogKey, Cost>();
  readonly #wanted = new Map<LogKey, Wanted>();
  /** Size of the matchers built, by owner, since the queue was last empty. */
  readonly #builtByOwner = new Map<string, number>();
  #current: Missing | null = null;
  #building: Promise<void> | null = null;

  /** @param options.pause called and awaited between two steps */
  constructor({ maxSize = MAX_SIZE, pause }: { readonly maxSize?: CacheSizes; readonly pause: () => Promise<void> }) {
    this.#cache = new MatcherCache(maxSize);
    this.#pause = pause;
  }

  find(log: LogKey, filters: readonly ClassFilter[]): PatchedMatcher | null {
    const entry = this.#cache.find(log);
    if (entry === undefined) return null;
    if (entry.filters === filters) return entry.match;
    if (entry.patch?.filters !== filters) entry.patch = patchMatcher(entry, filters);
    const { match, isLarge } = entry.patch;
    if (match !== null && isLarge) this.missed({ log, owner: entry.owner, filters });
    return match;
  }

  /** Counts an event for which there was no matcher. */
  missed(missing: Missing): void {
    const { log, filters } = missing;
    // The matcher is being built.
    if (this.#current?.log === log && this.#current.filters === filters) return;
    const known = this.#costs.get(log);
    const cost = known?.filters === filters ? known : { filters, size: sizeOf(filters), spent: 0 };
    cost.spent += filters.length + EVENT_COST;
    this.#costs.delete(log);
    this.#costs.set(log, cost);
    if (this.#costs.size > MAX_COSTS) this.#costs.delete(this.#costs.keys().next().value!);
    if (cost.spent < cost.size) return;
    this.#wanted.set(log, { ...missing, size: cost.size });
    this.#building ??= this.#build();
  }

  /** Resolves once no matcher is left to build. */
  idle(): Promise<void> {
    return this.#building ?? Promise.resolve();
  }

  async #build(): Promise<void> {
    for (let next = this.#nextWanted(); next !== null; next = this.#nextWanted()) {
      this.#current = next;
      this.#wanted.delete(next.log);
      this.#builtByOwner.set(next.owner, this.#builtBy(next.owner) + next.size);
      const steps = matcherInSteps(next.filters);
      let step = steps.next();
      for (; step.done !== true; step = steps.next()) await this.#pause();
      this.#cache.insert({ ...next, match: step.value, patch: null });
      this.#costs.delete(next.log);
    }
    this.#current = null;
    this.#builtByOwner.clear();
    this.#building = null;
  }

  #nextWanted(): Wanted | null {
    let next: Wanted | null = null;
    for (const one of this.#wanted.values()) {
      if (next === null || this.#builtBy(one.owner) < this.#builtBy(next.owner)) next = one;
    }
    return next;
  }

  #builtBy(owner: string): number {
    return this.#builtByOwner.get(owner) ?? 0;
  }
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
