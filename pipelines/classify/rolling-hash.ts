import { randomInt } from "node:crypto";

import { NO_VALUE } from "./automaton.ts";
import type { Pattern } from "./automaton.ts";

/**
 * Karp and Rabin's search ("Efficient randomized pattern-matching algorithms", 1987), for many patterns at once: a window slides over the text, and its hash, which
 * follows from the one before, tells whether it may be part of a pattern. A unit of the text costs the same few steps and a bit of a table that stays in the
 * processor's cache, where an automaton of thousands of patterns goes through memory.
 *
 * Each pattern is looked for by that one of its windows which the fewest others have: of thousands that begin alike, each has one of its own.
 */
export type RollingHash = {
  /** As that of an `Automaton`. */
  search(text: string, bound: number, ids: number[] | null): number;
};

/** Fewer patterns are found faster by an automaton, or one by one. */
const FEWEST = 16;
/** So many patterns with the same hash are compared at most where it is found: whatever the patterns, a text of 500 characters takes a few milliseconds at worst. */
const MOST_ALIKE = 8;

/** An odd number of this process's own, so that nobody can choose patterns whose hashes crowd. */
const SEED = 2 * randomInt(2 ** 31) + 1;

/**
 * How the hash of a window follows from that of the one before: `(hash + unit) * factor`, modulo 2^32. A factor is an odd number times a power of two, so that a unit is
 * multiplied to nothing once `length` others came after it: none has to be taken out. Of the oldest unit the lowest four bits are left, of those after it more.
 */
type Window = { readonly length: number; readonly factor: number };

const SHORT: Window = { length: 4, factor: SEED << 7 };
const LONG: Window = { length: 7, factor: SEED << 4 };

/**
 * Compiles patterns; linear in the sum of their lengths.
 *
 * @returns `rest` are the patterns that it does not look for: short ones, and those without a window that few others have; all, and null, where too few are left
 */
export function compileRollingHash(patterns: readonly Pattern[]): {
  readonly pass: RollingHash | null;
  readonly rest: readonly Pattern[];
} {
  const fits = patterns.filter(({ text }) => text.length >= SHORT.length);
  if (fits.length < FEWEST) return { pass: null, rest: patterns };
  const window = fits.every(({ text }) => text.length >= LONG.length) ? LONG : SHORT;
  const rest = patterns.filter(({ text }) => text.length < SHORT.length);
  const alike = Map.groupBy(anchor(fits, window), ({ hash }) => hash);
  for (const [hash, some] of alike) {
    if (some.length <= MOST_ALIKE) continue;
    for (const { pattern } of some) rest.push(pattern);
    alike.delete(hash);
  }
  if (patterns.length - rest.length < FEWEST) return { pass: null, rest: patterns };
  return { pass: createPass([...alike.values()].flat(), window), rest };
}

/** A pattern, and of the window by which it is looked for the hash and the end, counted from the pattern's start. */
type Anchored = { readonly pattern: Pattern; readonly hash: number; readonly end: number };

/** Counters of windows for each pattern, and of all at most, which are 1 MB. Several windows may share one: then they seem to be more frequent than they are, never rarer. */
const COUNTERS = 64;
const MOST_COUNTERS = 2 ** 18;

function anchor(patterns: readonly Pattern[], window: Window): Anchored[] {
  const counts = new Uint32Array(Math.min(2 ** Math.ceil(Math.log2(COUNTERS * patterns.length)), MOST_COUNTERS));
  for (const { text } of patterns) for (const hash of hashesOf(text, window)) counts[upper(hash, counts)]! += 1;
  return patterns.map((pattern) => {
    const hashes = hashesOf(pattern.text, window);
    const middle = hashes.length >>> 1;
    // From the middle on, which has parts of two words as often as not: texts have each word of a pattern more often than both.
    let rarest = middle;
    for (let i = middle + 1; i < middle + hashes.length; i++) {
      const at = i % hashes.length;
      if (counts[upper(hashes[at]!, counts)]! < counts[upper(hashes[rarest]!, counts)]!) rarest = at;
    }
    return { pattern, hash: hashes[rarest]!, end: rarest + window.length };
  });
}

/** Of each window of `text`, from the first on. */
function hashesOf(text: string, { length, factor }: Window): number[] {
  const hashes: number[] = [];
  let hash = 0;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash + text.charCodeAt(i), factor);
    if (i >= length - 1) hashes.push(hash);
  }
  return hashes;
}

/** Of the table of patterns, each in a quarter of a line of the processor's cache: the hash, the value, the id, the end of the window. */
const ENTRY = 4;
const VALUE = 1;
const ID = 2;
const END = 3;

function createPass(patterns: readonly Anchored[], window: Window): RollingHash {
  const size = 2 ** Math.ceil(Math.log2(patterns.length + 1));
  /**
   * Two bits of the same word for each window that a pattern is looked for by (a Bloom filter in blocks of 32 bits), 16 to 32 bits a pattern: one or two windows in a hundred pass
   * that are none of theirs, and each costs as much as ten steps.
   */
  const bits = new Int32Array(size / 2);
  /** Numbers of patterns, from 1 on, from the place on that follows from their hash; 0 where there is none. */
  const places = new Int32Array(2 * size);
  const table = new Int32Array(ENTRY * (patterns.length + 1));
  const texts = ["", ...patterns.map(({ pattern }) => pattern.text)];
  patterns.forEach(({ pattern, hash, end }, i) => {
    bits[upper(hash, bits)]! |= maskOf(hash);
    let place = placeOf(hash, places);
    while (places[place] !== 0) place = next(place, places);
    places[place] = i + 1;
    table.set([hash, pattern.value, pattern.id, end], ENTRY * (i + 1));
  });
  const floor = patterns.reduce((least, { pattern }) => Math.min(least, pattern.value), NO_VALUE);
  const lastId = patterns.reduce((last, { pattern }) => Math.max(last, pattern.id), -1);
  /** By the id of a pattern, the last search that told it. */
  const told = new Uint32Array(lastId + 1);
  let pass = 0;

  /** Looks at the patterns that have the window which ends before `to`. */
  function look(text: string, to: number, bound: number, ids: number[] | null): number {
    const hash = hashOf(text, to - window.length, to, window);
    let found = bound;
    for (let place = placeOf(hash, places); places[place] !== 0; place = next(place, places)) {
      const number = places[place]!;
      const entry = ENTRY * number;
      if (table[entry] !== hash) continue;
      const value = table[entry + VALUE]!;
      const id = table[entry + ID]!;
      if (value >= found && (ids === null || id < 0)) continue;
      if (!text.startsWith(texts[number]!, to - table[entry + END]!)) continue;
      found = Math.min(found, value);
      if (ids === null || id < 0 || told[id] === pass) continue;
      told[id] = pass;
      ids.push(id);
    }
    return found;
  }

  return {
    search(text, bound, ids) {
      pass = pass === 0xffffffff ? 1 : pass + 1;
      if (pass === 1) told.fill(0);
      if (bound <= floor && ids === null) return bound;
      let found = bound;
      let to = nextMarked(bits, window, text, 0);
      while (to > 0) {
        found = look(text, to, found, ids);
        if (found === floor && ids === null) break;
        to = nextMarked(bits, window, text, to - window.length + 1);
      }
      return found;
    },
  };
}

/** The end of the first window from `from` on whose bits are set, or -1. A function by itself, so that all it needs stays in registers. */
function nextMarked(bits: Int32Array, window: Window, text: string, from: number): number {
  const { length, factor } = window;
  const first = Math.min(from + length - 1, text.length);
  let hash = hashOf(text, from, first, window);
  for (let at = first; at < text.length; at++) {
    hash = Math.imul(hash + text.charCodeAt(at), factor);
    const mask = maskOf(hash);
    if ((bits[upper(hash, bits)]! & mask) === mask) return at + 1;
  }
  return -1;
}

/** Of the units from `from` on and before `to`. */
function hashOf(text: string, from: number, to: number, { factor }: Window): number {
  let hash = 0;
  for (let i = from; i < to; i++) hash = Math.imul(hash + text.charCodeAt(i), factor);
  return hash;
}

/** The place in a table that follows from the upper bits of a hash, which all of its window has a part in. @param table as long as a power of two, at least two */
function upper(hash: number, table: Int32Array | Uint32Array): number {
  return hash >>> (Math.clz32(table.length) + 1);
}

/** Two bits by those of a hash in its middle, which the last units of the window decide. */
function maskOf(hash: number): number {
  return (1 << (hash >>> 14)) | (1 << (hash >>> 9));
}

/** Of the golden ratio, as Knuth has it. */
const MIX = 0x9e3779b1;

function placeOf(hash: number, places: Int32Array): number {
  return upper(Math.imul(hash, MIX), places);
}

function next(place: number, places: Int32Array): number {
  return (place + 1) & (places.length - 1);
}
