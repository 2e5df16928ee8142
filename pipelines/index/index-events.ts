import type { Store } from "../../src/store/store.ts";
import { deliver } from "../retry.ts";
import type { Item, Stage } from "../stage.ts";

/**
 * Writes events to the store: the last stage. Where the slice completes its batch, the position goes along with the rows, so that a store that keeps
 * offsets commits both in one transaction; but only in a write after which nothing of the batch is owed.
 */
export function createIndex({ store }: { readonly store: Pick<Store, "writeEvents" | "ping"> }): Stage {
  return {
    name: "index",
    run: async (items, work) => {
      let covered = false;
      const rejected = await deliver<Item>(
        {
          what: "write events",
          groups: items.length === 0 ? [] : [items],
          write: async (group, rest) => {
            const events = group.map((item) => item.event);
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
      return {
        passed: items.filter((item) => !rejected.has(item)),
        refused: [...rejected].map(([item, reason]) => ({ item, reason })),
      };
    },
  };
}
