import { randomInt } from "node:crypto";

/**
 * Hashes of windows, which are a few bytes of a text each, and marks of those that are looked for.
 * A text's windows that are marked are found here; `window-hash.ts` tells what they may be part of.
 */

/** Odd numbers of this process's own, so that nobody can choose patterns whose hashes crowd. */
const FIRST = 2 * randomInt(2 ** 31) + 1;
const SECOND = 2 * randomInt(2 ** 31) + 1;

/**
 * A window is read as two numbers of so many bytes, which lie over each other as far as it is
 * shorter than both.
 */
export const HALF = 4;
/** The longest window, in bytes. */
export const LONGEST = 7;

/**
 * Bits that tell a capital ASCII letter from a small one: windows do without them, as they are of
 * texts that were not folded.
 */
const CASE = 0x20202020;

/** The hash of the window at `at`, whose second half begins `second` bytes behind. */
export function hashAt(view: DataView, at: number, second: number): number {
  const first = view.getInt32(at, true) | CASE;
  return Math.imul(Math.imul(first, FIRST) + (view.getInt32(at + second, true) | CASE), SECOND);
}

/**
 * How many words of 32 bits the marks of windows have for each pattern, at least. A window has two
 * bits of one word: so a text of 70 characters has one that passes and is no part of a pattern in
 * every fifth or tenth, where one bit in twice as many words let one pass in every second or third.
 */
const WORDS = 2;

/** Makes room for the marks of so many patterns. */
export function createMarks(patterns: number): Int32Array {
  return new Int32Array(WORDS * 2 ** Math.ceil(Math.log2(patterns)));
}

/** Marks the windows that have a hash. */
export function addMark(marked: Int32Array, hash: number): void {
  marked[upper(hash, marked)]! |= (1 << bitOf(hash)) | (1 << otherBitOf(hash));
}

/**
 * Writes to `marks` which of the places 0, `step` and so on up to `last` have a window that is
 * marked. A function by itself, so that all it needs stays in registers, and without a branch on
 * what it finds: the processor would guess it wrong, which costs as much as ten places.
 *
 * @returns how many
 */
export function findMarked(
  view: DataView,
  last: number,
  second: number,
  step: number,
  marked: Int32Array,
  marks: Int32Array,
): number {
  const shift = Math.clz32(marked.length) + 1;
  let count = 0;
  for (let place = 0; place <= last; place += step) {
    const hash = hashAt(view, place, second);
    marks[count] = place;
    const bits = marked[hash >>> shift]!;
    count += (bits >>> bitOf(hash)) & (bits >>> otherBitOf(hash)) & 1;
  }
  return count;
}

/**
 * The place in a table that follows from the upper bits of a hash, which all of its window has a
 * part in. @param table as long as a power of two, at least two
 */
export function upper(hash: number, table: Int32Array | Uint32Array): number {
  return hash >>> (Math.clz32(table.length) + 1);
}

/** The bits of a word that a window has, of which shifts take the lowest five bits. */
function bitOf(hash: number): number {
  return hash >>> 10;
}

function otherBitOf(hash: number): number {
  return hash >>> 5;
}
