import test from "ava";
import * as fc from "fast-check";

import { idRanges } from "../../../../src/store/duckdb/blocks/id-ranges.ts";

const spans = fc
  .array(fc.tuple(fc.nat(500), fc.nat(30)), { maxLength: 60 })
  .map((pairs) =>
    pairs
      .map(([first, length]) => ({ first: BigInt(first), last: BigInt(first + length) }))
      .sort((a, b) => Number(a.first - b.first)),
  );

test("ranges cover every id outside the excluded blocks, ascend, and are few", (t) => {
  const property = fc.property(spans, fc.integer({ min: 1, max: 400 }), (without, more) => {
    const ranges = idRanges(without, without.length + more);
    if (ranges === null) return without.length < (without.length + more) / 4 || without.length === 0;
    const isIn = (id: bigint): boolean => ranges.some(({ from, to }) => id >= from && (to === null || id <= to));
    for (let id = 0n; id < 600n; id++) {
      if (!isIn(id) && !without.some(({ first, last }) => id >= first && id <= last)) return false;
    }
    const areApart = ranges.every(({ from }, i) => i === 0 || ranges[i - 1]!.to! < from);
    return (
      areApart && ranges.at(-1)!.to === null && ranges.length <= Math.max(1, Math.min(16, (without.length + more) / 8))
    );
  });
  fc.assert(property, { numRuns: 2_000 });
  t.pass();
});

test("excluded blocks are left out of the ranges", (t) => {
  const block = (n: bigint): { first: bigint; last: bigint } => ({ first: n * 100n, last: n * 100n + 99n });
  const without = Array.from({ length: 32 }, (_, n) => block(BigInt(n))).filter((_, n) => n !== 7 && n !== 20);
  t.deepEqual(idRanges(without, 32), [
    { from: 700n, to: 799n },
    { from: 2000n, to: 2099n },
    { from: 3200n, to: null },
  ]);
  t.is(idRanges(without.slice(0, 7), 32), null, "too few to be worth it");
});

test("ranges far apart in a large store stay separate, up to 64 of them", (t) => {
  const lookedAt = (blocks: number, every: number): number => {
    const without = Array.from({ length: blocks }, (_, n) => ({ first: BigInt(n), last: BigInt(n) }));
    const ranges = idRanges(
      without.filter((_, n) => n % every > 0),
      blocks,
    )!;
    t.true(ranges.length <= 64);
    return ranges.reduce((sum, { from, to }) => sum + (to === null ? 0 : Number(to - from) + 1), 0);
  };
  t.is(lookedAt(1_024, 40), 26, "none but those that are to be looked at");
  t.is(lookedAt(10_000, 200), 50);
  t.true(lookedAt(10_000, 100) < 10_000 / 2, "of too many, those that lie nearest become one");
});
