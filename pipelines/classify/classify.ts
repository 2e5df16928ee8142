import type { Catalog, ClassFilter } from "../../src/catalog/catalog.ts";
import type { LogKey, StoredEvent } from "../../src/events/event.ts";
import type { Transform } from "../stage.ts";
import { compileMatcher } from "./matcher.ts";
import type { Matcher, Subject } from "./matcher.ts";

/**
 * How large the compiled matchers of all logs may be together, counted by {@link sizeOf}: some 200 MB. Those of the logs that were quiet longest are
 * let go.
 */
const MATCHERS_MAX_SIZE = 5_000_000;

/**
 * Gives an event the class of the heaviest filter of its log that matches. An event of a log that the catalog does not know has no class, and goes on:
 * it was accepted, so it is kept.
 */
export function createClassify({ catalog }: { readonly catalog: Filters }): Transform {
  const classOf = createClassifier(catalog);
  return { name: "classify", change: (event) => void (event.class = classOf(event)) };
}

type Filters = Pick<Catalog, "log" | "classFilters">;

/** The class that an event is to have. */
export function createClassifier(catalog: Filters): (event: StoredEvent) => string | null {
  const matcherOf = createMatcherCache();
  return (event) =>
    catalog.log(event.log) === null ? event.class : matcherOf(event.log, catalog.classFilters(event.log))(event);
}

/** Compiled matchers by log, each kept as long as the log's list of filters is the very same array. */
export function createMatcherCache(
  maxSize: number = MATCHERS_MAX_SIZE,
): (log: LogKey, filters: readonly ClassFilter[]) => Matcher {
  /** In order of last use. */
  const kept = new Map<
    LogKey,
    { readonly filters: readonly ClassFilter[]; readonly match: Matcher; readonly size: number }
  >();
  let held = 0;

  function drop(log: LogKey): void {
    held -= kept.get(log)?.size ?? 0;
    kept.delete(log);
  }

  return (log, filters) => {
    const known = kept.get(log);
    if (filters.length === 0) {
      drop(log);
      return noClass;
    }
    const entry =
      known?.filters === filters ? known : { filters, match: compileMatcher(filters), size: sizeOf(filters) };
    drop(log);
    kept.set(log, entry);
    held += entry.size;
    for (const oldest of kept.keys()) {
      if (held <= maxSize || oldest === log) break;
      drop(oldest);
    }
    return entry.match;
  };
}

/** Each character of a pattern may become a node, which has a table of its own near the roots, and each filter a table. */
function sizeOf(filters: readonly ClassFilter[]): number {
  const characters = filters.reduce((sum, { text, link }) => sum + text.length + link.length, 0);
  return characters + Math.min(characters * TABLE_SIZE, TABLES_MAX_SIZE) + filters.length * FILTER_SIZE;
}

const TABLE_SIZE = 3;
const TABLES_MAX_SIZE = 13_000;
const FILTER_SIZE = 20;

function noClass(_event: Subject): null {
  return null;
}
