import type { ListedEvent } from "./row.ts";

/** Most parsed rows kept, for those on and near the screen. */
const PARSED = 1_000;

/**
 * Ordered rows stored as JSON text, so that an unseen row costs little memory. Rows are parsed when
 * shown, and the most recent ones are kept parsed.
 */
export class RowStore {
  readonly #rows: (string | null)[] = [];
  readonly #ids: string[] = [];
  readonly #indexes = new Map<string, number>();
  /** Offset added to the values of `#indexes`: rows put before the first, less those removed. */
  #offset = 0;
  #parsed = new Map<string, ListedEvent>();
  #characters = 0;

  get length(): number {
    return this.#ids.length;
  }

  /** Characters of JSON held. */
  get characters(): number {
    return this.#characters;
  }

  has(id: string): boolean {
    return this.#indexes.has(id);
  }

  idAt(index: number): string | undefined {
    return this.#ids[index];
  }

  indexOf(id: string): number {
    const index = this.#indexes.get(id);
    return index === undefined ? -1 : index + this.#offset;
  }

  /** Returns a row; undefined outside the store and for {@link forget forgotten} rows. */
  at(index: number): ListedEvent | undefined {
    const id = this.#ids[index];
    if (id === undefined) return undefined;
    const known = this.#parsed.get(id);
    if (known !== undefined) return known;
    const json = this.#rows[index] ?? null;
    if (json === null) return undefined;
    const row = JSON.parse(json) as ListedEvent;
    if (this.#parsed.size >= PARSED) this.#parsed = new Map([...this.#parsed].slice(PARSED / 2));
    this.#parsed.set(id, row);
    return row;
  }

  /** Appends rows, ignoring ids already present; returns the number added. */
  append(rows: readonly ListedEvent[]): number {
    const before = this.length;
    for (const row of rows) {
      if (this.#indexes.has(row.id)) continue;
      this.#indexes.set(row.id, this.length - this.#offset);
      this.#add(row, this.length);
    }
    return this.length - before;
  }

  /** Prepends rows in their order, ignoring ids already present; returns the number added. */
  prepend(rows: readonly ListedEvent[]): number {
    const fresh = rows.filter(({ id }) => !this.#indexes.has(id));
    const texts = fresh.map((row) => JSON.stringify(row));
    this.#offset += fresh.length;
    fresh.forEach(({ id }, i) => this.#indexes.set(id, i - this.#offset));
    this.#rows.unshift(...texts);
    this.#ids.unshift(...fresh.map(({ id }) => id));
    for (const text of texts) this.#characters += text.length;
    return fresh.length;
  }

  /** Inserts rows at an index, ignoring ids already present; returns the number added. */
  insert(index: number, rows: readonly ListedEvent[]): number {
    const fresh = rows.filter(({ id }) => !this.#indexes.has(id));
    const texts = fresh.map((row) => JSON.stringify(row));
    this.#rows.splice(index, 0, ...texts);
    this.#ids.splice(index, 0, ...fresh.map(({ id }) => id));
    for (const text of texts) this.#characters += text.length;
    this.#reindex(index);
    return fresh.length;
  }

  /** Replaces the row with the same id. */
  replace(row: ListedEvent): void {
    const index = this.indexOf(row.id);
    if (index === -1) return;
    this.#parsed.delete(row.id);
    this.#characters -= this.#rows[index]?.length ?? 0;
    this.#rows[index] = JSON.stringify(row);
    this.#characters += this.#rows[index].length;
  }

  /** Removes the rows from index `length` on. */
  truncate(length: number): void {
    for (let index = length; index < this.#ids.length; index++) this.#remove(index);
    this.#rows.length = Math.min(this.#rows.length, length);
    this.#ids.length = Math.min(this.#ids.length, length);
  }

  /** Removes the first `count` rows. */
  shift(count: number): void {
    for (let index = 0; index < count; index++) this.#remove(index);
    this.#rows.splice(0, count);
    this.#ids.splice(0, count);
    this.#offset -= count;
  }

  /** Drops the texts of rows but keeps their ids and places, so that they can be read again. */
  forget(from: number, to: number): void {
    for (let index = from; index < Math.min(to, this.length); index++) {
      this.#characters -= this.#rows[index]?.length ?? 0;
      this.#rows[index] = null;
      this.#parsed.delete(this.#ids[index]!);
    }
  }

  isForgotten(index: number): boolean {
    return index < this.length && this.#rows[index] === null;
  }

  #add(row: ListedEvent, index: number): void {
    const json = JSON.stringify(row);
    this.#rows[index] = json;
    this.#ids[index] = row.id;
    this.#characters += json.length;
  }

  #remove(index: number): void {
    const id = this.#ids[index];
    if (id === undefined) return;
    this.#characters -= this.#rows[index]?.length ?? 0;
    this.#indexes.delete(id);
    this.#parsed.delete(id);
  }

  #reindex(from: number): void {
    for (let index = from; index < this.length; index++) this.#indexes.set(this.#ids[index]!, index - this.#offset);
  }
}
