import { fold } from "../../src/events/text.ts";
import { foldFour, MIX } from "./four-bytes.ts";

/** What belongs to a name, whatever its case. */
export type Names<T> = {
  /** @param name need not be folded */
  readonly find: (name: string) => T | undefined;
};

/** So many bits there are for each name, at least, up to as many as there are values of {@link endsOf}. */
const BITS = 16;
const ENDS = 2 ** 17;
/** So many slots there are at least for each name. */
const ROOM = 1.5;
/** So many of them are looked at for a name at most. Names that found none are left to the map, so that no choice of names can make the table slow. */
const MOST_PROBES = 8;

/** Numbers of a slot: the units of a name, four in each, the last of them taken by its length; and what belongs to it: a number by its complement, else which of the values it is, 0 where the slot is free. */
const SLOT = 5;
const VALUE = 4;
const LONGEST = 15;

/**
 * Tags and sources come with each event as strings that nobody has seen before: a map has to hash all of each, and to go through memory for it, before it can say of most that nothing
 * belongs to them. Here a bit says so of many, found by three units of a name. What may belong to something is compared four units at a time, in a table that is looked at in one place
 * as a rule; long names, and those that are not ASCII, are left to the map.
 *
 * @param byName by folded name; numbers are whole ones from 0 to 2^31 - 1
 */
export function compileNames<T>(byName: ReadonlyMap<string, T | number>): Names<T | number> {
  const size = 2 ** Math.ceil(Math.log2(ROOM * byName.size + 1));
  const slots = new Int32Array(SLOT * size);
  const shift = Math.clz32(size) + 1;
  const bits = new Int32Array(Math.min(2 ** Math.ceil(Math.log2(BITS * byName.size + 1)), ENDS) / 32);
  const lastWord = bits.length - 1;
  const values: (T | undefined)[] = [undefined];
  for (const [name, value] of byName) {
    const ends = endsOf(name);
    bits[(ends >>> 5) & lastWord]! |= 1 << ends;
    const slot = place(name, true);
    if (slot >= 0) slots[slot + VALUE] = typeof value === "number" ? ~value : values.push(value) - 1;
  }

  /**
   * The slot that has a name, or a free one for it, which is given it where `isTaken`. Negative where there is neither, and where a slot could not have it.
   */
  function place(name: string, isTaken: boolean): number {
    const { length } = name;
    if (length > LONGEST) return -1;
    let all = 0;
    let first = 0;
    let second = 0;
    let third = 0;
    let fourth = length << 24;
    for (let i = 0; i < length; i++) {
      const unit = name.charCodeAt(i);
      all |= unit;
      const shifted = unit << (i << 3);
      if (i < 4) first |= shifted;
      else if (i < 8) second |= shifted;
      else if (i < 12) third |= shifted;
      else fourth |= shifted;
    }
    if (all >= 0x80) return -1;
    first = foldFour(first);
    second = foldFour(second);
    third = foldFour(third);
    fourth = foldFour(fourth);
    const hash = Math.imul(Math.imul(Math.imul(Math.imul(first, MIX) + second, MIX) + third, MIX) + fourth, MIX);
    for (let i = 0; i < MOST_PROBES; i++) {
      const slot = (((hash >>> shift) + i) & (size - 1)) * SLOT;
      if (slots[slot + VALUE] === 0) {
        if (isTaken) slots.set([first, second, third, fourth], slot);
        return slot;
      }
      const isSame = slots[slot] === first && slots[slot + 1] === second;
      if (isSame && slots[slot + 2] === third && slots[slot + 3] === fourth) return slot;
    }
    return -1;
  }

  return {
    find(name) {
      const ends = endsOf(name);
      if (ends >= 0 && ((bits[(ends >>> 5) & lastWord]! >>> ends) & 1) === 0) return undefined;
      const slot = place(name, false);
      if (slot < 0) return findIn(byName, name);
      const value = slots[slot + VALUE]!;
      return value < 0 ? ~value : values[value];
    },
  };
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
 * 17 bits of the last two units of a name, its first and its length, whatever their case, those that differ most from name to name in the lower ones; negative where one of them is not ASCII,
 * which may fold to one that is.
 */
function endsOf(name: string): number {
  const first = name.charCodeAt(0);
  const last = name.charCodeAt(name.length - 1);
  const before = name.charCodeAt(name.length - 2);
  if ((first | last | before) >= 0x80) return -1;
  return ((name.length & 3) << 15) | ((first & 31) << 10) | ((before & 31) << 5) | (last & 31);
}
