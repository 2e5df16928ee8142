import { BIGINT, BOOLEAN, DOUBLE, DuckDBDataChunk, STRUCT, UBIGINT, UINTEGER, VARCHAR } from "@duckdb/node-api";
import type { DuckDBConnection, DuckDBType } from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";
import { setImmediate as turn } from "node:timers/promises";

/**
 * Rows of JavaScript as DuckDB's own vectors, a column at a time: what the client's `setColumnValues` does, for a third of its time. It calls into DuckDB once for
 * each column of numbers, and of texts once for each that differs.
 *
 * Layouts are those of DuckDB's C API (https://duckdb.org/docs/stable/clients/c/vector): numbers lie as they are, the validity of 64 rows in 64 bits, a text as
 * 16 bytes that hold it or lead to it.
 */

/** Rows of one data chunk. DuckDB's vectors take 2,048; half as many hold up this thread for half as long. */
const CHUNK_ROWS = 1024;
const TEXT_BYTES = 16;

/** A column of a table, and how it is filled from rows. */
export type Column<Row> = {
  readonly type: DuckDBType;
  readonly fill: (vector: duckdb.Vector, rows: readonly Row[]) => void;
};

/**
 * Appends rows to a table, in the transaction that is under way. Other work of the process has its turn every few milliseconds.
 * @param columns all of the table's, in its order
 * @param toRow makes a row of an item
 */
export async function appendRows<Item, Row>(
  connection: DuckDBConnection,
  { table, columns, toRow }: { table: string; columns: readonly Column<Row>[]; toRow: (item: Item) => Row },
  items: readonly Item[],
): Promise<void> {
  const appender = await connection.createAppender(table);
  try {
    for (let start = 0; start < items.length; start += CHUNK_ROWS) {
      const rows = items.slice(start, start + CHUNK_ROWS).map(toRow);
      await turn();
      appender.appendDataChunk(chunkOf(columns, rows));
      appender.flushSync();
      await turn();
    }
  } catch (error) {
    appender.clear();
    throw error;
  } finally {
    appender.closeSync();
  }
}

function chunkOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): DuckDBDataChunk {
  const chunk = DuckDBDataChunk.create(
    columns.map(({ type }) => type),
    rows.length,
  );
  columns.forEach(({ fill }, i) => fill(duckdb.data_chunk_get_vector(chunk.chunk, i), rows));
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

/** Texts of which few are the same: each is handed over. */
export function distinctTexts<Row>(valueOf: (row: Row) => string | null): Column<Row> {
  return {
    type: VARCHAR,
    fill(vector, rows) {
      const nulls = new Nulls(rows.length);
      for (let i = 0; i < rows.length; i++) {
        const text = valueOf(rows[i]!);
        if (text === null) nulls.add(i);
        else duckdb.vector_assign_string_element(vector, i, text);
      }
      nulls.write(vector);
    },
  };
}

/** Texts of which many are the same: each is handed over once. */
export function texts<Row>(valueOf: (row: Row) => string | null): Column<Row> {
  return {
    type: VARCHAR,
    fill(vector, rows) {
      const nulls = new Nulls(rows.length);
      const firsts = new Map<string, number>();
      /** For each row the one that had its text first. */
      const sources = new Uint32Array(rows.length);
      let last: string | null = null;
      let firstOfLast = 0;
      for (let i = 0; i < rows.length; i++) {
        const text = valueOf(rows[i]!);
        if (text === null) {
          sources[i] = i;
          nulls.add(i);
          continue;
        }
        if (text !== last) {
          last = text;
          firstOfLast = firsts.get(text) ?? i;
          if (firstOfLast === i) {
            firsts.set(text, i);
            duckdb.vector_assign_string_element(vector, i, text);
          }
        }
        sources[i] = firstOfLast;
      }
      if (firsts.size < rows.length - nulls.count) repeatTexts(vector, sources);
      nulls.write(vector);
    },
  };
}

/** The 16 bytes of a text may stand in any row of its vector, which owns what they lead to. */
function repeatTexts(vector: duckdb.Vector, sources: Uint32Array): void {
  const bytes = duckdb.vector_get_data(vector, sources.length * TEXT_BYTES);
  const halves = new BigUint64Array(bytes.buffer, bytes.byteOffset, sources.length * 2);
  for (let i = 0; i < sources.length; i++) {
    const source = sources[i]!;
    if (source === i) continue;
    halves[2 * i] = halves[2 * source]!;
    halves[2 * i + 1] = halves[2 * source + 1]!;
  }
  copy(vector, halves);
}

/** A struct, null where `of` is: its fields are filled from what `of` gives, and with nulls where that is null. */
export function structs<Row, Inner>(
  of: (row: Row) => Inner | null,
  fields: Readonly<Record<string, Column<Inner | null>>>,
): Column<Row> {
  return {
    type: STRUCT(Object.fromEntries(Object.entries(fields).map(([name, { type }]) => [name, type]))),
    fill(vector, rows) {
      const inner = rows.map(of);
      const nulls = new Nulls(rows.length);
      inner.forEach((each, i) => each === null && nulls.add(i));
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
