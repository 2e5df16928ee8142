import test from "ava";
import fc from "fast-check";

import { fold } from "../../../../src/events/text.ts";
import { compileExpression } from "../../../../src/query/regex/tree.ts";
import {
  digitWord,
  digitsOfData,
  isOdd,
  isOddData,
  wordsOfExpression,
  wordsOfText,
} from "../../../../src/store/elasticsearch/documents/words.ts";
import type { WordCondition } from "../../../../src/store/elasticsearch/documents/words.ts";
import { expressions, textsForExpressions } from "../../../reference/expressions.ts";

const letters = (expression: string): WordCondition => ({ kind: "word", of: "letters", expression });
const digits = (expression: string): WordCondition => ({ kind: "word", of: "digits", expression });
const all = (...parts: WordCondition[]): WordCondition => ({ kind: "all", parts });
const any = (...parts: WordCondition[]): WordCondition => ({ kind: "any", parts });

const DERIVED: readonly [pattern: string, condition: WordCondition | null, exact?: boolean][] = [
  ["timeout", letters(".*timeout.*"), true],
  ["4711", digits(".*4711.*"), true],
  ["timeout.*id=9[0-9]{3}$", all(letters(".*timeout.*"), digits("\\=9[0-9][0-9][0-9]"))],
  ["quagmire10", all(letters(".*quagmire"), digits("e10.*"))],
  ["^disk full", all(letters("disk"), letters("full.*"))],
  ["order 4711 ", all(letters(".*order"), digits("4711"))],
  ["\\b10\\.0\\.\\d+", digits("[^0-9]?10")],
  [
    "user_[0-9]+ (failed|was refused)",
    all(letters(".*user"), any(letters(".*failed.*"), all(letters("refused.*"), letters(".*was")))),
  ],
  ["(?:error: )+", letters(".*error")],
  ["(?-i:ERR)or", letters(".*error.*")],
  ["(?-i:error)", letters(".*error.*")],
  ["colou?r", letters(".*colo.*")],
  ["warn(ing)?", letters(".*warn.*")],
  ["[a-z]+ing", letters(".*ing.*")],
  ["é12", digits("12.*")],
  ["émile", letters(".*mile.*")],
  ["(?:12)?34", null],
  ["a|timeout", null],
  ["id", null],
  ["", null],
  [".*", null],
  ["(?:timeout)?", null],
];

for (const [pattern, condition, exact = false] of DERIVED) {
  test(`the words of /${pattern}/ are ${condition === null ? "unknown" : JSON.stringify(condition)}`, (t) => {
    t.deepEqual(wordsOfExpression(pattern), { condition, exact });
  });
}

test("a single word decides, a text of several words does not", (t) => {
  t.deepEqual(wordsOfText("timeout"), { condition: letters(".*timeout.*"), exact: true });
  t.deepEqual(wordsOfText("disk full"), { condition: all(letters("full.*"), letters(".*disk")), exact: false });
  t.deepEqual(wordsOfText("é"), { condition: null, exact: false });
});

test("an id of digits and letters is searched by its rarest runs", (t) => {
  const ofId = (text: string) => wordsOfText(text).condition;
  t.deepEqual(ofId("7902699be42c"), all(digits("e42"), letters("be")));
  // A digit after a letter is rarer than a letter alone.
  t.deepEqual(ofId("9283e2b0b7d0"), all(digits("e2"), digits("b0"), digits("b7"), letters("e")));
  // Each run is searched once.
  t.deepEqual(ofId("2a1a1a1b3"), all(digits("a1"), letters("a"), letters("b")));
  // Many texts contain `a9` and `a`, so the first run is required too, though costly to look up.
  t.deepEqual(ofId("243893569a9f"), all(digits("a9"), letters("a"), digits(".*243893569")));
});

test("runs of digits are indexed with the letter before them", (t) => {
  t.is(digitWord("worker 16 is stuck in quagmire10, id=9123 é7"), "16 e10 =9123 7");
  t.is(digitWord("nothing"), undefined);
});

test("texts that the engine's word index would change are odd", (t) => {
  t.true(isOdd("dotted \u0130"));
  t.true(isOdd("a".repeat(255)));
  t.true(isOdd(`x${"7".repeat(254)}`));
  t.true(isOdd("é".repeat(255)));
  t.false(isOdd("a".repeat(254)));
  t.false(isOdd("one two 3 ".repeat(50)));
});

test("data is indexed as posted: each run of digits once, in small letters", (t) => {
  t.is(digitsOfData("Quagmire10 and quagmirE10, ID=9123 é7 7"), "e10 =9123 7");
  t.is(digitsOfData("nothing"), undefined);
});

test("data with letters that fold to ASCII is odd as well", (t) => {
  for (const data of ["\u212aey", "\u017falt", "\u0130", "A".repeat(255), "日".repeat(255)])
    t.true(isOddData(data), data);
  t.false(isOddData("É".repeat(254)));
  t.false(isOddData(`${"word ".repeat(10_000)}12`));
});

test("long runs are found in time that grows with the length of the data alone", (t) => {
  const data = `${"a".repeat(254)}-`.repeat(2_000);
  const began_ms = performance.now();
  t.false(isOddData(data));
  t.true(performance.now() - began_ms < 100);
});

/**
 * The words that the engine's analyzers `simple` and `whitespace` make of a text that is not odd.
 */
function runsOf(text: string): { letters: readonly string[]; digits: readonly string[] } {
  const folded = fold(text);
  return { letters: folded.match(/\p{L}+/gu) ?? [], digits: digitWord(folded)?.split(" ") ?? [] };
}

function meets(condition: WordCondition, runs: ReturnType<typeof runsOf>): boolean {
  switch (condition.kind) {
    case "all":
      return condition.parts.every((part) => meets(part, runs));
    case "any":
      return condition.parts.some((part) => meets(part, runs));
    case "word":
      return runs[condition.of].some((run) => new RegExp(`^(?:${condition.expression})$`).test(run));
  }
  throw condition satisfies never;
}

/** The words that the engine's analyzers make of data that is not odd. */
function runsOfData(data: string): ReturnType<typeof runsOf> {
  const runs = data.match(/\p{L}+/gu) ?? [];
  return { letters: runs.map((run) => run.toLowerCase()), digits: digitsOfData(data)?.split(" ") ?? [] };
}

/**
 * Compares conditions on words with the expressions that they are made of.
 * @param runsIn returns the words of a text; null for one that is left out
 * @returns how many conditions and texts were compared
 */
function compareWithExpressions(runsIn: (text: string) => ReturnType<typeof runsOf> | null) {
  const compared = { conditions: 0, texts: 0 };
  fc.assert(
    fc.property(
      fc.oneof(expressions, wordy),
      fc.array(fc.oneof(textsForExpressions, texts), { minLength: 20, maxLength: 20 }),
      (pattern, candidates) => {
        const { condition, exact } = wordsOfExpression(pattern);
        if (condition === null) return;
        compared.conditions += 1;
        const expression = compileExpression(pattern);
        for (const text of candidates) {
          const runs = runsIn(text);
          if (runs === null) continue;
          compared.texts += 1;
          const isFound = meets(condition, runs);
          if (expression.test(text) ? !isFound : exact && isFound) {
            throw new Error(`/${pattern}/ and ${JSON.stringify(text)}: ${JSON.stringify(condition)}`);
          }
        }
      },
    ),
    { numRuns: 4_000 },
  );
  return compared;
}

test("data that an expression matches meets the condition on its words, and only that if it is exact", (t) => {
  t.true(compareWithExpressions((data) => (isOddData(data) ? null : runsOfData(data))).texts > 5_000);
});

test("every text that an expression matches meets the condition on its words, and only those if it is exact", (t) => {
  const { conditions } = compareWithExpressions((text) => (isOdd(fold(text)) ? null : runsOf(text)));
  t.true(conditions > 500, "expressions that say something of words");
});

/** Expressions of few words and numbers with every neighbour, and texts of the same parts. */
const piece = fc.constantFrom(..."abk kas sak aka 12 121 2 s k a 1 ſ K é _ - = ".split(" "), " ");
const wordy = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: piece },
      fc.constantFrom(
        ..."\\b ^ $ (?m:^) (?m:$) [0-9] [0-9]{2} \\d+ \\d* [^0-9] [a-k]+ \\w \\W [^a-z] .* . (?-i:abk) (?:12)? (?:abk|12)+ [1-2]? \\B \\n".split(
          " ",
        ),
      ),
    ),
    { minLength: 1, maxLength: 7 },
  )
  .map((parts) => parts.join(""))
  .filter((pattern) => {
    try {
      compileExpression(pattern);
      return true;
    } catch {
      return false;
    }
  });
const texts = fc
  .array(fc.oneof({ weight: 5, arbitrary: piece }, fc.constantFrom("\n", "ABK", "İ", "ſ", "K", ".")), { maxLength: 8 })
  .map((parts) => parts.join(""));
