import type { Bus } from "../bus/bus.ts";
import type { DeadLetters } from "../operations/operations.ts";
import { cached } from "./cached.ts";

export type CountOptions = {
  readonly bus: Pick<Bus, "lag">;
  readonly deadLetters: Pick<DeadLetters, "list">;
  /** Any: where the topic ends is the same for all. */
  readonly group: string;
};

const CACHE_MS = 10_000;

/**
 * How many dead letters wait for somebody. The topic is read only after something has been written
 * to it, and never more than once in 10 s.
 */
export function countOpen({ bus, deadLetters, group }: CountOptions): () => Promise<number> {
  let counted = { ends: "", open: 0 };
  return cached(CACHE_MS, async () => {
    const partitions = await bus.lag("dead-letters", group);
    const ends = partitions.map(({ partition, end }) => `${partition}:${end}`).join();
    if (partitions.every(({ end }) => end === 0)) return 0;
    if (ends !== counted.ends) {
      const { open } = await deadLetters.list({ after: null, limit: 1, state: "open" });
      counted = { ends, open };
    }
    return counted.open;
  });
}
