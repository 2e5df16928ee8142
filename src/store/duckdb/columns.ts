import { BIGINT, BOOLEAN, DOUBLE, DuckDBDataChunk, STRUCT, UBIGINT, UINTEGER, VARCHAR } from "@duckdb/node-api";
import type { DuckDBConnection, DuckDBType } from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";
import { giveWay } from "../../pace.ts";

/**
 * Rows of JavaScript as DuckDB's own vectors, a column at a time: what the client's `setColumnValues` does, for a third of its time. It calls into DuckDB a few
 * times for each column, however many rows there are.
 *
 * Layouts are those of DuckDB's C API (https://duckdb.org/docs/stable/clients/c/vector): numbers lie as they are, the validity of 64 rows in 64 bits, a text as
 * 16 bytes that hold it or lead to it.
 */

/** Rows of one data chunk. DuckDB's vectors take 2,048; half as many hold up this thread for half as long. With 256, writing takes a fifth longer. */
const CHUNK_ROWS = 1024;
/** Rows that are made in one step. */
const STEP_ROWS = 128;

/** A column of a table, and how it is filled from rows. */
export type Column<Row> = {
  readonly type: DuckDBType;
  readonly fill: (vector: duckdb.Vector, rows: readonly Row[]) => void;
};

/**
 * Appends rows to a table, in the transaction that is under way, in steps between which it gives way.
 * @param columns all of the table's, in its order
 * @param toRows makes a row of each item
 */
export async function appendRows<Item, Row>(
  connection: DuckDBConnection,
  {
    table,
    columns,
    toRows,
  }: { table: string; columns: readonly Column<Row>[]; toRows: (items: readonly Item[]) => readonly Row[] },
  items: readonly Item[],
): Promise<void> {
  const appender = await connection.createAppender(table);
  try {
    for (let start = 0; start < items.length; start += CHUNK_ROWS) {
      const some = items.slice(start, start + CHUNK_ROWS);
      const rows: Row[] = [];
      for (let i = 0; i < some.length; i += STEP_ROWS) {
        await giveWay();
        rows.push(...toRows(some.slice(i, i + STEP_ROWS)));
      }
      const chunk = await chunkOf(columns, rows);
      await giveWay();
      appender.appendDataChunk(chunk);
      await giveWay();
      appender.flushSync();
    }
    await giveWay();
  } catch (error) {
    appender.clear();
    throw error;
  } finally {
    appender.closeSync();
  }
}

async function chunkOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): Promise<DuckDBDataChunk> {
  const chunk = DuckDBDataChunk.create(
    columns.map(({ type }) => type),
    rows.length,
  );
  for (const [i, { fill }] of columns.entries()) {
    await giveWay();
    fill(duckdb.data_chunk_get_vector(chunk.chunk, i), rows);
  }
  return chunk;
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
  return {
    type,
    fill(vector, rows) {
      const words = new Uint32Array(2 * rows.length);
      for (let i = 0; i < rows.length; i++) write(rows[i]!, words, 2 * i);
      copy(vector, words);
    },
  };
}

export function uintegers<Row>(valueOf: (row: Row) => number): Column<Row> {
  return {
    type: UINTEGER,
    fill(vector, rows) {
      const values = new Uint32Array(rows.length);
      for (let i = 0; i < rows.length; i++) values[i] = valueOf(rows[i]!);
      copy(vector, values);
    },
  };
}

export function booleans<Row>(valueOf: (row: Row) => boolean): Column<Row> {
  return {
    type: BOOLEAN,
    fill: (vector, rows) =>
      copy(
        vector,
        Uint8Array.from(rows, (row) => (valueOf(row) ? 1 : 0)),
      ),
  };
}

export function doubles<Row>(valueOf: (row: Row) => number | null): Column<Row> {
  return {
    type: DOUBLE,
    fill(vector, rows) {
      const nulls = new Nulls(rows.length);
      const values = new Float64Array(rows.length);
      for (let i = 0; i < rows.length; i++) {
        const value = valueOf(rows[i]!);
        if (value === null) nulls.add(i);
        else values[i] = value;
      }
      copy(vector, values);
      nulls.write(vector);
    },
  };
}

/** Texts of which few are the same: each is written. */
export function distinctTexts<Row>(valueOf: (row: Row) => string | null): Column<Row> {
  return {
    type: VARCHAR,
    fill(vector, rows) {
      const nulls = new Nulls(rows.length);
      const values: string[] = [];
      for (let i = 0; i < rows.length; i++) {
        const text = valueOf(rows[i]!);
        if (text === null) nulls.add(i);
        values.push(text ?? "");
      }
      if (nulls.count < rows.length) copy(vector, handOver(values, vector));
      nulls.write(vector);
    },
  };
}

/** Texts of which many are the same: each is written once. */
export function texts<Row>(valueOf: (row: Row) => string | null): Column<Row> {
  return {
    type: VARCHAR,
    fill(vector, rows) {
      const nulls = new Nulls(rows.length);
      const places = new Map<string, number>();
      /** For each row the place of its text among those that differ. */
      const placeOf = new Uint32Array(rows.length);
      let last: string | null = null;
      let place = 0;
      for (let i = 0; i < rows.length; i++) {
        const text = valueOf(rows[i]!);
        if (text === null) {
          nulls.add(i);
          continue;
        }
        if (text !== last) {
          last = text;
          place = places.get(text) ?? places.size;
          if (place === places.size) places.set(text, place);
        }
        placeOf[i] = place;
      }
      if (places.size > 0) copy(vector, repeated(handOver([...places.keys()], vector), placeOf));
      nulls.write(vector);
    },
  };
}

/** Words of 32 bits of which a vector holds a text: its length in bytes, and either up to 12 bytes of it, or the first four and the address of all. */
const ENTRY_WORDS = 4;
const INLINE_MAX_BYTES = 12;
/** Makes any text so long that it lies in memory of its own. */
const PADDING = "\0".repeat(INLINE_MAX_BYTES + 1);

/**
 * Hands texts over to a vector, and returns its entry for each of them. All are handed over as one, which leaves them behind each other in memory that the vector owns:
 * a call for each would take most of the time.
 */
function handOver(values: readonly string[], vector: duckdb.Vector): Uint32Array<ArrayBuffer> {
  const joined = values.join("") + PADDING;
  const bytes = Buffer.from(joined);
  const isAscii = bytes.length === joined.length;
  // Half a character at the end of one might make a whole one with what the next begins with.
  if (!isAscii && !values.every((text) => text.isWellFormed())) {
    const whole = values.map((text) => text.toWellFormed());
    return handOver(whole, vector);
  }
  duckdb.vector_assign_string_element_len(vector, 0, bytes);
  const { buffer, byteOffset } = duckdb.vector_get_data(vector, ENTRY_WORDS * 4);
  const address = new DataView(buffer, byteOffset).getBigUint64(8, true);
  return entriesOf(values, { bytes, isAscii, address });
}

/** The entries of texts that lie at `address`, one behind the other, in UTF-8, and then {@link PADDING}. */
export function entriesOf(
  values: readonly string[],
  { bytes, isAscii, address }: { readonly bytes: Buffer; readonly isAscii: boolean; readonly address: bigint },
): Uint32Array<ArrayBuffer> {
  const entries = new Uint32Array(values.length * ENTRY_WORDS);
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
  const words = new Uint32Array(places.length * ENTRY_WORDS);
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
  fields: Readonly<Record<string, Column<Inner | null>>>,
): Column<Row> {
  return {
    type: STRUCT(Object.fromEntries(Object.entries(fields).map(([name, { type }]) => [name, type]))),
    fill(vector, rows) {
      const inner: (Inner | null)[] = [];
      const nulls = new Nulls(rows.length);
      for (let i = 0; i < rows.length; i++) {
        const each = of(rows[i]!);
        if (each === null) nulls.add(i);
        inner.push(each);
      }
      for (const [i, { fill }] of Object.values(fields).entries()) {
        const child = duckdb.struct_vector_get_child(vector, i);
        if (nulls.count === rows.length) nulls.write(child);
        else fill(child, inner);
      }
      nulls.write(vector);
    },
  };
}

/** Which rows of a vector are null. */
class Nulls {
  readonly #rows: number;
  #bits: Uint8Array<ArrayBuffer> | null = null;
  count = 0;

  constructor(rows: number) {
    this.#rows = rows;
  }

  add(row: number): void {
    this.#bits ??= new Uint8Array(Math.ceil(this.#rows / 64) * 8).fill(0xff);
    this.#bits[row >> 3]! &= ~(1 << (row & 7));
    this.count += 1;
  }

  write(vector: duckdb.Vector): void {
    if (this.#bits === null) return;
    duckdb.vector_ensure_validity_writable(vector);
    duckdb.copy_data_to_vector_validity(vector, 0, this.#bits.buffer, 0, this.#bits.byteLength);
  }
}

function copy(vector: duckdb.Vector, values: NodeJS.TypedArray): void {
  duckdb.copy_data_to_vector(vector, 0, values.buffer as ArrayBuffer, values.byteOffset, values.byteLength);
}
