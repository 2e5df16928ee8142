import { isAscii } from "../../src/events/ascii.ts";
import { fold } from "../../src/events/text.ts";
import { foldFour, MIX } from "./four-bytes.ts";
import { forEachOf, groupInSteps, sortInSteps } from "./steps.ts";
import type { Steps } from "./steps.ts";

/** What belongs to a name, whatever its case. */
export type Names<T> = {
  /** @param name need not be folded */
  readonly find: (name: string) => T | undefined;
};

/** So many bits there are for each name, at least, up to as many as there are values of {@link endsOf}. */
const BITS = 16;
const ENDS = 2 ** 17;
/** So many names there are in a bucket on average, and at most: those of a fuller one are left to the map. */
const CROWD = 4;
const MOST_CROWD = 16;
/** So many slots there are for each name. */
const ROOM = 1.1;
/** So many buckets there are at most, and slots of a kind: which of them, 16 bits of a hash say. */
const MOST = 2 ** 16;
/**
 * Factors of buckets are odd numbers from 3 on, as 1 leads names that share a bucket to one part of
 * the slots. Where none will do, they are left to the map, so that no choice of names makes the
 * table slow.
 */
const LAST_FACTOR = 2_001;
const LONGEST = 16;
/** Slots that are looked at in one step. */
const STEP_TRIES = 1_024;

/**
 * Tags and sources come with each event as strings that nobody has seen before: a map has to hash
 * all of each, and to go through memory for it, before it can say of most that nothing belongs to
 * them. Here a bit says so of many, found by three units of a name and its length. What may belong
 * to something is compared with a single name, four units at a time. Which one, a hash says that is
 * perfect for the names there are: it puts them into buckets, each of which has a factor that leads
 * its names to slots of their own (after Belazzougui, Botelho and Dietzfelbinger, "Hash, displace,
 * and compress", 2009). Long names, and those that are not ASCII, are left to the map.
 *
 * @param byName by folded name; numbers are whole ones from 0 to 2^31 - 1
 */
export function* compileNames<T>(byName: ReadonlyMap<string, T | number>): Steps<Names<T | number>> {
  const names = [...byName.keys()];
  const lastWord = Math.min(2 ** Math.ceil(Math.log2(BITS * names.length + 32)), ENDS) / 32 - 1;
  const own: string[] = [];
  /** By how many numbers a name is, how many such names there are. */
  const known = new Int32Array(5);
  yield* forEachOf(names.length, (i) => {
    const name = names[i]!;
    if (!hasSlot(name.length) || !isAscii(name)) return;
    own.push(name);
    known[numbersIn(name.length)]! += 1;
  });
  const factorsAt = lastWord + 1;
  const buckets = Math.max(1, Math.min(Math.ceil(own.length / CROWD), MOST));
  /** By how many numbers a name is, 1 to 4: where the slots of such names begin, and how many there are. */
  const begins = new Int32Array(5);
  const counts = new Int32Array(5);
  let end = factorsAt + buckets;
  for (let numbers = 1; numbers <= 4; numbers++) {
    begins[numbers] = end;
    counts[numbers] = Math.min(Math.ceil(known[numbers]! * ROOM) + 1, MOST);
    end += (numbers + 1) * counts[numbers]!;
  }
  /**
   * Bits; the factors of buckets, 0 where their names are left to the map; and slots: the numbers
   * of a name, and last what belongs to it, a number by its complement, else which of the values it
   * is, 0 where the slot is free. All slots can be read as if they were of four numbers.
   */
  const table = new Int32Array(end + 3);
  const values: (T | undefined)[] = [undefined];

  yield* forEachOf(names.length, (i) => {
    const ends = endsOf(names[i]!);
    table[(ends >>> 5) & lastWord]! |= 1 << ends;
  });
  const byBucket = yield* groupInSteps(own, (name) => bucketOf(hashOf(name)));
  /** Slots that were looked at since the last step ended. */
  let tried = 0;
  const entries = [...byBucket];
  // The fullest first, while there is room.
  for (const [bucket, crowd] of yield* sortInSteps(entries, ([, a], [, b]) => b.length - a.length)) {
    yield* settle(bucket, crowd);
  }

  /**
   * Gives a bucket a factor that leads each of its names to a free slot of its own, and the slots
   * to these, where there is one.
   */
  function* settle(bucket: number, crowd: readonly string[]): Steps<void> {
    if (crowd.length > MOST_CROWD) return;
    const hashes = crowd.map(hashOf);
    for (let factor = 3; factor <= LAST_FACTOR; factor += 2) {
      tried += crowd.length;
      if (tried >= STEP_TRIES) {
        tried = 0;
        yield;
      }
      const slots = crowd.map(({ length }, i) => slotOf(length, hashes[i]!, factor));
      const isFree = (slot: number, i: number): boolean =>
        table[slot + numbersIn(crowd[i]!.length)] === 0 && slots.indexOf(slot) === i;
      if (!slots.every(isFree)) continue;
      table[bucket] = factor;
      for (const [i, name] of crowd.entries()) {
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
    // Bucket and slot are found as above, but written out: below 460 bytecodes
    // (--max-inlined-bytecode-size) V8 would take this into its callers, and call there what it
    // takes in here.
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
  return length > 0 && length <= LONGEST;
}

/** How many numbers the units of a name fill. */
function numbersIn(length: number): number {
  return (length + 3) >> 2;
}

/**
 * A name as numbers of four units each, folded: its first four, its last four, those after the
 * first, those before the last. In a shorter name they overlap, and there are fewer numbers. ASCII
 * leaves the eighth bit of each unit free: two of the first number have the length by four, so that
 * names with the same numbers, and as many, are the same. A number is negative where a unit is not
 * ASCII.
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

/** Without a branch on whether a name has more than eight units: names go either way, which no processor foresees. */
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

/** Of a name of one to three units: its first, middle and last one. */
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

/** Which of so many a hash says, by its upper 16 bits. */
function partOf(hash: number, size: number): number {
  return Math.imul(hash >>> 16, size) >>> 16;
}

/** The same without tables, for a few names that are asked for seldom. */
export function mapNames<T>(byName: ReadonlyMap<string, T>): Names<T> {
  return { find: (name) => findIn(byName, name) };
}

/** What is found as it is need not be folded: folded a second time, a folded name stays as it is. */
function findIn<T>(byName: ReadonlyMap<string, T>, name: string): T | undefined {
  const known = byName.get(name);
  if (known !== undefined) return known;
  const folded = fold(name);
  return folded === name ? undefined : byName.get(folded);
}

/**
 * 17 bits of the last two units of a name, its first and its length, whatever their case, those
 * that differ most from name to name in the lower ones; negative where one of them is not ASCII,
 * which may fold to one that is.
 */
function endsOf(name: string): number {
  const first = name.charCodeAt(0);
  const last = name.charCodeAt(name.length - 1);
  const before = name.charCodeAt(name.length - 2);
  if ((first | last | before) >= 0x80) return -1;
  return ((name.length & 3) << 15) | ((first & 31) << 10) | ((before & 31) << 5) | (last & 31);
}
