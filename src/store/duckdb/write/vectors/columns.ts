import { BIGINT, BOOLEAN, DOUBLE, STRUCT, structValue, UBIGINT, UINTEGER } from "@duckdb/node-api";
import type { DuckDBDataChunk, DuckDBType, DuckDBValue } from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";

/**
 * Fills DuckDB vectors from JavaScript rows, a column at a time. Replaces the client's slower
 * `setColumnValues`: it calls into DuckDB only a few times for each column of a step.
 *
 * Layouts follow DuckDB's C API (https://duckdb.org/docs/stable/clients/c/vector): numbers in
 * native form, the validity of 64 rows in 64 bits, a text as 16 bytes that hold it or point to it.
 */

/**
 * Rows of one data chunk. DuckDB's vectors take 2,048, but a smaller chunk blocks this thread for a
 * shorter time; still smaller chunks slow down writes.
 */
export const CHUNK_ROWS = 1024;
/** Rows converted in one step. */
export const STEP_ROWS = 256;

/** Buffer for the values of a step, reused to avoid garbage. */
export const VALUES = new ArrayBuffer(STEP_ROWS * 16);

/** A column of a table, and how to fill it from rows. */
export type Column<Row> = {
  readonly type: DuckDBType;
  /** Returns the value of a row. @throws RangeError if the column cannot take it */
  readonly valueOf: (row: Row) => DuckDBValue;
  /** Begins to fill the vector of one data chunk. */
  readonly begin: (vector: duckdb.Vector) => Filling<Row>;
};

export type Filling<Row> = {
  /** Writes rows from row `at` on, replacing what was there. */
  readonly add: (rows: readonly Row[], at: number) => void;
  /** Called after the last row. */
  readonly end: () => void;
};

/** Begins to fill the column of a data chunk that has this index. */
export type BeginColumn = <Row>(column: Column<Row>, chunk: DuckDBDataChunk, index: number) => Filling<Row>;

/** Fills the vector of a column. */
export const beginVector: BeginColumn = ({ begin }, { chunk }, index) =>
  begin(duckdb.data_chunk_get_vector(chunk, index));

/** A column that may hold nulls. */
export type NullableColumn<Row> = Omit<Column<Row>, "begin"> & {
  readonly begin: (vector: duckdb.Vector) => NullableFilling<Row>;
};

type NullableFilling<Row> = Filling<Row> & {
  /** Writes `count` nulls. */
  readonly addNulls: (count: number, at: number) => void;
};

/** Wraps a column such that steps without any value are filled with nulls at once. */
export function where<Row>(hasAny: (row: Row) => boolean, column: NullableColumn<Row>): Column<Row> {
  return {
    type: column.type,
    valueOf: column.valueOf,
    begin(vector) {
      const { add, addNulls, end } = column.begin(vector);
      return {
        add(rows, at) {
          if (rows.some(hasAny)) add(rows, at);
          else addNulls(rows.length, at);
        },
        end,
      };
    },
  };
}

/** A column of integers. Other numbers throw a RangeError. */
export function bigints<Row>(valueOf: (row: Row) => number): Column<Row> {
  const integerOf = (row: Row): number => {
    const value = valueOf(row);
    if (Number.isSafeInteger(value)) return value;
    throw new RangeError(`${value} is not an integer below 2^53`);
  };
  const write: WriteWords<Row> = (row, words, at) => {
    const value = integerOf(row);
    words[at] = value;
    words[at + 1] = Math.floor(value / 2 ** 32);
  };
  return wide({ type: BIGINT, valueOf: (row) => BigInt(integerOf(row)) }, write);
}

/** A column of unsigned 64-bit integers, from texts of 16 hexadecimal digits. */
export function hexUbigints<Row>(valueOf: (row: Row) => string): Column<Row> {
  return wide({ type: UBIGINT, valueOf: (row) => BigInt(`0x${valueOf(row)}`) }, (row, words, at) => {
    const digits = valueOf(row);
    words[at] = parseInt(digits.slice(8), 16);
    words[at + 1] = parseInt(digits.slice(0, 8), 16);
  });
}

type WriteWords<Row> = (row: Row, words: Uint32Array<ArrayBuffer>, at: number) => void;
type PlainColumn<Row> = Pick<Column<Row>, "type" | "valueOf">;

/**
 * A column of 64-bit integers, written as two words, low word first, to avoid BigInts. All
 * platforms that DuckDB supports are little-endian.
 */
function wide<Row>(column: PlainColumn<Row>, write: WriteWords<Row>): Column<Row> {
  return plain(column, (rows) => {
    const words = new Uint32Array(VALUES, 0, 2 * rows.length);
    for (let i = 0; i < rows.length; i++) write(rows[i]!, words, 2 * i);
    return words;
  });
}

export function uintegers<Row>(valueOf: (row: Row) => number): Column<Row> {
  return plain({ type: UINTEGER, valueOf }, (rows) => {
    const values = new Uint32Array(VALUES, 0, rows.length);
    for (let i = 0; i < rows.length; i++) values[i] = valueOf(rows[i]!);
    return values;
  });
}

export function booleans<Row>(valueOf: (row: Row) => boolean): Column<Row> {
  return plain({ type: BOOLEAN, valueOf }, (rows) => Uint8Array.from(rows, (row) => (valueOf(row) ? 1 : 0)));
}

/** A column of values of fixed size without nulls. */
function plain<Row>(column: PlainColumn<Row>, valuesOf: (rows: readonly Row[]) => NodeJS.TypedArray): Column<Row> {
  return {
    ...column,
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
    valueOf,
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
/** A column of structs. A row is null where `of` returns null, and its fields are null too. */
export function structs<Row, Inner>(
  of: (row: Row) => Inner | null,
  fields: Readonly<Record<string, NullableColumn<Inner | null>>>,
): Column<Row> {
  const mapFields = <T>(to: (field: NullableColumn<Inner | null>) => T): Record<string, T> =>
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, to(field)]));
  return {
    type: STRUCT(mapFields(({ type }) => type)),
    valueOf(row) {
      const inner = of(row);
      return inner === null ? null : structValue(mapFields((field) => field.valueOf(inner)));
    },
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

/** The null rows of a vector. */
export class Nulls {
  /** null as long as no row is null. */
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

/** @param at offset of the first value, in bytes */
export function copy(vector: duckdb.Vector, values: NodeJS.TypedArray, at: number): void {
  duckdb.copy_data_to_vector(vector, at, values.buffer as ArrayBuffer, values.byteOffset, values.byteLength);
}
