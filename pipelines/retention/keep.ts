import type { Catalog } from "../../src/catalog/catalog.ts";
import type { LogKey } from "../../src/events/event.ts";
import type { Store, WriteOutcome } from "../../src/store/store.ts";
import { expiresBefore } from "./expiry.ts";

export type KeepOptions = {
  readonly store: Store;
  readonly catalog: Pick<Catalog, "log">;
  readonly now?: () => number;
  /** Told how many events and visits were left out. */
  readonly left?: (count: number) => void;
};

const DONE: WriteOutcome = Object.freeze({ kind: "done" });

/**
 * The store, but what has expired is not written to it: an event that was redelivered, replayed or sent in late would only go again with the next sweep, after
 * it had raised alerts. To the writer it is done.
 */
export function keepOnlyFresh({ store, catalog, now = Date.now, left }: KeepOptions): Store {
  async function writeFresh<T>(
    items: readonly T[],
    eventOf: (item: T) => { readonly log: LogKey; readonly created: number },
    write: (fresh: readonly T[]) => Promise<WriteOutcome[]>,
  ): Promise<WriteOutcome[]> {
    const now_ms = now();
    const bounds = new Map<LogKey, number>();
    const isFresh = items.map((item) => {
      const { log, created } = eventOf(item);
      let bound = bounds.get(log);
      if (bound === undefined) {
        const known = catalog.log(log);
        bound = (known && expiresBefore(known, now_ms)) ?? -Infinity;
        bounds.set(log, bound);
      }
      return created >= bound;
    });
    if (!isFresh.includes(false)) return write(items);
    const outcomes = (await write(items.filter((_, i) => isFresh[i]))).values();
    return isFresh.map((fresh) => (fresh ? outcomes.next().value! : DONE));
  }

  const count = (all: number, fresh: number): void => {
    if (fresh < all) left?.(all - fresh);
  };

  return {
    ...store,
    writeEvents: (events, position) =>
      writeFresh(
        events,
        (event) => event,
        (fresh) => {
          count(events.length, fresh.length);
          return store.writeEvents(fresh, position);
        },
      ),
    writeAlerts: (alerts) =>
      writeFresh(
        alerts,
        ({ event }) => event,
        (fresh) => store.writeAlerts(fresh),
      ),
    writeVisits: (visits) =>
      writeFresh(
        visits,
        (visit) => visit,
        (fresh) => {
          count(visits.length, fresh.length);
          return store.writeVisits(fresh);
        },
      ),
  };
}
