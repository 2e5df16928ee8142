import type { KeyHash } from "../key-record.ts";

/** Offsets that one segment spans at most, so that a place in it fits 16 bits. */
export const SEGMENT_OFFSETS = 65_536;
/** Slots of the hash table of the open segment: twice its most claims. */
const SLOTS = 2 * SEGMENT_OFFSETS;
const BITS = SEGMENT_OFFSETS / 8;

/** Flags of offsets, one bit each. */
class OffsetFlags {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  has(place: number): boolean {
    return ((this.bytes[place >> 3] ?? 0) & (1 << (place & 7))) !== 0;
  }

  /** Returns whether this set the flag: it was not set before, and the place is a place of these. */
  set(place: number): boolean {
    if (place >> 3 >= this.bytes.length || this.has(place)) return false;
    this.bytes[place >> 3]! |= 1 << (place & 7);
    return true;
  }
}

/** The outcomes of the claims of a segment. */
class SegmentOutcomes {
  readonly base: number;
  readonly done: OffsetFlags;
  readonly void: OffsetFlags;

  /** @param done the flags of batches that are on the bus, one bit for each offset */
  constructor(base: number, done: Uint8Array) {
    this.base = base;
    this.done = new OffsetFlags(done);
    this.void = new OffsetFlags(new Uint8Array(done.length));
  }

  isDone(offset: number): boolean {
    return this.done.has(offset - this.base);
  }

  isVoid(offset: number): boolean {
    return this.void.has(offset - this.base);
  }

  /** Returns whether this changed anything. */
  settle(kind: "done" | "void", offset: number): boolean {
    return this[kind].set(offset - this.base);
  }
}

/** Outcomes of claims in earlier segments, by their offsets. */
export type EarlierOutcomes = { readonly done: readonly number[]; readonly void: readonly number[] };

/** All that a range of offsets says: what a process has to know of it. */
export type Summary = { readonly segment: SealedSegment; readonly earlier: EarlierOutcomes };

/** Parts of a segment that has ended. */
export type SegmentParts = {
  readonly base: number;
  readonly end: number;
  /** Hour of its first record, in hours since the Unix epoch. */
  readonly hour: number;
  /** Hashes in ascending order of `highs`, with the places of their claims. */
  readonly highs: Uint32Array;
  readonly lows: Uint32Array;
  readonly places: Uint16Array;
  readonly done: Uint8Array;
};

/**
 * Claims of a range of offsets that has ended, each in 10 bytes: those that stood when it ended.
 * Claims are found by binary search.
 */
export class SealedSegment extends SegmentOutcomes {
  readonly parts: SegmentParts;

  constructor(parts: SegmentParts) {
    super(parts.base, parts.done);
    this.parts = parts;
  }

  get hour(): number {
    return this.parts.hour;
  }

  get keys(): number {
    return this.parts.highs.length;
  }

  get size_bytes(): number {
    const { highs, lows, places, done } = this.parts;
    return highs.byteLength + lows.byteLength + places.byteLength + 2 * done.byteLength;
  }

  /** Returns the offset of the claim that stands for a key; null if there is none. */
  find({ high, low }: KeyHash): number | null {
    const { highs, lows, places, base } = this.parts;
    for (let i = lowerBound(highs, high); highs[i] === high; i++)
      if (lows[i] === low && !this.void.has(places[i]!)) return base + places[i]!;
    return null;
  }
}

/** Returns the index of the first value that is not below the wanted one. */
function lowerBound(values: Uint32Array, wanted: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Claims of the newest offsets, in a hash table with open addressing. */
export class OpenSegment extends SegmentOutcomes {
  readonly hour: number;
  readonly earlier: { readonly done: number[]; readonly void: number[] } = { done: [], void: [] };
  readonly #highs = new Uint32Array(SEGMENT_OFFSETS);
  readonly #lows = new Uint32Array(SEGMENT_OFFSETS);
  readonly #places = new Uint16Array(SEGMENT_OFFSETS);
  /** Numbers of claims from 1; 0 is a free slot. */
  readonly #slots = new Uint32Array(SLOTS);
  #keys = 0;

  constructor(base: number, hour: number) {
    super(base, new Uint8Array(BITS));
    this.hour = hour;
  }

  get keys(): number {
    return this.#keys;
  }

  get size_bytes(): number {
    const { byteLength } = this.#slots;
    return byteLength + 10 * SEGMENT_OFFSETS + 2 * BITS;
  }

  add({ high, low }: KeyHash, offset: number): void {
    const number = this.#keys++;
    this.#highs[number] = high;
    this.#lows[number] = low;
    this.#places[number] = offset - this.base;
    let slot = low % SLOTS;
    while (this.#slots[slot] !== 0) slot = (slot + 1) % SLOTS;
    this.#slots[slot] = number + 1;
  }

  /** See {@link SealedSegment.find}. */
  find({ high, low }: KeyHash): number | null {
    for (let slot = low % SLOTS; ; slot = (slot + 1) % SLOTS) {
      const number = this.#slots[slot]! - 1;
      if (number < 0) return null;
      if (this.#highs[number] !== high || this.#lows[number] !== low) continue;
      if (!this.void.has(this.#places[number]!)) return this.base + this.#places[number]!;
    }
  }

  /** Ends the segment. Returns the claims that stand, sorted. */
  seal(end: number): Summary {
    const standing: number[] = [];
    for (let i = 0; i < this.#keys; i++) if (!this.void.has(this.#places[i]!)) standing.push(i);
    // Both numbers fit the 53 bits of a double, whose arrays sort without calling a comparison.
    const order = Float64Array.from(standing, (i) => this.#highs[i]! * SEGMENT_OFFSETS + i).sort();
    const at = (i: number): number => order[i]! % SEGMENT_OFFSETS;
    const { length } = order;
    const highs = new Uint32Array(length);
    const lows = new Uint32Array(length);
    const places = new Uint16Array(length);
    for (let i = 0; i < length; i++) {
      highs[i] = this.#highs[at(i)]!;
      lows[i] = this.#lows[at(i)]!;
      places[i] = this.#places[at(i)]!;
    }
    const done = this.done.bytes.slice(0, Math.ceil((end - this.base) / 8));
    const { base, hour, earlier } = this;
    return { segment: new SealedSegment({ base, end, hour, highs, lows, places, done }), earlier };
  }
}
