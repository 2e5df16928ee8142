import { setImmediate as turn } from "node:timers/promises";

type Compare<T> = (a: T, b: T) => number;

/** So many are sorted, or put in order, at a time: a few milliseconds. */
const RUN = 2_000;

/** Sorts, stably, with turns for others in between: in runs, which are then merged. A hundred thousand long texts at once hold up the process for a second. */
export async function sortGently<T>(items: readonly T[], compare: Compare<T>): Promise<T[]> {
  let runs: T[][] = [];
  for (let from = 0; from < items.length; from += RUN) {
    if (from > 0) await turn();
    runs.push(items.slice(from, from + RUN).sort(compare));
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let i = 0; i < runs.length; i += 2) merged.push(await merge(runs[i]!, runs[i + 1] ?? [], compare));
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge<T>(left: readonly T[], right: readonly T[], compare: Compare<T>): Promise<T[]> {
  const merged: T[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    if (merged.length % RUN === RUN - 1) await turn();
    const isLeft = j === right.length || (i < left.length && compare(left[i]!, right[j]!) <= 0);
    merged.push(isLeft ? left[i++]! : right[j++]!);
  }
  return merged;
}

/** Makes something of each item, with turns for others in between. */
export async function mapGently<T, U>(items: Iterable<T>, of: (item: T) => U): Promise<U[]> {
  const made: U[] = [];
  for (const item of items) {
    if (made.push(of(item)) % RUN === 0) await turn();
  }
  return made;
}
