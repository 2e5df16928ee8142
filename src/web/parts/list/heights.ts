/** A higher row: its index and additional height, including its open panel. */
export type ExtraHeight = { readonly index: number; readonly extra: number };

/**
 * Positions of rows of equal height, a few of which are higher. Lookups are binary searches, so
 * that long lists cost little more than short ones.
 */
export class Heights {
  readonly rowHeight: number;
  readonly length: number;
  readonly #at: readonly number[];
  /** Cumulative extra height up to and including each higher row. */
  readonly #sums: readonly number[];

  constructor(rowHeight: number, length: number, extras: readonly ExtraHeight[] = []) {
    const inside = extras.filter(({ index, extra }) => index >= 0 && index < length && extra !== 0);
    const sorted = inside.toSorted((a, b) => a.index - b.index);
    let sum = 0;
    this.rowHeight = rowHeight;
    this.length = length;
    this.#at = sorted.map(({ index }) => index);
    this.#sums = sorted.map(({ extra }) => (sum += extra));
  }

  /** Returns the top of a row; for the index after the last, the end of the list. */
  top(index: number): number {
    return index * this.rowHeight + this.#sumBefore(index);
  }

  /** Returns the bottom of a row, including its panel. */
  bottom(index: number): number {
    return this.top(index + 1);
  }

  get total(): number {
    return this.top(this.length);
  }

  /** Returns the row at a distance from the top, clamped to the first and last row. */
  indexAt(y: number): number {
    let low = 0;
    let high = Math.max(0, this.length - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.top(middle) <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #sumBefore(index: number): number {
    let low = 0;
    let high = this.#at.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#at[middle]! < index) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0 : this.#sums[low - 1]!;
  }
}
