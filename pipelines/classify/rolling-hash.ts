import type { Pattern } from "./automaton.ts";

/**
 * Karp and Rabin's search ("Efficient randomized pattern-matching algorithms", 1987), for many patterns at once: a window slides over the text, and its hash, which
 * follows from the one before, tells whether a pattern may begin there. A unit of the text costs the same few steps and bits of tables that stay in the
 * processor's cache, where an automaton of thousands of patterns goes through memory.
 */
export type RollingHash = {
  /** As that of an `Automaton`. */
  search(text: string, bound: number, ids: number[] | null): number;
};

/** Shorter patterns begin in too many places. */
const SHORTEST = 4;
/** The window is as long as the shortest pattern, but no longer than this. */
const LONGEST_WINDOW = 16;
/** Fewer patterns are found as fast by an automaton, which the cache holds. */
const FEWEST = 2_000;
/** So many patterns that begin alike are compared at most where they may begin: whatever the patterns, a text of 500 characters takes a millisecond at worst. */
const MOST_ALIKE = 8;

/**
 * @param fewest patterns for which it pays
 * @returns null where it does not; `rest` are the patterns that it does not look for
 */
export function compileRollingHash(
  patterns: readonly Pattern[],
  fewest = FEWEST,
): { readonly pass: RollingHash | null; readonly rest: readonly Pattern[] } {
  const long = patterns.filter(({ text }) => text.length >= SHORTEST);
  if (long.length < fewest) return { pass: null, rest: patterns };
  const window = long.reduce((shortest, { text }) => Math.min(shortest, text.length), LONGEST_WINDOW);
  const rest = patterns.filter(({ text }) => text.length < SHORTEST);
  const alike = Map.groupBy(long, ({ text }) => hashOf(text, window));
  for (const [hash, some] of alike) {
    if (some.length <= MOST_ALIKE) continue;
    rest.push(...some);
    alike.delete(hash);
  }
  return { pass: createPass(alike, window), rest };
}

const BASE = 0x01000193;
/** Of each table: 32 KB. Ten thousand patterns mark one bit in 26 of either, and one place in 680 looks like a beginning that is none. */
const BITS = 18;
const FIRST = 0x9e3779b1;
const SECOND = 0x85ebca6b;

/** @param alike patterns by the hash of their beginnings */
function createPass(alike: ReadonlyMap<number, readonly Pattern[]>, window: number): RollingHash {
  const first = new Int32Array(2 ** (BITS - 5));
  const second = new Int32Array(2 ** (BITS - 5));
  let floor = Infinity;
  let lastId = -1;
  for (const [hash, some] of alike) {
    mark(first, bitOf(hash, FIRST));
    mark(second, bitOf(hash, SECOND));
    for (const pattern of some) {
      floor = Math.min(floor, pattern.value);
      lastId = Math.max(lastId, pattern.id);
    }
  }
  let outgoing = 1;
  for (let i = 0; i < window; i++) outgoing = Math.imul(outgoing, BASE);
  /** By the id of a pattern, the last search that told it. */
  const told = new Uint32Array(lastId + 1);
  let pass = 0;

  return {
    search(text, bound, ids) {
      if (text.length < window) return bound;
      pass = pass === 0xffffffff ? 1 : pass + 1;
      if (pass === 1) told.fill(0);
      let found = bound;
      let hash = hashOf(text, window);
      for (let end = window; ; end++) {
        if (isMarked(first, bitOf(hash, FIRST)) && isMarked(second, bitOf(hash, SECOND))) {
          for (const pattern of alike.get(hash) ?? []) {
            const isAsked = pattern.value < found || (ids !== null && pattern.id >= 0);
            if (!isAsked || !text.startsWith(pattern.text, end - window)) continue;
            found = Math.min(found, pattern.value);
            if (ids === null || pattern.id < 0 || told[pattern.id] === pass) continue;
            told[pattern.id] = pass;
            ids.push(pattern.id);
          }
          if (found === floor && ids === null) return found;
        }
        if (end >= text.length) return found;
        hash = (Math.imul(hash, BASE) + text.charCodeAt(end) - Math.imul(text.charCodeAt(end - window), outgoing)) | 0;
      }
    },
  };
}

/** Of the first `window` units: a polynomial in {@link BASE}, modulo 2^32. */
function hashOf(text: string, window: number): number {
  let hash = 0;
  for (let i = 0; i < window; i++) hash = (Math.imul(hash, BASE) + text.charCodeAt(i)) | 0;
  return hash;
}

/** The upper bits of a polynomial are mixed worse than those of a product (Knuth's multiplicative hash). */
function bitOf(hash: number, factor: number): number {
  return Math.imul(hash, factor) >>> (32 - BITS);
}

function mark(bits: Int32Array, bit: number): void {
  bits[bit >>> 5]! |= 1 << (bit & 31);
}

function isMarked(bits: Int32Array, bit: number): boolean {
  return (bits[bit >>> 5]! & (1 << (bit & 31))) !== 0;
}
