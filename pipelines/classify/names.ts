import { fold, isAscii } from "../../src/events/text.ts";
import { foldFour } from "./fold-four.ts";

/** What belongs to a name, whatever its case. */
export type Names<T> = {
  /** @param name need not be folded */
  readonly find: (name: string) => T | undefined;
};

/** So many bits there are for each name, at least: of other names, which end as differently as words do, one in so many is taken for one that may be there. */
const BITS = 16;
/** So many slots there are at least for each name. */
const ROOM = 1.5;
/** So many of them are looked at for a name at most. Names that found none are left to the map, so that no choice of names can make the table slow. */
const MOST_PROBES = 8;

/** Numbers of a slot: the units of a name, four in each, and its length in the last eighth bits of the fourth; and which of the values belongs to it, 0 where the slot is free. */
const SLOT = 5;
const VALUE = 4;
const LONGEST = 15;

/** Of the golden ratio, as Knuth has it. */
const MIX = 0x9e3779b1;

/**
 * Tags and sources come with each event as strings that nobody has seen before: a map has to hash all of each, and to go through memory for it, before it can say of most that nothing
 * belongs to them. Here a bit says so, found by three units of a name. What may belong to something is compared four units at a time, in a table that is looked at in one place as a rule;
 * long names, and those that are not ASCII, are left to the map.
 *
 * @param byName by folded name
 */
export function compileNames<T>(byName: ReadonlyMap<string, T>): Names<T> {
  const size = 2 ** Math.ceil(Math.log2(ROOM * byName.size + 1));
  const slots = new Int32Array(SLOT * size);
  const bits = new Int32Array(2 ** Math.max(0, Math.ceil(Math.log2((BITS * byName.size) / 32))));
  const [slotShift, bitShift] = [Math.clz32(size) + 1, Math.clz32(bits.length) - 4];
  const values: (T | undefined)[] = [undefined];
  for (const [name, value] of byName) {
    const bit = Math.imul(endsOf(name), MIX) >>> bitShift;
    bits[bit >>> 5]! |= 1 << bit;
    if (name.length > LONGEST || !isAscii(name)) continue;
    const bytes = Buffer.alloc(4 * VALUE);
    bytes.write(name, "latin1");
    bytes[LONGEST] = name.length;
    const slot = slotOf(bytes.readInt32LE(0), bytes.readInt32LE(4), bytes.readInt32LE(8), bytes.readInt32LE(12));
    if (slot < 0) continue;
    for (let i = 0; i < VALUE; i++) slots[slot + i] = bytes.readInt32LE(4 * i);
    slots[slot + VALUE] = values.push(value) - 1;
  }

  /** The slot that has a name, or a free one for it; negative where there is neither. */
  function slotOf(first: number, second: number, third: number, fourth: number): number {
    const hash = Math.imul(Math.imul(Math.imul(Math.imul(first, MIX) + second, MIX) + third, MIX) + fourth, MIX);
    for (let i = 0; i < MOST_PROBES; i++) {
      const slot = (((hash >>> slotShift) + i) & (size - 1)) * SLOT;
      if (slots[slot + VALUE] === 0) return slot;
      if (
        slots[slot] === first &&
        slots[slot + 1] === second &&
        slots[slot + 2] === third &&
        slots[slot + 3] === fourth
      )
        return slot;
    }
    return -1;
  }

  /** As {@link slotOf}, by the name itself; negative also where a slot could not have it. */
  function lookUp(name: string): number {
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
    return all < 0x80 ? slotOf(foldFour(first), foldFour(second), foldFour(third), foldFour(fourth)) : -1;
  }

  return {
    find(name) {
      const ends = endsOf(name);
      if (ends >= 0) {
        const bit = Math.imul(ends, MIX) >>> bitShift;
        if (((bits[bit >>> 5]! >>> bit) & 1) === 0) return undefined;
      }
      const slot = lookUp(name);
      return slot < 0 ? byName.get(fold(name)) : values[slots[slot + VALUE]!];
    },
  };
}

/** What tells of the first unit of a name and its last two whatever their case; negative where one of them is not ASCII, which may fold to one that is. */
function endsOf(name: string): number {
  const first = name.charCodeAt(0);
  const last = name.charCodeAt(name.length - 1);
  const before = name.charCodeAt(name.length - 2);
  return (first | last | before) >= 0x80 ? -1 : ((first & 31) << 10) | ((last & 31) << 5) | (before & 31);
}
