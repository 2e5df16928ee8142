import { Buffer } from "node:buffer";

import { VARCHAR } from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";

import { copy, Nulls, STEP_ROWS, VALUES } from "./columns.ts";
import type { NullableColumn } from "./columns.ts";

/** See {@link VALUES}. */
const PLACES = new ArrayBuffer(STEP_ROWS * 4);
const ENTRIES = new ArrayBuffer(STEP_ROWS * 16);
const UTF8_KEPT_BYTES = 1024 * 1024;
let utf8 = Buffer.allocUnsafeSlow(UTF8_KEPT_BYTES);

/**
 * Called with one of the rows of a step once their texts are written, where one of them is not
 * ASCII.
 */
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

/**
 * Texts that often are the same as in the row before: then it is written once. (To look for it among
 * all of a step takes longer than to write it.)
 */
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

/**
 * Words of 32 bits of which a vector holds a text: its length in bytes, and either up to 12 bytes of
 * it, or the first four and the address of all.
 */
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
   * Hands texts over to the vector, and returns its entry for each of them. All are handed over as
   * one, which lays them out behind each other in the vector's memory: a call for each would take
   * most of the time. That one becomes the text of the first row until {@link write}.
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
