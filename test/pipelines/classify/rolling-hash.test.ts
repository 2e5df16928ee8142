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

test("it finds what looking for each pattern finds, and leaves the rest to others", (t) => {
  const property = fc.property(
    fc.array(texts(1, 16), { minLength: 60, maxLength: 160 }),
    fc.array(fc.array(fc.oneof(fc.nat(), texts(0, 12)), { maxLength: 12 }), { minLength: 1, maxLength: 10 }),
    fc.nat({ max: 1_000 }),
    (given, recipes, bound) => {
      const patterns = patternsOf(given);
      const { pass, rest } = compileRollingHash(patterns, 32);
      const taken = patterns.filter((pattern) => !rest.includes(pattern));
      for (const recipe of recipes) {
        // Texts made of patterns and of what is none, some patterns several times.
        const text = recipe.map((piece) => (typeof piece === "number" ? given[piece % given.length]! : piece)).join("");
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

test("a few patterns, and patterns that begin alike, are left to others", (t) => {
  const words = (count: number) => Array.from({ length: count }, (_, i) => `${i}`.padStart(9, "w"));
  t.is(compileRollingHash(patternsOf(words(100))).pass, null);
  const alike = patternsOf(Array.from({ length: 500 }, (_, i) => `the same beginning, and then ${i}`));
  const { pass, rest } = compileRollingHash([...alike, ...patternsOf(words(100))], 32);
  t.not(pass, null);
  t.deepEqual(new Set(rest), new Set(alike));
});

function byNumber(a: number, b: number): number {
  return a - b;
}
