import { Buffer } from "node:buffer";

import { BIGINT, BOOLEAN, DOUBLE, DuckDBDataChunk, STRUCT, UBIGINT, UINTEGER, VARCHAR } from "@duckdb/node-api";
import type { DuckDBConnection, DuckDBType } from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";
import { giveWay, isCrowded } from "../../pace.ts";

/**
 * Rows of JavaScript as DuckDB's own vectors, a column at a time: what the client's `setColumnValues` does, for a third of its time. It calls into DuckDB a few
 * times for each column of a step, which is 256 rows.
 *
 * Layouts are those of DuckDB's C API (https://duckdb.org/docs/stable/clients/c/vector): numbers lie as they are, the validity of 64 rows in 64 bits, a text as
 * 16 bytes that hold it or lead to it.
 */

/** Rows of one data chunk. DuckDB's vectors take 2,048; half as many hold up this thread for half as long. With 256, writing takes a fifth longer. */
const CHUNK_ROWS = 1024;
/** Rows that are made in one step. */
const STEP_ROWS = 256;
/** Chunks that are given to the table at once where no request arrives: that is a statement, which costs as much as 600 rows, and holds this thread up for some 2.5 ms. */
const FLUSH_CHUNKS = 5;
/** Chunks that are kept to be filled again. One of `events` takes some 0.6 MB. */
const MAX_FREE_CHUNKS = 20;

/*
 * Memory in which the values of a step are put together, always the same: what is allocated for each step would have garbage collected so much more often.
 */
const VALUES = new ArrayBuffer(STEP_ROWS * 16);
const PLACES = new ArrayBuffer(STEP_ROWS * 4);
const ENTRIES = new ArrayBuffer(STEP_ROWS * 16);
const UTF8_KEPT_BYTES = 1024 * 1024;
let utf8 = Buffer.allocUnsafeSlow(UTF8_KEPT_BYTES);

/** A column of a table, and how it is filled from rows. */
export type Column<Row> = {
  readonly type: DuckDBType;
  /** For the vector of one data chunk. */
  readonly begin: (vector: duckdb.Vector) => Filling<Row>;
};

type Filling<Row> = {
  /** @param at where the first of them goes; whatever is there goes */
  readonly add: (rows: readonly Row[], at: number) => void;
  /** After the last. */
  readonly end: () => void;
};

/** A column that may hold nulls. */
type NullableColumn<Row> = {
  readonly type: DuckDBType;
  readonly begin: (vector: duckdb.Vector) => NullableFilling<Row>;
};

type NullableFilling<Row> = Filling<Row> & {
  /** So many rows of nulls. */
  readonly addNulls: (count: number, at: number) => void;
};

/** A table, and how its rows are made of items. */
export type Table<Item, Row> = {
  readonly name: string;
  /** All of the table's, in its order. */
  readonly columns: readonly Column<Row>[];
  readonly toRows: (items: readonly Item[]) => readonly Row[];
};

/**
 * Data chunks of one table. What has been written is filled again: memory of DuckDB's that JavaScript's collector does not see would otherwise be free only when that gets
 * to the small object that stands for it.
 */
export class ChunkPool<Item, Row> {
  readonly table: Table<Item, Row>;
  readonly #free: DuckDBDataChunk[] = [];

  constructor(table: Table<Item, Row>) {
    this.table = table;
  }

  take(): DuckDBDataChunk {
    return this.#free.pop() ?? DuckDBDataChunk.create(this.table.columns.map(({ type }) => type));
  }

  /** Nobody may hold them any more. */
  giveBack(chunks: readonly DuckDBDataChunk[]): void {
    for (const chunk of chunks.slice(0, MAX_FREE_CHUNKS - this.#free.length)) {
      chunk.reset();
      this.#free.push(chunk);
    }
  }
}

/** Items as rows of data chunks. */
export class Rows<Item, Row> {
  readonly #pool: ChunkPool<Item, Row>;
  readonly #full: DuckDBDataChunk[] = [];
  /** The one that is being filled. */
  #open: { readonly chunk: DuckDBDataChunk; readonly fillings: readonly Filling<Row>[]; rows: number } | null = null;

  constructor(pool: ChunkPool<Item, Row>) {
    this.#pool = pool;
  }

  /**
   * Adds rows for the first of some items, and gives way in between.
   * @returns for how many
   * @throws RangeError where a column does not take a value: then none was added
   */
  async addSome(items: readonly Item[]): Promise<number> {
    await giveWay();
    const open = (this.#open ??= this.#begin());
    const rows = this.#pool.table.toRows(items.slice(0, Math.min(STEP_ROWS, CHUNK_ROWS - open.rows)));
    for (const { add } of open.fillings) {
      await giveWay();
      add(rows, open.rows);
    }
    open.rows += rows.length;
    if (open.rows === CHUNK_ROWS) this.#end();
    return rows.length;
  }

  /** Adds a row for each item. @throws RangeError where a column does not take a value: then rows of some that stand before it may have been added */
  async add(items: readonly Item[]): Promise<void> {
    for (let done = 0; done < items.length;) done += await this.addSome(items.slice(done));
  }

  /** All rows, in order. What is added later goes into further chunks. */
  get chunks(): readonly DuckDBDataChunk[] {
    this.#end();
    return this.#full;
  }

  /** The rows at some places, which rise, as rows of their own. */
  async pick(places: readonly number[]): Promise<Rows<Item, Row>> {
    const picked = new Rows(this.#pool);
    let start = 0;
    for (const chunk of this.chunks) {
      const end = start + chunk.rowCount;
      const own = places.filter((place) => place >= start && place < end);
      if (own.length > 0) {
        picked.#full.push(
          await this.#copy(
            chunk,
            own.map((place) => place - start),
          ),
        );
      }
      start = end;
    }
    return picked;
  }

  async #copy(chunk: DuckDBDataChunk, places: readonly number[]): Promise<DuckDBDataChunk> {
    const copy = this.#pool.take();
    copy.rowCount = places.length;
    for (const i of this.#pool.table.columns.keys()) {
      await giveWay();
      const values = chunk.getColumnValues(i);
      copy.setColumnValues(
        i,
        places.map((place) => values[place]!),
      );
    }
    return copy;
  }

  /** Once they are written, or not to be written: nothing may be added, and nobody may hold a chunk. */
  release(): void {
    this.#pool.giveBack(this.chunks);
    this.#full.length = 0;
  }

  #begin() {
    const chunk = this.#pool.take();
    const { columns } = this.#pool.table;
    const fillings = columns.map(({ begin }, i) => begin(duckdb.data_chunk_get_vector(chunk.chunk, i)));
    return { chunk, fillings, rows: 0 };
  }

  #end(): void {
    if (this.#open === null) return;
    const { chunk, fillings, rows } = this.#open;
    this.#open = null;
    for (const { end } of fillings) end();
    chunk.rowCount = rows;
    this.#full.push(chunk);
  }
}

/** Appends rows to their table, in the transaction that is under way, in steps between which it gives way. */
export async function appendChunks(
  connection: DuckDBConnection,
  table: string,
  chunks: readonly DuckDBDataChunk[],
): Promise<void> {
  const appender = await connection.createAppender(table);
  try {
    let held = 0;
    for (const chunk of chunks) {
      await giveWay();
      appender.appendDataChunk(chunk);
      held += 1;
      if (held < FLUSH_CHUNKS && !isCrowded()) continue;
      await giveWay();
      appender.flushSync();
      held = 0;
    }
    await giveWay();
    // Not left to closing, so that what fails is cleared first.
    appender.flushSync();
  } catch (error) {
    appender.clear();
    throw error;
  } finally {
    appender.closeSync();
  }
}

/** Of whole numbers; any other is a RangeError. */
export function bigints<Row>(valueOf: (row: Row) => number): Column<Row> {
  return wide(BIGINT, (row, words, at) => {
    const value = valueOf(row);
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is no whole number below 2^53`);
    words[at] = value;
    words[at + 1] = Math.floor(value / 2 ** 32);
  });
}

/** Of texts of 16 hex digits. */
export function hexUbigints<Row>(valueOf: (row: Row) => string): Column<Row> {
  return wide(UBIGINT, (row, words, at) => {
    const digits = valueOf(row);
    words[at] = parseInt(digits.slice(8), 16);
    words[at + 1] = parseInt(digits.slice(0, 8), 16);
  });
}

/** Numbers of 64 bits as two words, the low one first, as all platforms have it that DuckDB runs on: without a BigInt for each. */
function wide<Row>(
  type: DuckDBType,
  write: (row: Row, words: Uint32Array<ArrayBuffer>, at: number) => void,
): Column<Row> {
  return plain(type, (rows) => {
    const words = new Uint32Array(VALUES, 0, 2 * rows.length);
    for (let i = 0; i < rows.length; i++) write(rows[i]!, words, 2 * i);
    return words;
  });
}

export function uintegers<Row>(valueOf: (row: Row) => number): Column<Row> {
  return plain(UINTEGER, (rows) => {
    const values = new Uint32Array(VALUES, 0, rows.length);
    for (let i = 0; i < rows.length; i++) values[i] = valueOf(rows[i]!);
    return values;
  });
}

export function booleans<Row>(valueOf: (row: Row) => boolean): Column<Row> {
  return plain(BOOLEAN, (rows) => Uint8Array.from(rows, (row) => (valueOf(row) ? 1 : 0)));
}

/** Values of a fixed size, none of them null. */
function plain<Row>(type: DuckDBType, valuesOf: (rows: readonly Row[]) => NodeJS.TypedArray): Column<Row> {
  return {
    type,
    begin: (vector) => ({
      add(rows, at) {
        const values = valuesOf(rows);
        copy(vector, values, (at * values.byteLength) / rows.length);
      },
      end() {},
    }),
  };
}

export function doubles<Row>(valueOf: (row: Row) => number | null): NullableColumn<Row> {
  return {
    type: DOUBLE,
    begin(vector) {
      const nulls = new Nulls();
      return {
        add(rows, at) {
          const values = new Float64Array(VALUES, 0, rows.length);
          for (let i = 0; i < rows.length; i++) {
            const value = valueOf(rows[i]!);
            nulls.set(at + i, value === null);
            values[i] = value ?? 0;
          }
          copy(vector, values, at * values.BYTES_PER_ELEMENT);
        },
        addNulls: (count, at) => nulls.fill(count, at),
        end: () => nulls.write(vector),
      };
    },
  };
}

/** Told, by one of the rows of a step, that some text of theirs is not ASCII: this is known once they are written. */
type NoteOdd<Row> = (row: Row) => void;

/** Texts of which few are the same: each is written. */
export function distinctTexts<Row>(valueOf: (row: Row) => string | null, noteOdd?: NoteOdd<Row>): NullableColumn<Row> {
  return {
    type: VARCHAR,
    begin(vector) {
      const nulls = new Nulls();
      const writer = new TextWriter(vector);
      return {
        add(rows, at) {
          const values: string[] = [];
          let count = 0;
          for (let i = 0; i < rows.length; i++) {
            const text = valueOf(rows[i]!);
            nulls.set(at + i, text === null);
            if (text !== null) count += 1;
            values.push(text ?? "");
          }
          if (count === 0) return;
          writer.write(writer.handOver(values), at);
          if (!writer.isAscii) noteOdd?.(rows[0]!);
        },
        addNulls: (count, at) => nulls.fill(count, at),
        end: () => nulls.write(vector),
      };
    },
  };
}

/** Texts that often are the same as in the row before: then it is written once. (To look for it among all of a step takes longer than to write it.) */
export function texts<Row>(valueOf: (row: Row) => string | null, noteOdd?: NoteOdd<Row>): NullableColumn<Row> {
  return {
    type: VARCHAR,
    begin(vector) {
      const nulls = new Nulls();
      const writer = new TextWriter(vector);
      return {
        add(rows, at) {
          const values: string[] = [];
          /** For each row the place of its text among those. */
          const placeOf = new Uint32Array(PLACES, 0, rows.length);
          let last: string | null = null;
          for (let i = 0; i < rows.length; i++) {
            const text = valueOf(rows[i]!);
            nulls.set(at + i, text === null);
            if (text === null) continue;
            if (text !== last) {
              last = text;
              values.push(text);
            }
            placeOf[i] = values.length - 1;
          }
          if (values.length === 0) return;
          const entries = writer.handOver(values);
          writer.write(values.length === rows.length ? entries : repeated(entries, placeOf), at);
          if (!writer.isAscii) noteOdd?.(rows[0]!);
        },
        addNulls: (count, at) => nulls.fill(count, at),
        end: () => nulls.write(vector),
      };
    },
  };
}

/** Words of 32 bits of which a vector holds a text: its length in bytes, and either up to 12 bytes of it, or the first four and the address of all. */
const ENTRY_WORDS = 4;
const ENTRY_BYTES = 4 * ENTRY_WORDS;
const INLINE_MAX_BYTES = 12;
/** Makes any text so long that it lies in memory of its own. */
const PADDING = "\0".repeat(INLINE_MAX_BYTES + 1);

/** The UTF-8 of a text, until the next is encoded. */
function encode(text: string): Buffer {
  // A unit of UTF-16 takes three bytes at most.
  if (text.length * 3 > utf8.length) utf8 = Buffer.allocUnsafeSlow(text.length * 3);
  const bytes = utf8.subarray(0, utf8.write(text));
  if (utf8.length > UTF8_KEPT_BYTES) utf8 = Buffer.allocUnsafeSlow(UTF8_KEPT_BYTES);
  return bytes;
}

/** Writes texts into a vector. */
class TextWriter {
  /** Whether all texts are that were handed over last. */
  isAscii = true;
  readonly #vector: duckdb.Vector;
  /** Of the first row. */
  #first: Uint32Array<ArrayBuffer> | null = null;

  constructor(vector: duckdb.Vector) {
    this.#vector = vector;
  }

  /**
   * Hands texts over to the vector, and returns its entry for each of them. All are handed over as one, which leaves them behind each other in memory that the vector owns:
   * a call for each would take most of the time. That one becomes the text of the first row, where it is read back for the least, until {@link write}.
   */
  handOver(values: readonly string[]): Uint32Array<ArrayBuffer> {
    const joined = values.join("") + PADDING;
    const bytes = encode(joined);
    const isAscii = bytes.length === joined.length;
    this.isAscii = isAscii;
    // Half a character at the end of one might make a whole one with what the next begins with.
    if (!isAscii && !values.every((text) => text.isWellFormed())) {
      return this.handOver(values.map((text) => text.toWellFormed()));
    }
    duckdb.vector_assign_string_element_len(this.#vector, 0, bytes);
    const { buffer, byteOffset } = duckdb.vector_get_data(this.#vector, ENTRY_BYTES);
    const address = new DataView(buffer, byteOffset).getBigUint64(8, true);
    return entriesOf(values, { bytes, isAscii, address });
  }

  /** @param at the row of the first of the entries */
  write(entries: Uint32Array<ArrayBuffer>, at: number): void {
    if (at === 0) this.#first = entries.slice(0, ENTRY_WORDS);
    else if (this.#first !== null) copy(this.#vector, this.#first, 0);
    copy(this.#vector, entries, at * ENTRY_BYTES);
  }
}

/** The entries of texts that lie at `address`, one behind the other, in UTF-8, and then {@link PADDING}. */
export function entriesOf(
  values: readonly string[],
  { bytes, isAscii, address }: { readonly bytes: Buffer; readonly isAscii: boolean; readonly address: bigint },
): Uint32Array<ArrayBuffer> {
  const entries = new Uint32Array(ENTRIES, 0, values.length * ENTRY_WORDS).fill(0);
  const low = Number(address & 0xffffffffn);
  const high = Number(address >> 32n);
  let start = 0;
  for (let i = 0; i < values.length; i++) {
    const text = values[i]!;
    const length = isAscii ? text.length : Buffer.byteLength(text);
    const at = i * ENTRY_WORDS;
    entries[at] = length;
    if (length <= INLINE_MAX_BYTES) {
      for (let n = 0; n < length; n++) entries[at + 1 + (n >> 2)]! |= bytes[start + n]! << ((n & 3) * 8);
    } else {
      entries[at + 1] = bytes.readUInt32LE(start);
      entries[at + 2] = low + start;
      entries[at + 3] = low + start < 2 ** 32 ? high : high + 1;
    }
    start += length;
  }
  return entries;
}

/** The entries at these places, one after the other. */
function repeated(entries: Uint32Array<ArrayBuffer>, places: Uint32Array): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(VALUES, 0, places.length * ENTRY_WORDS);
  for (let i = 0; i < places.length; i++) {
    const to = i * ENTRY_WORDS;
    const from = places[i]! * ENTRY_WORDS;
    words[to] = entries[from]!;
    words[to + 1] = entries[from + 1]!;
    words[to + 2] = entries[from + 2]!;
    words[to + 3] = entries[from + 3]!;
  }
  return words;
}

/** A struct, null where `of` is: its fields are filled from what `of` gives, and with nulls where that is null. */
export function structs<Row, Inner>(
  of: (row: Row) => Inner | null,
  fields: Readonly<Record<string, NullableColumn<Inner | null>>>,
): Column<Row> {
  return {
    type: STRUCT(Object.fromEntries(Object.entries(fields).map(([name, { type }]) => [name, type]))),
    begin(vector) {
      const nulls = new Nulls();
      const inner = Object.values(fields).map(({ begin }, i) => begin(duckdb.struct_vector_get_child(vector, i)));
      return {
        add(rows, at) {
          const each = rows.map(of);
          if (each.every((one) => one === null)) {
            nulls.fill(rows.length, at);
            for (const { addNulls } of inner) addNulls(rows.length, at);
            return;
          }
          for (const [i, one] of each.entries()) nulls.set(at + i, one === null);
          for (const { add } of inner) add(each, at);
        },
        end() {
          for (const { end } of inner) end();
          nulls.write(vector);
        },
      };
    },
  };
}

/** Which rows of a vector are null. */
class Nulls {
  /** null as long as none is. */
  #bits: Uint8Array<ArrayBuffer> | null = null;

  set(row: number, isNull: boolean): void {
    if (isNull) {
      this.#bits ??= new Uint8Array(CHUNK_ROWS / 8).fill(0xff);
      this.#bits[row >> 3]! &= ~(1 << (row & 7));
    } else if (this.#bits !== null) {
      this.#bits[row >> 3]! |= 1 << (row & 7);
    }
  }

  fill(count: number, at: number): void {
    for (let row = at; row < at + count; row++) this.set(row, true);
  }

  write(vector: duckdb.Vector): void {
    if (this.#bits === null) return;
    duckdb.vector_ensure_validity_writable(vector);
    duckdb.copy_data_to_vector_validity(vector, 0, this.#bits.buffer, 0, this.#bits.byteLength);
  }
}

/** @param at where the first of them goes, in bytes */
function copy(vector: duckdb.Vector, values: NodeJS.TypedArray, at: number): void {
  duckdb.copy_data_to_vector(vector, at, values.buffer as ArrayBuffer, values.byteOffset, values.byteLength);
}
