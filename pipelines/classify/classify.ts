import type { Catalog, ClassFilter } from "../../src/catalog/catalog.ts";
import type { LogKey } from "../../src/events/event.ts";
import type { Classifiable } from "../../src/store/store.ts";
import type { Transform } from "../stage.ts";
import { classByLoop } from "./loop.ts";
import { Matchers } from "./matchers.ts";
import type { Scheduler } from "../../src/scheduling/scheduler.ts";

type Filters = Pick<Catalog, "log" | "classFilters" | "ownerOf">;

/**
 * Gives an event the class of the heaviest matching filter of its log. An event of a log that the
 * catalog does not know gets no class and continues: it was accepted, so it is kept.
 */
export function createClassify(options: { readonly catalog: Filters; readonly scheduler: Scheduler }): Transform {
  const classOf = createClassifier(options.catalog, options.scheduler);
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
 * Returns a function that finds the class of an event by the current filters of its log. If no
 * matcher is ready for them, it returns a promise and tests the filters one by one, in steps,
 * yielding the thread in between.
 */
export function createClassifier(
  catalog: Filters,
  { yieldToRequests }: Pick<Scheduler, "yieldToRequests">,
  matchers = new Matchers({ pause: yieldToRequests }),
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
