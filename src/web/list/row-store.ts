import type { EventRow } from "./row.ts";

/** Rows that are kept as they are read, for those on the screen and around it. */
const PARSED = 1_000;

/**
 * Rows in order, as text: one that is not seen costs its JSON and no more. Rows are read when they
 * are shown, and the last of them are kept.
 */
export class RowStore {
  readonly #rows: (string | null)[] = [];
  readonly #ids: string[] = [];
  readonly #indexes = new Map<string, number>();
  /** How many were put in front of the first row ever added: added to what `#indexes` holds. */
  #offset = 0;
  #parsed = new Map<string, EventRow>();
  #characters = 0;

  get length(): number {
    return this.#ids.length;
  }

  /** Characters of JSON that are held. */
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

  /** A row; undefined beyond the ends, and where its text was {@link forget forgotten}. */
  at(index: number): EventRow | undefined {
    const id = this.#ids[index];
    if (id === undefined) return undefined;
    const known = this.#parsed.get(id);
    if (known !== undefined) return known;
    const json = this.#rows[index] ?? null;
    if (json === null) return undefined;
    const row = JSON.parse(json) as EventRow;
    if (this.#parsed.size >= PARSED) this.#parsed = new Map([...this.#parsed].slice(PARSED / 2));
    this.#parsed.set(id, row);
    return row;
  }

  /** Adds rows behind the last one. Those that are here already stay where they are. @returns how many are new */
  append(rows: readonly EventRow[]): number {
    const before = this.length;
    for (const row of rows) {
      if (this.#indexes.has(row.id)) continue;
      this.#indexes.set(row.id, this.length - this.#offset);
      this.#add(row, this.length);
    }
    return this.length - before;
  }

  /** Puts rows before the first one, in their order. Those that are here already stay. @returns how many are new */
  prepend(rows: readonly EventRow[]): number {
    const fresh = rows.filter(({ id }) => !this.#indexes.has(id));
    const texts = fresh.map((row) => JSON.stringify(row));
    this.#offset += fresh.length;
    fresh.forEach(({ id }, i) => this.#indexes.set(id, i - this.#offset));
    this.#rows.unshift(...texts);
    this.#ids.unshift(...fresh.map(({ id }) => id));
    for (const text of texts) this.#characters += text.length;
    return fresh.length;
  }

  /** Puts rows between others: behind the one with the index before it. @returns how many are new */
  insert(index: number, rows: readonly EventRow[]): number {
    const fresh = rows.filter(({ id }) => !this.#indexes.has(id));
    const texts = fresh.map((row) => JSON.stringify(row));
    this.#rows.splice(index, 0, ...texts);
    this.#ids.splice(index, 0, ...fresh.map(({ id }) => id));
    for (const text of texts) this.#characters += text.length;
    this.#reindex(index);
    return fresh.length;
  }

  /** Puts a changed row in the place of the one with its id. */
  replace(row: EventRow): void {
    const index = this.indexOf(row.id);
    if (index === -1) return;
    this.#parsed.delete(row.id);
    this.#characters -= this.#rows[index]?.length ?? 0;
    this.#rows[index] = JSON.stringify(row);
    this.#characters += this.#rows[index].length;
  }

  /** Removes the last rows. */
  truncate(length: number): void {
    for (let index = length; index < this.#ids.length; index++) this.#remove(index);
    this.#rows.length = Math.min(this.#rows.length, length);
    this.#ids.length = Math.min(this.#ids.length, length);
  }

  /** Removes the first rows. */
  shift(count: number): void {
    for (let index = 0; index < count; index++) this.#remove(index);
    this.#rows.splice(0, count);
    this.#ids.splice(0, count);
    this.#offset -= count;
  }

  /** Lets the texts of rows go, and keeps their ids and places: they can be read again. */
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

  #add(row: EventRow, index: number): void {
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
