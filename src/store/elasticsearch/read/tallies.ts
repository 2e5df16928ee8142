import { MAX_LISTED_VALUES, MAX_LISTED_VALUES_LENGTH } from "../../store.ts";

/** How many events have a value, by value. */
export type CountByTerm = ReadonlyMap<string, number>;

/** Limits of the values counted at once: their number and their characters. */
export type TallyLimits = { readonly values: number; readonly length: number };

const LIMITS: TallyLimits = { values: MAX_LISTED_VALUES, length: MAX_LISTED_VALUES_LENGTH };

/** Returns whether this process may not count so many values at once. */
export function isTooMany(values: number, length: number, limits = LIMITS): boolean {
  return values > limits.values || length > limits.length;
}

/**
 * Counts values by column in bounded memory. Beyond the limits it drops the columns with the most
 * and longest values, whose most frequent values tell least.
 */
export class Tallies {
  readonly #columns: ReadonlySet<string>;
  readonly #limits: TallyLimits;
  readonly #tallies = new Map<string, { readonly counts: Map<string, number>; length: number }>();
  readonly #dropped = new Set<string>();
  #values = 0;
  #length = 0;

  /** @param columns the columns that are counted; others are ignored */
  constructor(columns: ReadonlySet<string>, limits = LIMITS) {
    this.#columns = columns;
    this.#limits = limits;
  }

  /** Adds the values of one event, which counts once for each distinct value. */
  add(column: string, values: readonly string[]): void {
    if (!this.#columns.has(column) || this.#dropped.has(column)) return;
    const tally = this.#tallies.get(column) ?? { counts: new Map<string, number>(), length: 0 };
    this.#tallies.set(column, tally);
    for (const value of new Set(values)) {
      const count = tally.counts.get(value);
      tally.counts.set(value, (count ?? 0) + 1);
      if (count !== undefined) continue;
      tally.length += value.length;
      this.#values += 1;
      this.#length += value.length;
    }
    if (isTooMany(this.#values, this.#length, this.#limits)) this.#dropLargest();
  }

  /** Counts no values of a column. */
  drop(column: string): void {
    this.#dropped.add(column);
  }

  of(column: string): CountByTerm | undefined {
    return this.#tallies.get(column)?.counts;
  }

  /** Returns whether the values of a column were not counted to the end. */
  isDropped(column: string): boolean {
    return this.#dropped.has(column);
  }

  /** Drops columns until half of the limits is free, so that dropping stays rare. */
  #dropLargest(): void {
    const share = ({ counts, length }: { readonly counts: CountByTerm; readonly length: number }): number =>
      Math.max(counts.size / this.#limits.values, length / this.#limits.length);
    const largest = [...this.#tallies].sort(([, a], [, b]) => share(b) - share(a));
    for (const [column, { counts, length }] of largest) {
      if (!isTooMany(2 * this.#values, 2 * this.#length, this.#limits)) return;
      this.#tallies.delete(column);
      this.#dropped.add(column);
      this.#values -= counts.size;
      this.#length -= length;
    }
  }
}
