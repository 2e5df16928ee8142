/** From an upper integer of an id to another, both inclusive; without end where `to` is null. */
export type IdRange = { readonly from: bigint; readonly to: bigint | null };

type Span = { readonly first: bigint; readonly last: bigint };

/** Each range is a scan by itself, which costs about as much as looking at so many blocks. */
const BLOCKS_A_RANGE = 8;
const MAX_RANGES = 16;
/**
 * More of them where there are more blocks, for so much longer is what lies between two ranges that
 * are made one.
 */
const BLOCKS_A_FURTHER_RANGE = 32;
const MAX_RANGES_OF_MANY = 64;
/** Where fewer blocks than this share can be left out, that is not worth its while. */
const WORTH = 0.25;

/**
 * What lies outside of blocks that need not be looked at.
 * @param without in the order of `first`; they may overlap
 * @param all how many blocks there are
 * @returns null where all may as well be looked at
 */
export function idRanges(without: readonly Span[], all: number): readonly IdRange[] | null {
  if (without.length < all * WORTH || without.length === 0) return null;
  const ranges: IdRange[] = [];
  let from = 0n;
  for (const { first, last } of without) {
    if (first > from) ranges.push({ from, to: first - 1n });
    if (last >= from) from = last + 1n;
  }
  ranges.push({ from, to: null });
  return joined(ranges, mostRanges(all));
}

function mostRanges(blocks: number): number {
  const ofMany = Math.min(MAX_RANGES_OF_MANY, Math.floor(blocks / BLOCKS_A_FURTHER_RANGE));
  return Math.max(1, ofMany, Math.min(MAX_RANGES, Math.floor(blocks / BLOCKS_A_RANGE)));
}

/** At most `most` ranges: those that lie nearest to one another are made one. */
function joined(ranges: readonly IdRange[], most: number): readonly IdRange[] {
  if (ranges.length <= most) return ranges;
  const gaps = ranges.slice(1).map((range, i) => ({ i, size: range.from - ranges[i]!.to! }));
  const kept = gaps.toSorted((a, b) => (a.size < b.size ? 1 : a.size > b.size ? -1 : 0)).slice(0, most - 1);
  const ends = new Set(kept.map(({ i }) => i));
  const fewer: IdRange[] = [];
  let { from } = ranges[0]!;
  for (const [i, { to }] of ranges.entries()) {
    if (!ends.has(i) && i < ranges.length - 1) continue;
    fewer.push({ from, to });
    if (i < ranges.length - 1) from = ranges[i + 1]!.from;
  }
  return fewer;
}
