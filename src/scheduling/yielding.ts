import { setImmediate as turn } from "node:timers/promises";

type Compare<T> = (a: T, b: T) => number;

/** Items sorted or merged between two turns: a few milliseconds of work. */
const RUN_ITEMS = 2_000;

/** Turns of the event loop, each for one piece of work. */
class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Waits for the next turn that is not taken. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => turn());
    return this.#last;
  }
}

/** A kind of work, whose pieces take turns of their own. */
type Kind = {
  readonly turns: Turns;
  /** How long the work may hold the thread between turns. */
  readonly hold_ms: number;
};

/** Queries, which people wait for. */
export const QUERYING: Kind = { turns: new Turns(), hold_ms: 10 };
/** Decoding of what producers send, beside which many short requests are answered. */
export const DECODING: Kind = { turns: new Turns(), hold_ms: 1 };

/**
 * Yields between steps of unpredictable length: a regular expression may take a hundred
 * milliseconds for one text. In each turn of the event loop, one such step runs in the process.
 */
export class Yielder {
  readonly #check: () => void;
  readonly #kind: Kind;
  #began_ms = performance.now();

  /** @param check called after each turn; throws if the work is no longer wanted */
  constructor(check: () => void = () => {}, kind: Kind = QUERYING) {
    this.#check = check;
    this.#kind = kind;
  }

  /** Whether it is time for a {@link turn}. */
  get isDue(): boolean {
    return performance.now() - this.#began_ms > this.#kind.hold_ms;
  }

  async turn(): Promise<void> {
    await this.#kind.turns.next();
    this.#check();
    this.#began_ms = performance.now();
  }
}

/**
 * Sorts stably, yielding in between: sorts runs, then merges them. Sorting a hundred thousand long
 * texts at once would block the process for a second.
 */
export async function sortYielding<T>(items: readonly T[], compare: Compare<T>): Promise<T[]> {
  let runs: T[][] = [];
  for (let from = 0; from < items.length; from += RUN_ITEMS) {
    if (from > 0) await turn();
    runs.push(items.slice(from, from + RUN_ITEMS).sort(compare));
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
    if (merged.length % RUN_ITEMS === RUN_ITEMS - 1) await turn();
    const isLeft = j === right.length || (i < left.length && compare(left[i]!, right[j]!) <= 0);
    merged.push(isLeft ? left[i++]! : right[j++]!);
  }
  return merged;
}

/** Maps each item, yielding in between. */
export async function mapYielding<T, U>(items: Iterable<T>, of: (item: T) => U): Promise<U[]> {
  const made: U[] = [];
  for (const item of items) {
    if (made.push(of(item)) % RUN_ITEMS === 0) await turn();
  }
  return made;
}
