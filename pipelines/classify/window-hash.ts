import { isAscii } from "../../src/events/ascii.ts";
import { NO_VALUE } from "./automaton.ts";
import type { Pattern } from "./automaton.ts";
import { foldFour, MIX } from "./four-bytes.ts";
import { createScan, foldedOf, take, write } from "./scan.ts";
import type { Scan } from "./scan.ts";
import { endStepAfter, forEachOf } from "./steps.ts";
import type { Steps } from "./steps.ts";
import { addMark, createMarks, findMarked, HALF, hashAt, LONGEST, upper } from "./window-marks.ts";

/**
 * The search of Karp and Rabin ("Efficient randomized pattern-matching algorithms", 1987), for many
 * patterns at once: the hash of each window of a text tells whether it may be part of a pattern. A
 * window costs the same few steps and a bit of a table that stays in the processor's caches, where
 * an automaton of thousands of patterns goes through memory.
 *
 * Each pattern is looked for by that one of its windows which the fewest others have: of thousands
 * that begin alike, each has one of its own. Where patterns are long enough they are looked for by
 * several, so that every second or fourth window of a text does (as Wu and Manber's search skips):
 * wherever a pattern stands, one of its own begins there.
 */
export type WindowHash = {
  /** As that of an `Automaton`. */
  search(text: Scan, bound: number, ids: number[] | null): number;
};

/** So few patterns are found as fast one by one, and take less memory so. */
export const FEW = 4;
/**
 * So many patterns with the same hash are compared at most where it is found, so that chosen
 * patterns make an event cost some milliseconds and no more, however many groups it asks. With two,
 * it takes no choice: hashes of some thousands that are alike meet by chance.
 */
const MOST_ALIKE = 8;

/** What is looked at in a text: so many bytes, at every `step`-th place. */
type Window = { readonly length: number; readonly step: number };

/** Shorter ones are so frequent in texts that leaving out places brings nothing. */
const SHORTEST_IN_STEPS = 6;

/** With more windows to look for, more steps cost more than they spare: tables no longer fit the processor's caches. */
const MOST_IN_STEPS = 2 ** 16;

/** The windows to look for so many patterns by, of which the shortest has `least` units, the fastest first. */
function windowsFor(patterns: number, least: number): Window[] {
  return [4, 2, 1]
    .map((step) => ({ length: Math.min(least - step + 1, LONGEST), step }))
    .filter(({ length, step }) => step === 1 || (length >= SHORTEST_IN_STEPS && step * patterns <= MOST_IN_STEPS));
}

/**
 * Compiles patterns, which are folded; linear in the sum of their lengths.
 *
 * @returns `rest` are the patterns that it does not look for: short ones, and those without windows
 * that few others have; all, and `pass` is null, where too few are left
 */
export function* compileWindowHash(patterns: readonly Pattern[]): Steps<{
  readonly pass: WindowHash | null;
  readonly rest: readonly Pattern[];
}> {
  const fits = patterns.filter(isFit);
  yield* endStepAfter(patterns.length);
  if (fits.length <= FEW) return { pass: null, rest: patterns };
  const least = fits.reduce((shortest, { text }) => Math.min(shortest, text.length), Infinity);
  let best: Anchors | null = null;
  for (const window of windowsFor(fits.length, least)) {
    const anchors = yield* anchor(fits, window);
    if (best === null || anchors.alike.size < best.alike.size) best = anchors;
    if (anchors.alike.size === 0) break;
  }
  const { window, taken, alike } = best!;
  if (fits.length - alike.size <= FEW) return { pass: null, rest: patterns };
  const rest = patterns.filter((pattern) => !isFit(pattern) || alike.has(pattern));
  return { pass: yield* createPass(taken, window), rest };
}

function isFit({ text }: Pattern): boolean {
  return text.length >= HALF && text.length <= MOST_UNITS;
}

/** A pattern, and of a window by which it is looked for the hash and the start, counted from the pattern's. */
type Anchored = { readonly pattern: Pattern; readonly hash: number; readonly start: number };

/** `alike` are the patterns that would be looked for by a window that too many have, or one of them too often. */
type Anchors = { readonly window: Window; readonly taken: readonly Anchored[]; readonly alike: ReadonlySet<Pattern> };

/**
 * Counters of windows for each pattern, and of all at most, which are 1 MB. Several windows may
 * share one: then they seem to be more frequent than they are, never rarer.
 */
const COUNTERS = 64;
const MOST_COUNTERS = 2 ** 18;

function* anchor(patterns: readonly Pattern[], window: Window): Steps<Anchors> {
  const counts = new Uint32Array(Math.min(2 ** Math.ceil(Math.log2(COUNTERS * patterns.length)), MOST_COUNTERS));
  let handled = 0;
  /** Whether this step has looked at as many units as it may, with those of `text`. */
  const isFull = ({ length }: string, times: number): boolean => {
    handled += length * times;
    if (handled < STEP_UNITS) return false;
    handled = 0;
    return true;
  };
  for (const { text } of patterns) {
    if (isFull(text, 1)) yield;
    for (const hash of hashesOf(text, window)) counts[counterOf(hash, counts)]! += 1;
  }
  const alike = new Set<Pattern>();
  const all: Anchored[] = [];
  for (const pattern of patterns) {
    if (isFull(pattern.text, 3)) yield;
    const hashes = hashesOf(pattern.text, window);
    for (let from = 0; from < window.step; from++) {
      const start = rarest(pattern.text, hashes, { from, window, counts });
      const hash = hashes[start]!;
      // It repeats itself: a text that does so, too, would be compared with nearly all of it at each place.
      if (timesIn(hashes, hash) > MOST_ALIKE) alike.add(pattern);
      all.push({ pattern, hash, start });
    }
  }
  const timesOf = yield* countHashes(all);
  yield* forEachOf(all.length, (i) => {
    const { pattern, hash } = all[i]!;
    if (timesOf(hash) > MOST_ALIKE) alike.add(pattern);
  });
  const taken: Anchored[] = [];
  yield* forEachOf(all.length, (i) => void (alike.has(all[i]!.pattern) || taken.push(all[i]!)));
  return { window, taken, alike };
}

/**
 * How many have a hash. A table of numbers rather than a Map, which takes a millisecond where it
 * grows.
 */
function* countHashes(anchors: readonly Anchored[]): Steps<(hash: number) => number> {
  const hashes = new Int32Array(2 ** Math.ceil(Math.log2(2 * anchors.length + 2)));
  const times = new Int32Array(hashes.length);
  const slotOf = (hash: number): number => {
    let slot = upper(Math.imul(hash, MIX), hashes);
    while (times[slot] !== 0 && hashes[slot] !== hash) slot = next(slot, hashes);
    return slot;
  };
  yield* forEachOf(anchors.length, (i) => {
    const { hash } = anchors[i]!;
    const slot = slotOf(hash);
    hashes[slot] = hash;
    times[slot]! += 1;
  });
  return (hash) => times[slotOf(hash)]!;
}

/** Units of patterns that are looked at in one step. */
const STEP_UNITS = 4_096;

function timesIn(hashes: Int32Array, hash: number): number {
  let times = 0;
  for (const each of hashes) if (each === hash) times += 1;
  return times;
}

/** How many times rarer texts have two words of a pattern side by side than one of them. */
const RARER = 8;

/**
 * Which of the windows at `from`, `from + step` and so on of a pattern is likely to be the rarest
 * in texts, and to lead to the fewest patterns.
 */
function rarest(
  text: string,
  hashes: Int32Array,
  { from, window: { length, step }, counts }: { from: number; window: Window; counts: Uint32Array },
): number {
  const places = Math.ceil((hashes.length - from) / step);
  let best = from;
  let least = Infinity;
  for (let i = 0; i < places; i++) {
    // From the middle on, where two words meet as often as not.
    const at = from + ((i + (places >>> 1)) % places) * step;
    const count = counts[counterOf(hashes[at]!, counts)]! * (spansWords(text, at, at + length) ? 1 : RARER);
    if (count >= least) continue;
    least = count;
    best = at;
  }
  return best;
}

/** Whether some of a word, what ends it, and some of another lie between `from` and `to`. */
function spansWords(text: string, from: number, to: number): boolean {
  for (let at = from + 1; at < to - 1; at++) if (text.charCodeAt(at) < ZERO) return true;
  return false;
}

/** Blanks, and nearly all that stands between words, come before it. */
const ZERO = 0x30;

/**
 * Windows that differ alike have hashes that differ alike: mixed once more, those of many patterns
 * do not meet those of many others all at once.
 */
function counterOf(hash: number, counts: Uint32Array): number {
  return upper(Math.imul(hash ^ (hash >>> 15), MIX), counts);
}

const scanned = createScan();

/** Of each window of `text`, from the first on. */
function hashesOf(text: string, { length }: Window): Int32Array {
  take(scanned, text);
  // As it is folded already.
  scanned.folded = text;
  write(scanned);
  const hashes = new Int32Array(scanned.length - length + 1);
  for (let at = 0; at < hashes.length; at++) hashes[at] = hashAt(scanned.view, at, length - HALF);
  return hashes;
}

/** So many slots there are at least for each that is taken: with more of them, fewer stay in the processor's caches. */
const ROOM = 3;

/** @param anchors those of a pattern side by side, as many as a window's `step` */
function* createPass(anchors: readonly Anchored[], { length, step }: Window): Steps<WindowHash> {
  const patterns = anchors.filter((_, i) => i % step === 0).map(({ pattern }) => pattern);
  const second = length - HALF;
  const marked = createMarks(patterns.length);
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(ROOM * anchors.length)));
  const { entries, places, bytesAt } = yield* layOut(patterns, step);
  /**
   * A slot tells by its upper bits which window of which entry it is for, and holds in the others
   * the lower ones of the window's hash, mixed: 0 where it is free, as no entry is at 0.
   */
  const windowBits = Math.ceil(Math.log2((entries.byteLength / UNIT) * step));
  const hashBits = 32 - windowBits;
  const mask = 2 ** hashBits - 1;
  const stepBits = Math.log2(step);
  yield* forEachOf(anchors.length, (i) => {
    const { hash, start } = anchors[i]!;
    addMark(marked, hash);
    const entry = places[Math.floor(i / step)]!;
    const window = i % step;
    entries.setUint16(entry + STARTS + 2 * window, start, true);
    const mixed = Math.imul(hash, MIX);
    let slot = upper(mixed, slots);
    while (slots[slot] !== 0) slot = next(slot, slots);
    slots[slot] = (((entry / UNIT) * step + window) << hashBits) | (mixed & mask);
  });
  const floor = patterns.reduce((least, { value }) => Math.min(least, value), NO_VALUE);
  const lastId = patterns.reduce((last, { id }) => Math.max(last, id), -1);
  /** By the id of a pattern, the last search that told it. */
  const told = new Uint32Array(lastId + 1);
  let pass = 0;

  /** Looks at the patterns that have the window at `place`. */
  function look(text: Scan, place: number, bound: number, ids: number[] | null): number {
    const mixed = Math.imul(hashAt(text.view, place, second), MIX);
    let found = bound;
    for (let slot = upper(mixed, slots); slots[slot] !== 0; slot = next(slot, slots)) {
      const held = slots[slot]!;
      if (((held ^ mixed) & mask) !== 0) continue;
      const window = held >>> hashBits;
      const entry = (window >>> stepBits) * UNIT;
      const value = entries.getInt32(entry + VALUE, true);
      if (value >= found && ids === null) continue;
      const number = entries.getInt32(entry + NUMBER, true);
      const id = ids === null ? -1 : patterns[number]!.id;
      if (value >= found && id < 0) continue;
      const start = entries.getUint16(entry + STARTS + 2 * (window & (step - 1)), true);
      if (!stands(entry, text, place - start)) continue;
      found = Math.min(found, value);
      if (ids === null || id < 0 || told[id] === pass) continue;
      told[id] = pass;
      ids.push(id);
    }
    return found;
  }

  /** Whether the pattern of an entry stands at `start` of a text. */
  function stands(entry: number, text: Scan, start: number): boolean {
    if (!text.isAscii) return foldedOf(text).startsWith(patterns[entries.getInt32(entry + NUMBER, true)]!.text, start);
    const size = entries.getUint16(entry + LENGTH, true);
    return (
      size > 0 && start >= 0 && start + size <= text.length && isSame(text.view, start, entries, entry + bytesAt, size)
    );
  }

  return {
    search(text, bound, ids) {
      pass = pass === 0xffffffff ? 1 : pass + 1;
      if (pass === 1) told.fill(0);
      if (bound <= floor && ids === null) return bound;
      write(text);
      const count = findMarked(text.view, text.length - length, second, step, marked, text.marks);
      let found = bound;
      for (let i = 0; i < count; i++) {
        found = look(text, text.marks[i]!, found, ids);
        if (found === floor && ids === null) break;
      }
      return found;
    },
  };
}

/** Entries begin at multiples of so many bytes. */
const UNIT = 4;
/**
 * Where the numbers of an entry stand: its pattern's value and number, the length of its bytes, and
 * the start of each of its windows; behind them are its bytes.
 */
const VALUE = 0;
const NUMBER = 4;
const LENGTH = 8;
const STARTS = 10;
/** Starts and lengths are numbers of 16 bits. */
const MOST_UNITS = 2 ** 16 - 1;

/**
 * All that is asked of a pattern, side by side, and where in an entry its bytes begin. Of one that
 * is not ASCII there are no bytes: no text of which bytes are compared can have it. No entry is at
 * 0.
 */
function* layOut(
  patterns: readonly Pattern[],
  step: number,
): Steps<{ entries: DataView; places: readonly number[]; bytesAt: number }> {
  const bytesAt = STARTS + 2 * step;
  const sizeOf = ({ text }: Pattern): number => UNIT * Math.ceil((bytesAt + text.length) / UNIT);
  let size = UNIT;
  yield* forEachOf(patterns.length, (i) => void (size += sizeOf(patterns[i]!)));
  const bytes = Buffer.alloc(size);
  yield;
  let end = UNIT;
  const places: number[] = [];
  yield* forEachOf(patterns.length, (number) => {
    const { text, value } = patterns[number]!;
    const entry = end;
    bytes.writeInt32LE(value, entry + VALUE);
    bytes.writeInt32LE(number, entry + NUMBER);
    bytes.writeUInt16LE(isAscii(text) ? bytes.write(text, entry + bytesAt, "latin1") : 0, entry + LENGTH);
    end += sizeOf(patterns[number]!);
    places.push(entry);
  });
  return { entries: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), places, bytesAt };
}

/** Whether `size` bytes of a text, which are ASCII, are those of a pattern once they are folded. */
function isSame(text: DataView, start: number, pattern: DataView, from: number, size: number): boolean {
  const last = size - HALF;
  for (let i = 0; i < last; i += HALF) {
    if (foldFour(text.getInt32(start + i, true)) !== pattern.getInt32(from + i, true)) return false;
  }
  return foldFour(text.getInt32(start + last, true)) === pattern.getInt32(from + last, true);
}

function next(slot: number, slots: Int32Array): number {
  return (slot + 1) & (slots.length - 1);
}
