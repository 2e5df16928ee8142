import test from "ava";
import * as fc from "fast-check";

import { NO_VALUE } from "../../../pipelines/classify/automaton.ts";
import type { AutomatonPattern } from "../../../pipelines/classify/automaton.ts";
import { createScan, setText } from "../../../pipelines/classify/scan.ts";
import type { TextScan } from "../../../pipelines/classify/scan.ts";
import { compileWindowHash } from "../../../pipelines/classify/window-hash.ts";
import { fold } from "../../../src/events/text.ts";
import { finish } from "../../../pipelines/classify/steps.ts";

/** Returns a pattern for each distinct text; every third has only an id, every second no id. */
function patternsOf(texts: readonly string[]): AutomatonPattern[] {
  return [...new Set(texts)].map((text, i) => ({
    text,
    value: i % 3 === 0 ? NO_VALUE : (i * 7919) % 1_000,
    id: i % 2 === 0 ? i : -1,
  }));
}

function leastOf(patterns: readonly AutomatonPattern[], text: string, bound: number): number {
  return patterns.reduce((least, each) => (text.includes(each.text) ? Math.min(least, each.value) : least), bound);
}

const scan = createScan();

function scanOf(text: string): TextScan {
  setText(scan, text);
  return scan;
}

/**
 * Difficult units: capitals, ends of words, bytes that differ like capitals but are not letters,
 * units with the same lower byte, unpaired surrogates.
 */
const ASCII = ["a", "b", "c", "d", "A", " ", "[", "{"];
const ANY = [...ASCII, "é", "€", "\u0161", "\u212a", "\u{1f600}", "\ud83d"];

for (const [letters, shortest] of [
  [ANY, 1],
  [ASCII, 4],
  [ANY, 7],
  [ASCII, 9],
  [ANY, 12],
] as const) {
  const texts = (minLength: number, maxLength: number) =>
    fc.string({ unit: fc.constantFrom(...letters), minLength, maxLength });
  const title = `patterns of ${shortest} and more, ${letters === ASCII ? "all ASCII" : "of any kind"}`;
  test(`finds what a search for each pattern finds, and leaves the other patterns over: ${title}`, (t) => {
    const property = fc.property(
      fc.oneof(
        fc.array(texts(shortest, shortest + 15), { minLength: 1, maxLength: 8 }),
        fc.array(texts(shortest, shortest + 15), { minLength: 60, maxLength: 160 }),
      ),
      fc.array(fc.array(fc.oneof(fc.nat(), texts(0, 12)), { maxLength: 12 }), { minLength: 1, maxLength: 10 }),
      fc.nat({ max: 1_000 }),
      (given, recipes, bound) => {
        const patterns = patternsOf(given.map(fold));
        const { pass, rest } = finish(compileWindowHash(patterns));
        const taken = patterns.filter((pattern) => !rest.includes(pattern));
        t.is(pass === null, taken.length === 0);
        for (const recipe of recipes) {
          // Texts made of patterns and other characters, with some patterns repeated.
          const text = recipe
            .map((piece) => (typeof piece === "number" ? given[piece % given.length]! : piece))
            .join("");
          const folded = fold(text);
          const search = (ids: number[] | null): number => pass?.search(scanOf(text), bound, ids) ?? bound;
          t.is(search(null), leastOf(taken, folded, bound));
          const ids: number[] = [];
          t.is(search(ids), leastOf(taken, folded, bound));
          const expected = taken.filter(({ id, text: own }) => id >= 0 && folded.includes(own)).map(({ id }) => id);
          t.deepEqual(ids.toSorted(byNumber), expected.toSorted(byNumber));
        }
      },
    );
    fc.assert(property, { numRuns: 300 });
  });
}

const numbered = (count: number, form: (i: number) => string) =>
  patternsOf(Array.from({ length: count }, (_, i) => form(i)));

test("thousands of patterns with common prefix and suffix are distinguished by their own part", (t) => {
  const patterns = numbered(5_000, (i) => `the same beginning, ${i} apart, and the same end`);
  const { pass, rest } = finish(compileWindowHash(patterns));
  t.true(rest.length < patterns.length / 10, `${rest.length} are left`);
  const wanted = patterns.find((pattern) => !rest.includes(pattern) && pattern.id >= 0);
  const ids: number[] = [];
  pass!.search(scanOf(`before ${wanted!.text}, after`), NO_VALUE, ids);
  t.deepEqual(ids, [wanted!.id]);
});

test("a pattern is found at any position, in short and long texts", (t) => {
  for (const length of [4, 5, 6, 7, 8, 9, 10, 11, 40]) {
    const { pass, rest } = finish(compileWindowHash(numbered(200, (i) => `${i}`.padStart(3, "x").padEnd(length, "y"))));
    t.deepEqual(rest, []);
    const wanted = "101".padEnd(length, "y");
    for (const around of ["-", "ü"]) {
      for (const before of [0, 1, 2, 3, 4, 5, 6, 7, 8, 1_019, 1_020, 1_021, 1_024, 100_000]) {
        const text = around.repeat(before) + wanted.toUpperCase();
        t.not(pass!.search(scanOf(text), NO_VALUE, null), NO_VALUE, `${length} behind ${before} of ${around}`);
        t.is(pass!.search(scanOf(text.slice(0, -1)), NO_VALUE, null), NO_VALUE);
      }
    }
  }
});

test("patterns with only one distinctive window are all found, at any position", (t) => {
  const patterns = numbered(10_000, (i) => `user ${`${i}`.padStart(4, "0")}`);
  const { pass, rest } = finish(compileWindowHash(patterns));
  t.deepEqual(rest, []);
  const ids: number[] = [];
  pass!.search(scanOf("of user 1234 and User 9998, not user 999"), NO_VALUE, ids);
  t.deepEqual(ids.toSorted(byNumber), [1234, 9998]);
});

test("a pattern outside ASCII matches no ASCII text, whatever part of it the text contains", (t) => {
  const patterns = numbered(200, (i) => `${`${i}`.padStart(3, "x").padEnd(12, "y")}\u0161`);
  const { pass, rest } = finish(compileWindowHash(patterns));
  t.deepEqual(rest, []);
  // Its lower byte is that of "a".
  for (const text of ["101yyyyyyyyya", "101yyyyyyyyy", "before 101yyyyyyyyya, after"]) {
    const ids: number[] = [];
    t.is(pass!.search(scanOf(text), NO_VALUE, ids), NO_VALUE);
    t.deepEqual(ids, []);
  }
});

test("only ASCII letters ignore case, at every position of a word", (t) => {
  const run = (code: number): string => String.fromCharCode(code).repeat(5);
  const numbers = Array.from({ length: 128 }, (_, code) => `${code}`.padStart(3, "0"));
  const patterns = numbers.map((number, code) => ({ text: fold(number + run(code)), value: code, id: code }));
  const { pass, rest } = finish(compileWindowHash(patterns));
  t.deepEqual(rest, []);
  for (const [code, number] of numbers.entries()) {
    for (const text of [number + run(code), number + run(code ^ 0x20)]) {
      const expected = patterns.filter((pattern) => fold(text).includes(pattern.text)).map(({ id }) => id);
      const ids: number[] = [];
      pass!.search(scanOf(text), NO_VALUE, ids);
      t.deepEqual(ids, expected, `${code}: ${JSON.stringify(text)}`);
    }
  }
});

test("patterns left over are not searched for", (t) => {
  const runs = numbered(100, (i) => "ab".repeat(i + 4));
  const { pass } = finish(compileWindowHash([...runs, ...numbered(100, (i) => `${i}`.padStart(9, "w"))]));
  const ids: number[] = [];
  t.is(pass!.search(scanOf("ab".repeat(110)), NO_VALUE, ids), NO_VALUE);
  t.deepEqual(ids, []);
});

test("a pattern is found after thousands of others", (t) => {
  const { pass } = finish(compileWindowHash(numbered(200, (i) => `${i}`.padStart(3, "x").padEnd(9, "y"))));
  const ids: number[] = [];
  pass!.search(scanOf(`${"100yyyyyy  ".repeat(20_000)}102yyyyyy`), NO_VALUE, ids);
  t.deepEqual(ids, [100, 102]);
});

test("periodic patterns are left over, because a text may be periodic too", (t) => {
  const repeating = numbered(20, (i) => String.fromCharCode(97 + i).repeat(30));
  const { pass, rest } = finish(
    compileWindowHash([...repeating, ...numbered(100, (i) => `${i}`.padStart(12, "wxyz"))]),
  );
  t.not(pass, null);
  t.deepEqual(rest, repeating);
});

test("five patterns are searched for like many, and fewer are left over", (t) => {
  for (const count of [5, 6, 15]) {
    const { pass, rest } = finish(compileWindowHash(numbered(count, (i) => `pattern ${i}`)));
    t.not(pass, null);
    t.deepEqual(rest, []);
  }
  const few = numbered(4, (i) => `pattern ${i}`);
  t.deepEqual(finish(compileWindowHash(few)), { pass: null, rest: few });
});

test("patterns without a distinctive part are left over", (t) => {
  const runs = numbered(100, (i) => "ab".repeat(i + 4));
  const { pass, rest } = finish(compileWindowHash([...runs, ...numbered(100, (i) => `${i}`.padStart(9, "w"))]));
  t.not(pass, null);
  t.deepEqual(rest.toSorted(byLength), runs);
  t.is(finish(compileWindowHash(runs)).pass, null);
});

function byLength(a: AutomatonPattern, b: AutomatonPattern): number {
  return a.text.length - b.text.length;
}

function byNumber(a: number, b: number): number {
  return a - b;
}

test("a pattern whose length exceeds 16 bits is left over", (t) => {
  const long = (length: number) => "abcdefgh".repeat(8_192).slice(0, length - 4) + " end";
  const patterns = patternsOf(["one word", "two words", "three", "four", "five", long(65_535), long(65_536)]);
  const { pass, rest } = finish(compileWindowHash(patterns));
  t.deepEqual(rest, [patterns[6]!]);
  for (const pattern of patterns.slice(0, 6).filter(({ value }) => value !== NO_VALUE)) {
    t.is(pass!.search(scanOf(`x${pattern.text}x`), NO_VALUE, null), pattern.value);
  }
});
