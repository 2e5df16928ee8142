import type { Bus } from "../bus/bus.ts";
import { cached } from "./cached.ts";

/** The dead letters that were not redriven. */
export type OpenLetters = {
  list(page: { after: null; limit: number; state: "open" }): Promise<{ readonly open: number }>;
};

export type CountOptions = {
  readonly bus: Pick<Bus, "lag">;
  readonly deadLetters: OpenLetters;
  /** Any group, as the ends of the topic are the same for all. */
  readonly group: string;
};

const CACHE_MS = 10_000;

/**
 * Returns a function that counts the open dead letters. The topic is read only if its ends have
 * changed, and at most once in 10 s.
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
