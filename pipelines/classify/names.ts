import { isAscii } from "../../src/events/ascii.ts";
import { fold } from "../../src/events/text.ts";
import { foldFour, MIX } from "./four-bytes.ts";
import { forEachOf, groupInSteps, sortInSteps } from "./steps.ts";
import type { Steps } from "./steps.ts";

/** Lookup by name, ignoring case. */
export type Names<T> = {
  /** @param name need not be folded */
  readonly find: (name: string) => T | undefined;
};

/** Least number of bits per name, and the maximum in all: one per value of {@link endsOf}. */
const BITS_PER_NAME = 16;
const MAX_BITS = 2 ** 17;
/** Average and maximum number of names per bucket. The names of a fuller bucket stay in the map. */
const NAMES_PER_BUCKET = 4;
const MAX_NAMES_PER_BUCKET = 16;
/** Number of slots per name. */
const SLOTS_PER_NAME = 1.1;
/** Maximum number of buckets, and of slots of one size: 16 bits of a hash select one. */
const MAX_SLOTS = 2 ** 16;
/**
 * Greatest bucket factor. Factors are odd numbers from 3 on: a factor of 1 would map the names of a
 * bucket to one part of the slots. If no factor fits, the names stay in the map, so that no choice
 * of names makes the table slow.
 */
const LAST_FACTOR = 2_001;
const MAX_LENGTH = 16;
/** Number of slots tried in one step. */
const STEP_TRIES = 1_024;

/**
 * Compiles a lookup by name that avoids hashing the whole name. Tags and sources arrive as new
 * strings with each event, and a Map must hash each one and read main memory just to find that most
 * are absent.
 *
 * A bit for three units of a name and its length rules out many names. Any other name is compared
 * with a single candidate, four units at a time. A perfect hash of the known names selects the
 * candidate: it assigns names to buckets, and each bucket has a factor that maps its names to
 * distinct slots (after Belazzougui, Botelho and Dietzfelbinger, "Hash, displace, and compress",
 * 2009). Long names and names that are not ASCII stay in the map.
 *
 * @param byName by folded name; numbers are integers from 0 to 2^31 - 1
 */
export function* compileNames<T>(byName: ReadonlyMap<string, T | number>): Steps<Names<T | number>> {
  const names = [...byName.keys()];
  const lastWord = Math.min(2 ** Math.ceil(Math.log2(BITS_PER_NAME * names.length + 32)), MAX_BITS) / 32 - 1;
  const hashed: string[] = [];
  /** Number of names, by how many numbers a name takes. */
  const namesOfSize = new Int32Array(5);
  yield* forEachOf(names.length, (i) => {
    const name = names[i]!;
    if (!hasSlot(name.length) || !isAscii(name)) return;
    hashed.push(name);
    namesOfSize[numbersIn(name.length)]! += 1;
  });
  const factorsAt = lastWord + 1;
  const buckets = Math.max(1, Math.min(Math.ceil(hashed.length / NAMES_PER_BUCKET), MAX_SLOTS));
  /** Start and count of the slots, by how many numbers a name takes, 1 to 4. */
  const begins = new Int32Array(5);
  const counts = new Int32Array(5);
  let end = factorsAt + buckets;
  for (let numbers = 1; numbers <= 4; numbers++) {
    begins[numbers] = end;
    counts[numbers] = Math.min(Math.ceil(namesOfSize[numbers]! * SLOTS_PER_NAME) + 1, MAX_SLOTS);
    end += (numbers + 1) * counts[numbers]!;
  }
  /**
   * Bits; then the factors of buckets, 0 if their names stay in the map; then slots. A slot holds
   * the numbers of a name and its value: a number as its complement, otherwise an index into
   * `values`, or 0 if the slot is free. The padding lets every slot be read as if it had four
   * numbers.
   */
  const table = new Int32Array(end + 3);
  const values: (T | undefined)[] = [undefined];

  yield* forEachOf(names.length, (i) => {
    const ends = endsOf(names[i]!);
    table[(ends >>> 5) & lastWord]! |= 1 << ends;
  });
  const byBucket = yield* groupInSteps(hashed, (name) => bucketOf(hashOf(name)));
  /** Slots tried since the last step ended. */
  let tried = 0;
  const entries = [...byBucket];
  // Fullest buckets first, while most slots are free.
  for (const [bucket, members] of yield* sortInSteps(entries, ([, a], [, b]) => b.length - a.length)) {
    yield* assignSlots(bucket, members);
  }

  /**
   * Finds a factor that maps the names of a bucket to distinct free slots, and fills these slots.
   * Without such a factor the names stay in the map.
   */
  function* assignSlots(bucket: number, members: readonly string[]): Steps<void> {
    if (members.length > MAX_NAMES_PER_BUCKET) return;
    const hashes = members.map(hashOf);
    for (let factor = 3; factor <= LAST_FACTOR; factor += 2) {
      tried += members.length;
      if (tried >= STEP_TRIES) {
        tried = 0;
        yield;
      }
      const slots = members.map(({ length }, i) => slotOf(length, hashes[i]!, factor));
      const isFree = (slot: number, i: number): boolean =>
        table[slot + numbersIn(members[i]!.length)] === 0 && slots.indexOf(slot) === i;
      if (!slots.every(isFree)) continue;
      table[bucket] = factor;
      for (const [i, name] of members.entries()) {
        const value = byName.get(name)!;
        const kept = typeof value === "number" ? ~value : values.push(value) - 1;
        table.set([...numbersOf(name), kept], slots[i]);
      }
      return;
    }
  }

  function bucketOf(hash: number): number {
    return factorsAt + partOf(hash, buckets);
  }

  function slotOf(length: number, hash: number, factor: number): number {
    const numbers = numbersIn(length);
    return begins[numbers]! + partOf(Math.imul(hash, factor), counts[numbers]!) * (numbers + 1);
  }

  return {
    // Bucket and slot are computed inline to keep this function above 460 bytecodes
    // (--max-inlined-bytecode-size). V8 would inline a smaller one into its callers and then no
    // longer inline the functions that it calls.
    find(name) {
      const ends = endsOf(name);
      if (ends >= 0 && ((table[(ends >>> 5) & lastWord]! >>> ends) & 1) === 0) return undefined;
      const { length } = name;
      if (!hasSlot(length)) return findIn(byName, name);
      const first = firstOf(name);
      const second = secondOf(name);
      const third = thirdOf(name);
      const fourth = fourthOf(name);
      const hash = mix(first, second, third, fourth);
      const factor = table[factorsAt + (Math.imul(hash >>> 16, buckets) >>> 16)]!;
      if ((first | second | third | fourth) < 0 || factor === 0) return findIn(byName, name);
      const numbers = (length + 3) >> 2;
      const part = Math.imul(Math.imul(hash, factor) >>> 16, counts[numbers]!) >>> 16;
      const slot = begins[numbers]! + part * (numbers + 1);
      const difference =
        (table[slot]! ^ first) |
        ((table[slot + 1]! ^ second) & ((4 - length) >> 31)) |
        ((table[slot + 2]! ^ third) & ((8 - length) >> 31)) |
        ((table[slot + 3]! ^ fourth) & ((12 - length) >> 31));
      if (difference !== 0) return undefined;
      const value = table[slot + numbers]!;
      return value < 0 ? ~value : values[value];
    },
  };
}

function hasSlot(length: number): boolean {
  return length > 0 && length <= MAX_LENGTH;
}

/** Returns how many numbers the units of a name fill. */
function numbersIn(length: number): number {
  return (length + 3) >> 2;
}

/**
 * Returns a folded name as numbers of four units each: its first four, its last four, those after
 * the first four, those before the last four. In shorter names they overlap, and there are fewer
 * numbers. ASCII leaves the eighth bit of each unit free: two such bits of the first number hold
 * the length modulo 4, so that equally many equal numbers mean equal names. A number is negative if
 * one of its units is not ASCII.
 */
function numbersOf(name: string): number[] {
  return [firstOf(name), secondOf(name), thirdOf(name), fourthOf(name)].slice(0, numbersIn(name.length));
}

function firstOf(name: string): number {
  const { length } = name;
  const units = length < 4 ? three(name) : four(name, 0);
  return units | ((length & 1) << 7) | ((length & 2) << 14);
}

function secondOf(name: string): number {
  return name.length < 4 ? 0 : four(name, name.length - 4);
}

/** Avoids a branch on whether the name has more than eight units, which processors mispredict. */
function thirdOf(name: string): number {
  const { length } = name;
  return length < 4 ? 0 : four(name, Math.min(4, length - 4)) & ((8 - length) >> 31);
}

function fourthOf(name: string): number {
  return name.length <= 12 ? 0 : four(name, name.length - 8);
}

function four(name: string, at: number): number {
  const a = name.charCodeAt(at);
  const b = name.charCodeAt(at + 1);
  const c = name.charCodeAt(at + 2);
  const d = name.charCodeAt(at + 3);
  return (a | b | c | d) >= 0x80 ? -1 : foldFour(a | (b << 8) | (c << 16) | (d << 24));
}

/** Packs the first, middle and last unit of a name of one to three units. */
function three(name: string): number {
  const a = name.charCodeAt(0);
  const b = name.charCodeAt(name.length >> 1);
  const c = name.charCodeAt(name.length - 1);
  return (a | b | c) >= 0x80 ? -1 : foldFour(a | (b << 8) | (c << 16));
}

function hashOf(name: string): number {
  return mix(firstOf(name), secondOf(name), thirdOf(name), fourthOf(name));
}

function mix(first: number, second: number, third: number, fourth: number): number {
  const sum = Math.imul(Math.imul(Math.imul(first, MIX) + second, MIX) + third, MIX) + fourth;
  const mixed = Math.imul(sum, MIX);
  return Math.imul(mixed ^ (mixed >>> 15), MIX);
}

/** Maps the upper 16 bits of a hash to an index below `size`. */
function partOf(hash: number, size: number): number {
  return Math.imul(hash >>> 16, size) >>> 16;
}

/** Builds the same lookup without tables, for a few names that are looked up rarely. */
export function mapNames<T>(byName: ReadonlyMap<string, T>): Names<T> {
  return { find: (name) => findIn(byName, name) };
}

/** Tries the name as it is first: a folded name is its own folded form. */
function findIn<T>(byName: ReadonlyMap<string, T>, name: string): T | undefined {
  const known = byName.get(name);
  if (known !== undefined) return known;
  const folded = fold(name);
  return folded === name ? undefined : byName.get(folded);
}

/**
 * Returns 17 bits of a name's last two units, first unit and length, ignoring case, or a negative
 * number if one of these units is not ASCII, since it may fold to ASCII. The bits that differ most
 * between names are the lower ones.
 */
function endsOf(name: string): number {
  const first = name.charCodeAt(0);
  const last = name.charCodeAt(name.length - 1);
  const before = name.charCodeAt(name.length - 2);
  if ((first | last | before) >= 0x80) return -1;
  return ((name.length & 3) << 15) | ((first & 31) << 10) | ((before & 31) << 5) | (last & 31);
}
