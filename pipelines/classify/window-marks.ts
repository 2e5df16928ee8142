import { randomInt } from "node:crypto";

/**
 * Hashes of windows (runs of a few bytes of a text) and marks of the patterns' anchor windows. This
 * module finds the marked windows of a text; `window-hash.ts` finds the patterns they belong to.
 */

/** Odd numbers, random in each process, so that patterns cannot be chosen to collide. */
const FIRST = 2 * randomInt(2 ** 31) + 1;
const SECOND = 2 * randomInt(2 ** 31) + 1;

/** Bytes of each of the two numbers that form a window; in short windows they overlap. */
export const HALF = 4;
/** Longest window, in bytes. */
export const MAX_WINDOW = 7;

/** Bits that distinguish upper from lower case in ASCII. Hashes ignore them: texts are unfolded. */
const CASE = 0x20202020;

/** Returns the hash of the window at `at`, whose second half starts `second` bytes later. */
export function hashAt(view: DataView, at: number, second: number): number {
  const first = view.getInt32(at, true) | CASE;
  return Math.imul(Math.imul(first, FIRST) + (view.getInt32(at + second, true) | CASE), SECOND);
}

/**
 * Least number of 32-bit words of marks per pattern. A window sets two bits of one word, which lets
 * far fewer other windows pass than one bit in twice as many words.
 */
const WORDS = 2;

/** Allocates the marks for a number of patterns. */
export function createMarks(patterns: number): Int32Array {
  return new Int32Array(WORDS * 2 ** Math.ceil(Math.log2(patterns)));
}

/** Marks the windows that have a hash. */
export function addMark(marked: Int32Array, hash: number): void {
  marked[upper(hash, marked)]! |= (1 << bitOf(hash)) | (1 << otherBitOf(hash));
}

/**
 * Writes to `marks` which of the places 0, `step` and so on up to `last` have a marked window. It
 * is a function of its own so that its variables stay in registers, and has no branch on the
 * result, which the processor would mispredict at the cost of ten places.
 *
 * @returns the number of marked places
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
 * Returns the index in a table given by the upper bits of a hash, which all of its window affects.
 * @param table its length is a power of two, at least two
 */
export function upper(hash: number, table: Int32Array | Uint32Array): number {
  return hash >>> (Math.clz32(table.length) + 1);
}

/** Returns the first bit of a window in its word. Shifts use only the lowest five bits. */
function bitOf(hash: number): number {
  return hash >>> 10;
}

function otherBitOf(hash: number): number {
  return hash >>> 5;
}
