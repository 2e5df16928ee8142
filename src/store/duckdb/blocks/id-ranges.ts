/** A range of upper integers of ids, both ends inclusive; `to` null is unbounded. */
export type IdRange = { readonly from: bigint; readonly to: bigint | null };

type Span = { readonly first: bigint; readonly last: bigint };

/** Blocks per range. A range is a separate scan, which costs as much as scanning these blocks. */
const BLOCKS_A_RANGE = 8;
const MAX_RANGES = 16;
/**
 * Stores of many blocks get more ranges, because merging two of them would scan more between them.
 */
const BLOCKS_A_FURTHER_RANGE = 32;
const MAX_RANGES_OF_MANY = 64;
/** Share of blocks that must be excluded for ranges to pay off. */
const WORTH = 0.25;

/**
 * Returns the ranges outside of blocks that need not be scanned.
 * @param without in the order of `first`; they may overlap
 * @param all total number of blocks
 * @returns null if everything may as well be scanned
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

/** Merges the closest ranges until at most `most` remain. */
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
