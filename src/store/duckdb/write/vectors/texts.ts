import { Buffer } from "node:buffer";

import { VARCHAR } from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";

import { isAscii } from "../../../../events/ascii.ts";
import { copy, Nulls, STEP_ROWS, VALUES } from "./columns.ts";
import type { NullableColumn } from "./columns.ts";

/** See {@link VALUES}. */
const PLACES = new ArrayBuffer(STEP_ROWS * 4);
const ENTRIES = new ArrayBuffer(STEP_ROWS * 16);
const UTF8_KEPT_BYTES = 1024 * 1024;
let utf8 = Buffer.allocUnsafeSlow(UTF8_KEPT_BYTES);

/** Called with a row of a step, after its texts are written, if any of them is not ASCII. */
type OnNonAscii<Row> = (row: Row) => void;

/** A column of mostly distinct texts: each is written. */
export function distinctTexts<Row>(
  valueOf: (row: Row) => string | null,
  onNonAscii?: OnNonAscii<Row>,
): NullableColumn<Row> {
  return {
    type: VARCHAR,
    valueOf: textOf(valueOf, onNonAscii),
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
          writer.write(writer.storeTexts(values), at);
          if (!writer.isAscii) onNonAscii?.(rows[0]!);
        },
        addNulls: (count, at) => nulls.fill(count, at),
        end: () => nulls.write(vector),
      };
    },
  };
}

/**
 * A column of texts that often equal the one in the previous row, which is then written once.
 * Searching all texts of a step would take longer than writing them.
 */
export function texts<Row>(valueOf: (row: Row) => string | null, onNonAscii?: OnNonAscii<Row>): NullableColumn<Row> {
  return {
    type: VARCHAR,
    valueOf: textOf(valueOf, onNonAscii),
    begin(vector) {
      const nulls = new Nulls();
      const writer = new TextWriter(vector);
      return {
        add(rows, at) {
          const values: string[] = [];
          /** For each row, the index of its text in `values`. */
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
          const entries = writer.storeTexts(values);
          writer.write(values.length === rows.length ? entries : repeated(entries, placeOf), at);
          if (!writer.isAscii) onNonAscii?.(rows[0]!);
        },
        addNulls: (count, at) => nulls.fill(count, at),
        end: () => nulls.write(vector),
      };
    },
  };
}

function textOf<Row>(
  valueOf: (row: Row) => string | null,
  onNonAscii?: OnNonAscii<Row>,
): NullableColumn<Row>["valueOf"] {
  return (row) => {
    const text = valueOf(row);
    if (text !== null && !isAscii(text)) onNonAscii?.(row);
    return text;
  };
}

/**
 * Size in 32-bit words of a text's entry in a vector: its length in bytes, and either up to 12
 * bytes of text or the first four and the address of the whole text.
 */
const ENTRY_WORDS = 4;
const ENTRY_BYTES = 4 * ENTRY_WORDS;
const INLINE_MAX_BYTES = 12;
/** Makes any text too long to be stored inline. */
const PADDING = "\0".repeat(INLINE_MAX_BYTES + 1);

/** Encodes a text as UTF-8. The result is valid until the next call. */
function encode(text: string): Buffer {
  // A UTF-16 unit takes at most three bytes.
  if (text.length * 3 > utf8.length) utf8 = Buffer.allocUnsafeSlow(text.length * 3);
  const bytes = utf8.subarray(0, utf8.write(text));
  if (utf8.length > UTF8_KEPT_BYTES) utf8 = Buffer.allocUnsafeSlow(UTF8_KEPT_BYTES);
  return bytes;
}

/** Writes texts into a vector. */
class TextWriter {
  /** Whether all texts of the last {@link storeTexts} are ASCII. */
  isAscii = true;
  readonly #vector: duckdb.Vector;
  /** The entry of the first row. */
  #first: Uint32Array<ArrayBuffer> | null = null;

  constructor(vector: duckdb.Vector) {
    this.#vector = vector;
  }

  /**
   * Copies texts into the vector's memory and returns their entries. They are joined into one text,
   * stored as that of the first row until {@link write}, because a call for each text would be
   * slow.
   */
  storeTexts(values: readonly string[]): Uint32Array<ArrayBuffer> {
    const joined = values.join("") + PADDING;
    const bytes = encode(joined);
    const isAscii = bytes.length === joined.length;
    this.isAscii = isAscii;
    // A surrogate at the end of a text could form a pair with one at the start of the next.
    if (!isAscii && !values.every((text) => text.isWellFormed())) {
      return this.storeTexts(values.map((text) => text.toWellFormed()));
    }
    duckdb.vector_assign_string_element_len(this.#vector, 0, bytes);
    const { buffer, byteOffset } = duckdb.vector_get_data(this.#vector, ENTRY_BYTES);
    const address = new DataView(buffer, byteOffset).getBigUint64(8, true);
    return textEntries(values, { bytes, isAscii, address });
  }

  /** @param at row of the first entry */
  write(entries: Uint32Array<ArrayBuffer>, at: number): void {
    if (at === 0) this.#first = entries.slice(0, ENTRY_WORDS);
    else if (this.#first !== null) copy(this.#vector, this.#first, 0);
    copy(this.#vector, entries, at * ENTRY_BYTES);
  }
}

/** Returns the entries of texts stored in UTF-8 from `address` on, then {@link PADDING}. */
export function textEntries(
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

/** Returns the entries at these indices. */
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
