import { isAscii } from "../../src/events/ascii.ts";
import { NO_VALUE } from "./automaton.ts";
import type { AutomatonPattern } from "./automaton.ts";
import { createScan, encode, foldedText, setText } from "./scan.ts";
import type { TextScan } from "./scan.ts";
import { endStepAfter, forEachOf } from "./steps.ts";
import type { ClassifySteps } from "./steps.ts";
import { addMark, createMarks, findMarked, HALF, hashAt, MAX_WINDOW, upper } from "./window-marks.ts";

/**
 * Searches for many patterns at once, after Karp and Rabin ("Efficient randomized pattern-matching
 * algorithms", 1987). The hash of each window of a text shows whether it may be part of a pattern.
 * A window costs a few operations and a bit of a table that fits the processor's caches, whereas an
 * automaton of thousands of patterns reads main memory.
 *
 * Each pattern is found by the one of its windows that the fewest other patterns have, so that
 * patterns with a common prefix still have windows of their own. Patterns that are long enough are
 * anchored at several windows, so that only every second or fourth window of a text is hashed, as
 * Wu and Manber's search skips: wherever a pattern occurs, one of its anchors starts at such a
 * place.
 */
export type WindowHash = {
  /** Has the parameters and result of `Automaton.search`. */
  search(text: TextScan, bound: number, ids: number[] | null): number;
};

/** Odd multiplier for hashing four bytes, from the golden ratio (Knuth). */
const MIX = 0x9e3779b1;
/** Number of patterns up to which a search one by one is as fast and takes less memory. */
export const FEW = 4;
/**
 * Maximum number of patterns with the same hash. The limit bounds the cost of an event to a few
 * milliseconds even for chosen patterns, however many groups it tests. A limit of two would be too
 * low: among thousands of similar patterns, hashes collide by chance.
 */
const MAX_PER_HASH = 8;

/** Windows of a text to hash: their length in bytes, at every `step`-th place. */
type Window = { readonly length: number; readonly step: number };

/**
 * Least length of windows with a step above 1. Shorter ones are too frequent for skipping to pay
 * off.
 */
const MIN_LENGTH_IN_STEPS = 6;

/**
 * Maximum number of windows with a step above 1. With more, tables no longer fit the processor's
 * caches, which costs more than skipping saves.
 */
const MAX_IN_STEPS = 2 ** 16;

/**
 * Returns possible windows for a number of patterns, the shortest of `least` units, fastest first.
 */
function windowsFor(patterns: number, least: number): Window[] {
  return [4, 2, 1]
    .map((step) => ({ length: Math.min(least - step + 1, MAX_WINDOW), step }))
    .filter(({ length, step }) => step === 1 || (length >= MIN_LENGTH_IN_STEPS && step * patterns <= MAX_IN_STEPS));
}

/**
 * Compiles folded patterns, in time linear in the sum of their lengths.
 *
 * @returns `rest` holds the patterns that `pass` does not search for: short ones, and those without
 * a rare enough window. If too few are left to search for, `pass` is null and `rest` holds all
 * patterns.
 */
export function* compileWindowHash(patterns: readonly AutomatonPattern[]): ClassifySteps<{
  readonly pass: WindowHash | null;
  readonly rest: readonly AutomatonPattern[];
}> {
  const fits = patterns.filter(isFit);
  yield* endStepAfter(patterns.length);
  if (fits.length <= FEW) return { pass: null, rest: patterns };
  const least = fits.reduce((shortest, { text }) => Math.min(shortest, text.length), Infinity);
  let best: Anchors | null = null;
  for (const window of windowsFor(fits.length, least)) {
    const anchors = yield* anchor(fits, window);
    if (best === null || anchors.excluded.size < best.excluded.size) best = anchors;
    if (anchors.excluded.size === 0) break;
  }
  const { window, taken, excluded } = best!;
  if (fits.length - excluded.size <= FEW) return { pass: null, rest: patterns };
  const rest = patterns.filter((pattern) => !isFit(pattern) || excluded.has(pattern));
  return { pass: yield* createPass(taken, window), rest };
}

function isFit({ text }: AutomatonPattern): boolean {
  return text.length >= HALF && text.length <= MAX_UNITS;
}

/** A pattern with the hash of one of its windows and the window's offset in the pattern. */
type Anchored = { readonly pattern: AutomatonPattern; readonly hash: number; readonly start: number };

/**
 * `excluded` are the patterns whose anchor window too many patterns share, or that repeat it too
 * often.
 */
type Anchors = {
  readonly window: Window;
  readonly taken: readonly Anchored[];
  readonly excluded: ReadonlySet<AutomatonPattern>;
};

/**
 * Counters of windows per pattern, and the maximum of all (1 MB). Several windows may share a
 * counter, which makes them look more frequent than they are, never rarer.
 */
const COUNTERS = 64;
const MAX_COUNTERS = 2 ** 18;

function* anchor(patterns: readonly AutomatonPattern[], window: Window): ClassifySteps<Anchors> {
  const counts = new Uint32Array(Math.min(2 ** Math.ceil(Math.log2(COUNTERS * patterns.length)), MAX_COUNTERS));
  let handled = 0;
  /** Adds the units of `text` to this step's count and returns whether the step is full. */
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
  const excluded = new Set<AutomatonPattern>();
  const all: Anchored[] = [];
  for (const pattern of patterns) {
    if (isFull(pattern.text, 3)) yield;
    const hashes = hashesOf(pattern.text, window);
    for (let from = 0; from < window.step; from++) {
      const start = rarest(pattern.text, hashes, { from, window, counts });
      const hash = hashes[start]!;
      // The pattern repeats its window. In a text that repeats it too, each place would need a long
      // compare.
      if (timesIn(hashes, hash) > MAX_PER_HASH) excluded.add(pattern);
      all.push({ pattern, hash, start });
    }
  }
  const timesOf = yield* countHashes(all);
  yield* forEachOf(all.length, (i) => {
    const { pattern, hash } = all[i]!;
    if (timesOf(hash) > MAX_PER_HASH) excluded.add(pattern);
  });
  const taken: Anchored[] = [];
  yield* forEachOf(all.length, (i) => void (excluded.has(all[i]!.pattern) || taken.push(all[i]!)));
  return { window, taken, excluded };
}

/**
 * Counts anchors by hash. Uses typed arrays, since a Map blocks for about a millisecond when it
 * grows.
 */
function* countHashes(anchors: readonly Anchored[]): ClassifySteps<(hash: number) => number> {
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

/** Number of pattern units handled in one step. */
const STEP_UNITS = 4_096;

function timesIn(hashes: Int32Array, hash: number): number {
  let times = 0;
  for (const each of hashes) if (each === hash) times += 1;
  return times;
}

/** Estimated factor by which a window across two words is rarer in texts than one within a word. */
const RARER = 8;

/**
 * Returns which window of a pattern at `from`, `from + step` and so on is likely to be the rarest
 * in texts and to be shared by the fewest patterns.
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
    // Start in the middle, where two words are likely to meet.
    const at = from + ((i + (places >>> 1)) % places) * step;
    const count = counts[counterOf(hashes[at]!, counts)]! * (spansWords(text, at, at + length) ? 1 : RARER);
    if (count >= least) continue;
    least = count;
    best = at;
  }
  return best;
}

/** Returns whether a separator lies inside the window, with a unit of it on either side. */
function spansWords(text: string, from: number, to: number): boolean {
  for (let at = from + 1; at < to - 1; at++) if (text.charCodeAt(at) < ZERO) return true;
  return false;
}

/** First code unit above blanks and nearly all separators of words. */
const ZERO = 0x30;

/**
 * Returns the counter of a hash. Windows with similar differences have hashes with similar
 * differences; mixing again keeps the windows of many patterns from colliding all at once.
 */
function counterOf(hash: number, counts: Uint32Array): number {
  return upper(Math.imul(hash ^ (hash >>> 15), MIX), counts);
}

const scanned = createScan();

/** Returns the hash of each window of `text`, in order. */
function hashesOf(text: string, { length }: Window): Int32Array {
  setText(scanned, text);
  // The text is folded already.
  scanned.folded = text;
  encode(scanned);
  const hashes = new Int32Array(scanned.length - length + 1);
  for (let at = 0; at < hashes.length; at++) hashes[at] = hashAt(scanned.view, at, length - HALF);
  return hashes;
}

/** Least number of slots per entry. With more slots, fewer fit the processor's caches. */
const ROOM = 3;

/** @param anchors in order of their patterns, `step` of them for each pattern */
function* createPass(anchors: readonly Anchored[], { length, step }: Window): ClassifySteps<WindowHash> {
  const patterns = anchors.filter((_, i) => i % step === 0).map(({ pattern }) => pattern);
  const second = length - HALF;
  const marked = createMarks(patterns.length);
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(ROOM * anchors.length)));
  const { entries, places, bytesAt } = yield* layOut(patterns, step);
  /**
   * A slot's upper bits identify an entry and its window; its other bits hold the lower bits of the
   * window's mixed hash. A free slot is 0, since no entry is at 0.
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
  /** By pattern id, the last search that reported the pattern. */
  const reportedIn = new Uint32Array(lastId + 1);
  let pass = 0;

  /** Tests the patterns that have the window at `place`. */
  function matchAt(text: TextScan, place: number, bound: number, ids: number[] | null): number {
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
      if (!isPatternAt(entry, text, place - start)) continue;
      found = Math.min(found, value);
      if (ids === null || id < 0 || reportedIn[id] === pass) continue;
      reportedIn[id] = pass;
      ids.push(id);
    }
    return found;
  }

  /** Returns whether the pattern of an entry occurs at `start` of a text. */
  function isPatternAt(entry: number, text: TextScan, start: number): boolean {
    if (!text.isAscii)
      return foldedText(text).startsWith(patterns[entries.getInt32(entry + NUMBER, true)]!.text, start);
    const size = entries.getUint16(entry + LENGTH, true);
    return (
      size > 0 && start >= 0 && start + size <= text.length && isSame(text.view, start, entries, entry + bytesAt, size)
    );
  }

  return {
    search(text, bound, ids) {
      pass = pass === 0xffffffff ? 1 : pass + 1;
      if (pass === 1) reportedIn.fill(0);
      if (bound <= floor && ids === null) return bound;
      encode(text);
      const count = findMarked(text.view, text.length - length, second, step, marked, text.marks);
      let found = bound;
      for (let i = 0; i < count; i++) {
        found = matchAt(text, text.marks[i]!, found, ids);
        if (found === floor && ids === null) break;
      }
      return found;
    },
  };
}

/** Alignment of entries, in bytes. */
const UNIT = 4;
/**
 * Offsets in an entry: its pattern's value and number, the length of its bytes, and the start of
 * each of its windows. The bytes follow.
 */
const VALUE = 0;
const NUMBER = 4;
const LENGTH = 8;
const STARTS = 10;
/** Greatest length of a pattern: starts and lengths are 16-bit numbers. */
const MAX_UNITS = 2 ** 16 - 1;

/**
 * Lays out the data of each pattern in one entry; `bytesAt` is the offset of its bytes there. A
 * pattern that is not ASCII has no bytes: a text that is compared by bytes cannot contain it. No
 * entry is at 0.
 */
function* layOut(
  patterns: readonly AutomatonPattern[],
  step: number,
): ClassifySteps<{ entries: DataView; places: readonly number[]; bytesAt: number }> {
  const bytesAt = STARTS + 2 * step;
  const sizeOf = ({ text }: AutomatonPattern): number => UNIT * Math.ceil((bytesAt + text.length) / UNIT);
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

/** Returns whether `size` ASCII bytes of a text equal those of a pattern once folded. */
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

/**
 * Folds four ASCII bytes at once. Adding the distances from A and from beyond Z to 0x80 marks the
 * bytes from A to Z in their eighth bits; these bytes get the bit of lower case.
 */
function foldFour(bytes: number): number {
  const capitals = ((bytes + 0x3f3f3f3f) ^ (bytes + 0x25252525)) & 0x80808080;
  return bytes | (capitals >>> 2);
}
