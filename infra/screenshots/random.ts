/** Reproducible random numbers (mulberry32). */
export type Random = {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly next: () => number;
  readonly between: (low: number, high: number) => number;
  readonly pick: <Item>(items: readonly Item[]) => Item;
};

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    between: (low, high) => Math.floor(low + next() * (high - low + 1)),
    pick: (items) => {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new Error("pick was called with an empty list");
      return item;
    },
  };
}
