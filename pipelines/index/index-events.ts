import type { BusRecord } from "../../src/bus/bus.ts";
import type { Store } from "../../src/store/store.ts";
import type { Failure } from "../deadletters/letter.ts";
import { deliver } from "../retry.ts";
import type { Item, Writer, Writing } from "../stage.ts";

type EventStore = Pick<Store, "prepareEvents" | "writeEvents" | "ping">;

/**
 * Writes events to the store: the last stage. Where the slice completes its batch, the position goes along with the rows, so that a store that keeps
 * offsets commits both in one transaction; but only in a write after which nothing of the batch is owed.
 */
export function createIndex({ store }: { readonly store: EventStore }): Writer {
  return { name: "index", begin: () => beginIndex(store) };
}

function beginIndex(store: EventStore): Writing {
  const prepared = store.prepareEvents();
  /** Where each of them came from. */
  const records: BusRecord[] = [];
  const lines: number[] = [];

  /** @returns how many have been added, and why it was not all of them, if so */
  async function add(items: readonly Item[]): Promise<{ readonly added: number; readonly error: Error | null }> {
    let error: Error | null = null;
    await prepared.add(items.map(({ event }) => event)).catch((thrown: Error) => (error = thrown));
    const added = prepared.length - records.length;
    for (const { record, line } of items.slice(0, added)) {
      records.push(record);
      lines.push(line);
    }
    return { added, error };
  }

  return {
    async take(items) {
      const refused: Failure[] = [];
      for (let left = items; left.length > 0;) {
        const all = await add(left);
        left = left.slice(all.added);
        if (all.error === null) break;
        // An engine that is away, or whatever else may pass: the batch will come again.
        if (left.length === 0 || !isOfItem(all.error)) throw all.error;
        // One that cannot be prepared holds up no other.
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
      const left = [...records.keys()].filter((i) => !without.has(records[i]!, lines[i]!));
      if (left.length === 0) return [];
      let covered = false;
      const rejected = await deliver<number>(
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
        work.patience,
      );
      if (covered) work.covered();
      return [...rejected].map(([i, reason]) => ({ record: records[i]!, line: lines[i]!, reason }));
    },
  };
}

/** Whether it is what code throws at a value, and no engine. */
function isOfItem(error: Error): boolean {
  return error instanceof TypeError || error instanceof RangeError;
}
