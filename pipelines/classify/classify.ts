import type { Catalog, ClassFilter } from "../../src/catalog/catalog.ts";
import type { LogKey } from "../../src/events/event.ts";
import { transform } from "../stage.ts";
import type { Stage } from "../stage.ts";
import { compileMatcher } from "./matcher.ts";
import type { Matcher, Subject } from "./matcher.ts";

/** How many filters the compiled matchers of all logs may hold together; those of the logs that were quiet longest are let go. */
export const MATCHERS_MAX_FILTERS = 250_000;

/**
 * Gives an event the class of the heaviest filter of its log that matches. An event of a log that the catalog does not know has no class, and goes on:
 * it was accepted, so it is kept.
 */
export function createClassify({ catalog }: { readonly catalog: Pick<Catalog, "log" | "classFilters"> }): Stage {
  const matcherOf = createMatcherCache();
  return transform("classify", (event) => {
    if (catalog.log(event.log) === null) return event;
    return { ...event, class: matcherOf(event.log, catalog.classFilters(event.log))(event) };
  });
}

/** Compiled matchers by log, each kept as long as the log's list of filters is the very same array. */
export function createMatcherCache(
  maxFilters: number = MATCHERS_MAX_FILTERS,
): (log: LogKey, filters: readonly ClassFilter[]) => Matcher {
  /** In order of last use. */
  const kept = new Map<LogKey, { readonly filters: readonly ClassFilter[]; readonly match: Matcher }>();
  let held = 0;

  function drop(log: LogKey): void {
    held -= kept.get(log)?.filters.length ?? 0;
    kept.delete(log);
  }

  return (log, filters) => {
    const known = kept.get(log);
    if (filters.length === 0) {
      drop(log);
      return noClass;
    }
    const match = known?.filters === filters ? known.match : compileMatcher(filters);
    drop(log);
    kept.set(log, { filters, match });
    held += filters.length;
    for (const oldest of kept.keys()) {
      if (held <= maxFilters || oldest === log) break;
      drop(oldest);
    }
    return match;
  };
}

function noClass(_event: Subject): null {
  return null;
}
