import type { BusRecord } from "../../src/bus/bus.ts";
import type { Store } from "../../src/store/store.ts";
import type { RecordFailure } from "../deadletters/codec.ts";
import { writeWithRetry } from "../retry.ts";
import type { StageItem, PendingWrite, Refused, Writer } from "../stage.ts";

type EventStore = Pick<Store, "prepareEvents" | "writeEvents" | "ping">;

/**
 * Writes events to the store, as the last stage. If the write completes its batch, the position is
 * written with the rows, so that a store that keeps offsets commits both in one transaction. The
 * position goes only with a write after which the batch has nothing left to write.
 */
export function createIndex({ store }: { readonly store: EventStore }): Writer {
  return { name: "index", begin: () => beginIndex(store) };
}

function beginIndex(store: EventStore): PendingWrite {
  const prepared = store.prepareEvents();
  const origins = new Origins();

  /** Adds events. @returns how many were added, and the error if not all of them were */
  async function add(items: readonly StageItem[]): Promise<{ readonly added: number; readonly error: Error | null }> {
    let error: Error | null = null;
    await prepared.add(items.map(({ event }) => event)).catch((thrown: Error) => (error = thrown));
    const added = prepared.length - origins.length;
    for (let i = 0; i < added; i++) origins.add(items[i]!);
    return { added, error };
  }

  return {
    async take(items) {
      const refused: RecordFailure[] = [];
      for (let left = items; left.length > 0;) {
        const all = await add(left);
        left = left.slice(all.added);
        if (all.error === null) break;
        // An unavailable engine or another temporary error: the batch is delivered again.
        if (left.length === 0 || !isOfItem(all.error)) throw all.error;
        // An event that cannot be prepared must not delay others.
        const [item] = left;
        const one = await add([item!]);
        left = left.slice(1);
        if (one.error === null) continue;
        if (!isOfItem(one.error)) throw one.error;
        refused.push({ record: item!.record, line: item!.line, reason: String(one.error) });
      }
      return refused;
    },
    async write(work, without) {
      const left = origins.placesWithout(without);
      if (left.length === 0) return [];
      let covered = false;
      const rejected = await writeWithRetry<number>(
        {
          what: "write events",
          groups: [left],
          write: async (group, rest) => {
            const isAll = group.length === prepared.length;
            const events = isAll ? prepared : await prepared.pick(group);
            if (!rest || work.position === null) return store.writeEvents(events);
            const outcomes = await store.writeEvents(events, work.position);
            covered = outcomes.every((outcome) => outcome.kind === "done");
            return outcomes;
          },
          ping: () => store.ping(),
        },
        work.retryPolicy,
      );
      if (covered) work.positionCommitted();
      return [...rejected].map(([place, reason]) => ({ ...origins.at(place), reason }));
    },
  };
}

/** Consecutive lines of one record: the first line and the place of its event. */
type Run = { readonly record: BusRecord; readonly line: number; readonly place: number };

/** Returns the line of the event at a place, if the run extends that far. */
function lineAt(run: Run, place: number): number {
  return run.line + place - run.place;
}

/**
 * Origins of events by place. A few runs describe thousands of events; an object for each event
 * would reach the old generation while they are written.
 */
class Origins {
  readonly #runs: Run[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add({ record, line }: Pick<StageItem, "record" | "line">): void {
    const last = this.#runs.at(-1);
    const continues = last?.record === record && line === lineAt(last, this.#length);
    if (!continues) this.#runs.push({ record, line, place: this.#length });
    this.#length += 1;
  }

  at(place: number): Pick<StageItem, "record" | "line"> {
    const run = this.#runs.findLast((run) => run.place <= place)!;
    return { record: run.record, line: lineAt(run, place) };
  }

  placesWithout(refused: Refused): number[] {
    const all = Array.from({ length: this.#length }, (_, place) => place);
    if (refused.isEmpty) return all;
    let at = 0;
    return all.filter((place) => {
      if (place === this.#runs[at + 1]?.place) at += 1;
      const run = this.#runs[at]!;
      return !refused.has(run.record, lineAt(run, place));
    });
  }
}

/** Whether an error was caused by a value in code rather than by an engine. */
function isOfItem(error: Error): boolean {
  return error instanceof TypeError || error instanceof RangeError;
}
