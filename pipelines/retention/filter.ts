import type { Catalog } from "../../src/catalog/catalog.ts";
import type { LogKey, StoredEvent } from "../../src/events/event.ts";
import type { EventId } from "../../src/events/id.ts";
import type { PreparedEvents, Store, WriteOutcome } from "../../src/store/store.ts";
import { expiresBefore } from "./expiry.ts";

export type RetentionFilterOptions = {
  readonly store: Store;
  readonly catalog: Pick<Catalog, "log">;
  /** Trusted clock. A clock that is ahead would skip events that have not expired. */
  readonly now: () => number;
  /** Called with the number of events and visits skipped. */
  readonly onExpired?: (count: number) => void;
};

const DONE: WriteOutcome = Object.freeze({ kind: "done" });

/**
 * Wraps a store so that expired events are not written. An expired event that is redelivered,
 * replayed or posted late would raise alerts, only to be removed by the next retention run. To the
 * writer, such an event is done.
 */
export function withRetentionFilter({ store, catalog, now, onExpired: left }: RetentionFilterOptions): Store {
  /** Returns which of the items have not expired. */
  function areFresh(items: readonly { readonly log: LogKey; readonly created: number }[]): boolean[] {
    const now_ms = now();
    const bounds = new Map<LogKey, number>();
    return items.map(({ log, created }) => {
      let bound = bounds.get(log);
      if (bound === undefined) {
        const known = catalog.log(log);
        bound = (known && expiresBefore(known, now_ms)) ?? -Infinity;
        bounds.set(log, bound);
      }
      return created >= bound;
    });
  }

  async function writeFresh<T>(
    items: readonly T[],
    isFresh: readonly boolean[],
    write: (fresh: readonly T[]) => Promise<WriteOutcome[]>,
  ): Promise<WriteOutcome[]> {
    if (!isFresh.includes(false)) return write(items);
    const outcomes = (await write(items.filter((_, i) => isFresh[i]))).values();
    return isFresh.map((fresh) => (fresh ? outcomes.next().value! : DONE));
  }

  return {
    ...store,
    prepareEvents: () => new FreshEvents(store.prepareEvents(), { areFresh, onExpired: (expired) => left?.(expired) }),
    writeEvents: async (events, position) => {
      if (!(events instanceof FreshEvents)) throw new TypeError("these events were prepared by another store");
      return events.withExpired(await store.writeEvents(events.fresh, position), () => DONE);
    },
    writeAlerts: (alerts) =>
      writeFresh(alerts, areFresh(alerts.map(({ event }) => event)), (fresh) => store.writeAlerts(fresh)),
    writeVisits: (visits) => {
      const isFresh = areFresh(visits);
      const expired = isFresh.filter((fresh) => !fresh).length;
      if (expired > 0) left?.(expired);
      return writeFresh(visits, isFresh, (fresh) => store.writeVisits(fresh));
    },
  };
}

type FreshRule = {
  readonly areFresh: (events: readonly StoredEvent[]) => readonly boolean[];
  /** Called with the number of events skipped. */
  readonly onExpired: (count: number) => void;
};

/** Prepared events of which some had expired when they were added. */
class FreshEvents implements PreparedEvents {
  /** Ids of expired events by place. */
  readonly #expired: Map<number, EventId>;
  readonly fresh: PreparedEvents;
  readonly #rule: FreshRule;

  constructor(fresh: PreparedEvents, rule: FreshRule, expired = new Map<number, EventId>()) {
    this.fresh = fresh;
    this.#rule = rule;
    this.#expired = expired;
  }

  get length(): number {
    return this.fresh.length + this.#expired.size;
  }

  ids(): EventId[] {
    return this.withExpired(this.fresh.ids(), (id) => id);
  }

  async add(events: readonly StoredEvent[]): Promise<void> {
    const isFresh = this.#rule.areFresh(events);
    for (let start = 0; start < events.length;) {
      const end = isFresh.indexOf(!isFresh[start]!, start);
      const run = events.slice(start, end === -1 ? undefined : end);
      if (isFresh[start]!) {
        await this.fresh.add(run);
      } else {
        for (const { id } of run) this.#expired.set(this.length, id);
        this.#rule.onExpired(run.length);
      }
      start += run.length;
    }
  }

  async pick(places: readonly number[]): Promise<FreshEvents> {
    let among = 0;
    const placeOf = Array.from({ length: this.length }, (_, place) => (this.#expired.has(place) ? null : among++));
    const fresh = await this.fresh.pick(places.flatMap((place) => placeOf[place] ?? []));
    const expired = places.flatMap((place, i): [number, EventId][] => {
      const id = this.#expired.get(place);
      return id === undefined ? [] : [[i, id]];
    });
    return new FreshEvents(fresh, this.#rule, new Map(expired));
  }

  /**
   * Merges results of fresh events with those of expired ones, by place.
   * @param ofFresh returned as it is if there are no expired events
   */
  withExpired<T>(ofFresh: T[], ofExpired: (id: EventId) => T): T[] {
    if (this.#expired.size === 0) return ofFresh;
    const rest = ofFresh.values();
    return Array.from({ length: this.length }, (_, place) => {
      const id = this.#expired.get(place);
      return id === undefined ? rest.next().value! : ofExpired(id);
    });
  }
}
