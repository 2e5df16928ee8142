import type { Catalog, ClassFilter } from "../../src/catalog/catalog.ts";
import type { LogKey } from "../../src/events/event.ts";
import { yieldToRequests } from "../../src/scheduling/cooperative.ts";
import type { Classifiable } from "../../src/store/store.ts";
import type { Transform } from "../stage.ts";
import { classByLoop } from "./loop.ts";
import { createMatchers } from "./matchers.ts";
import type { Matchers } from "./matchers.ts";

type Filters = Pick<Catalog, "log" | "classFilters" | "ownerOf">;

/**
 * Gives an event the class of the heaviest filter of its log that matches. An event of a log that
 * the catalog does not know has no class, and goes on: it was accepted, so it is kept.
 */
export function createClassify({ catalog }: { readonly catalog: Filters }): Transform {
  const classOf = createClassifier(catalog);
  return {
    name: "classify",
    change: (event) => {
      const found = classOf(event);
      if (!(found instanceof Promise)) return void (event.class = found);
      return found.then((key) => void (event.class = key));
    },
  };
}

/**
 * The class that an event is to have, by the filters that its log has when this is called. A
 * promise where no matcher is ready for these: then the filters are looked at one after the other,
 * in pieces, while others have the thread in between.
 */
export function createClassifier(
  catalog: Filters,
  matchers: Matchers = createMatchers(),
): (event: Classifiable) => string | null | Promise<string | null> {
  const withoutMatcher = async (event: Classifiable, filters: readonly ClassFilter[]): Promise<string | null> => {
    matchers.missed({ log: event.log, owner: ownerOf(event.log), filters });
    await yieldToRequests();
    return classByLoop(filters, event, yieldToRequests);
  };
  const ownerOf = (log: LogKey): string => catalog.ownerOf(log) ?? "";
  return (event) => {
    if (catalog.log(event.log) === null) return event.class;
    const filters = catalog.classFilters(event.log);
    if (filters.length === 0) return null;
    const match = matchers.find(event.log, filters);
    const key = match?.(event);
    return key === undefined ? withoutMatcher(event, filters) : key;
  };
}
