/** A row that is higher than the others: by how much, with the panel that is open under it. */
export type ExtraHeight = { readonly index: number; readonly extra: number };

/**
 * Where rows of one height stand, a few of which are higher. Every question is answered by a binary
 * search among those few, so a list of a million rows costs as much as one of ten.
 */
export class Heights {
  readonly rowHeight: number;
  readonly length: number;
  readonly #at: readonly number[];
  /** Of each higher row: what it and all before it add. */
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

  /** Where a row begins; of the index behind the last one, where the list ends. */
  top(index: number): number {
    return index * this.rowHeight + this.#sumBefore(index);
  }

  /** Where a row ends, with what is open under it. */
  bottom(index: number): number {
    return this.top(index + 1);
  }

  get total(): number {
    return this.top(this.length);
  }

  /** The row at a distance from the top of the list; the first or last one beyond its ends. */
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
