import test from "ava";
import * as fc from "fast-check";

import { NO_VALUE } from "../../../pipelines/classify/automaton.ts";
import type { Pattern } from "../../../pipelines/classify/automaton.ts";
import { compileRollingHash } from "../../../pipelines/classify/rolling-hash.ts";

/** As many patterns as `texts` has distinct ones; every third is of interest for its id alone, every second has none. */
function patternsOf(texts: readonly string[]): Pattern[] {
  return [...new Set(texts)].map((text, i) => ({
    text,
    value: i % 3 === 0 ? NO_VALUE : (i * 7919) % 1_000,
    id: i % 2 === 0 ? i : -1,
  }));
}

function leastOf(patterns: readonly Pattern[], text: string, bound: number): number {
  return patterns.reduce((least, each) => (text.includes(each.text) ? Math.min(least, each.value) : least), bound);
}

const unit = fc.constantFrom("a", "b", "c", "d", "é", "€", "\u{1f600}");
const texts = (from: number, to: number) => fc.string({ unit, minLength: from, maxLength: to });

for (const [lengths, shortest] of [
  ["of any length", 1],
  ["none of them short", 7],
] as const) {
  test(`it finds what looking for each pattern finds, and leaves the rest to others: patterns ${lengths}`, (t) => {
    const property = fc.property(
      fc.array(texts(shortest, 16), { minLength: 60, maxLength: 160 }),
      fc.array(fc.array(fc.oneof(fc.nat(), texts(0, 12)), { maxLength: 12 }), { minLength: 1, maxLength: 10 }),
      fc.nat({ max: 1_000 }),
      (given, recipes, bound) => {
        const patterns = patternsOf(given);
        const { pass, rest } = compileRollingHash(patterns);
        const taken = patterns.filter((pattern) => !rest.includes(pattern));
        t.is(pass === null, taken.length === 0);
        for (const recipe of recipes) {
          // Texts made of patterns and of what is none, some patterns several times.
          const text = recipe
            .map((piece) => (typeof piece === "number" ? given[piece % given.length]! : piece))
            .join("");
          const search = (ids: number[] | null): number => pass?.search(text, bound, ids) ?? bound;
          t.is(search(null), leastOf(taken, text, bound));
          const ids: number[] = [];
          t.is(search(ids), leastOf(taken, text, bound));
          const expected = taken.filter(({ id, text: own }) => id >= 0 && text.includes(own)).map(({ id }) => id);
          t.deepEqual(ids.toSorted(byNumber), expected.toSorted(byNumber));
        }
      },
    );
    fc.assert(property, { numRuns: 300 });
  });
}

const numbered = (count: number, form: (i: number) => string) =>
  patternsOf(Array.from({ length: count }, (_, i) => form(i)));

test("thousands that begin and end alike are told by what they have of their own", (t) => {
  const patterns = numbered(5_000, (i) => `the same beginning, ${i} apart, and the same end`);
  const { pass, rest } = compileRollingHash(patterns);
  t.true(rest.length < patterns.length / 10, `${rest.length} are left`);
  const wanted = patterns.find((pattern) => !rest.includes(pattern) && pattern.id >= 0);
  const ids: number[] = [];
  pass!.search(`before ${wanted!.text}, after`, NO_VALUE, ids);
  t.deepEqual(ids, [wanted!.id]);
});

test("a few patterns, and patterns without a part of their own, are left to others", (t) => {
  t.is(compileRollingHash(numbered(10, (i) => `pattern ${i}`)).pass, null);
  const runs = numbered(100, (i) => "ab".repeat(i + 4));
  const { pass, rest } = compileRollingHash([...runs, ...numbered(100, (i) => `${i}`.padStart(9, "w"))]);
  t.not(pass, null);
  t.deepEqual(rest.toSorted(byLength), runs);
  t.is(compileRollingHash(runs).pass, null);
});

function byLength(a: Pattern, b: Pattern): number {
  return a.text.length - b.text.length;
}

function byNumber(a: number, b: number): number {
  return a - b;
}
