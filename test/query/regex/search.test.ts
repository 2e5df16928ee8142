import test from "ava";
import * as fc from "fast-check";

import { ExpressionSearch } from "../../../src/query/regex/search.ts";
import { checkExpression } from "../../../src/query/regex/regex.ts";
import { compileExpression } from "../../../src/query/regex/tree.ts";
import { hostileText } from "../../support/hostile-text.ts";
import { longestHold_ms } from "../../support/turns.ts";

const PIECES = [
  ..."ab.|?*+()^$k",
  "[ab]",
  "[^a]",
  "\\b",
  "\\B",
  "\\w",
  "\\A",
  "\\z",
  "(?m:^|$)",
  "(?s:.)",
  "(?:a|b|ab)",
  "(?-i:k)",
  "\\pL",
  "é",
  "😀",
  "{3}",
  "{0,20}",
  "{40}",
];
const expressions = fc.array(fc.constantFrom(...PIECES), { maxLength: 14 }).map((parts) => parts.join(""));
const texts = fc.string({ unit: fc.constantFrom(..."aabbkK é\n_0", "\u212a", "😀", "\ud83d"), maxLength: 80 });

/** Runs a search in steps to its end and returns its result. */
function inSteps(search: ExpressionSearch, text: string): boolean {
  const steps = search.inSteps(text);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

test("a search finds what re2js finds, at once and in steps", (t) => {
  let found = 0;
  const property = fc.property(expressions, fc.array(texts, { maxLength: 8 }), (pattern, some) => {
    if (checkExpression(pattern).kind === "fault") return;
    const search = new ExpressionSearch(pattern, 1000);
    for (const text of some) {
      const expected = compileExpression(pattern).test(text);
      found += expected ? 1 : 0;
      t.is(search.test(text), expected, `${pattern} at once in ${JSON.stringify(text)}`);
      t.is(inSteps(search, text), expected, `${pattern} in steps in ${JSON.stringify(text)}`);
    }
  });
  fc.assert(property, { numRuns: 3000 });
  t.true(found > 1000);
});

/**
 * The most expensive expressions, each with a text that visits many of their states and ends with a
 * match or without one.
 */
const COSTLY = [
  "a[ab]{400}[cx]",
  "(?:[ab]?){900}[cx]",
  "(?:\\b|a)(?:a|\\bb|\\Bb){200}[cx]",
  "(?:.*a){400}[cx]",
  "[ab]{900}\\bz",
];

/**
 * The texts that each expression is searched in; its states accumulate over several of one length.
 */
const TEXTS = [100, 500, 500, 500, 500, 500, 500, 4096, 32_768].map((length, i) => hostileText(i, length));

/** Returns the longest block of the thread for each text, in milliseconds of processor time. */
async function holdsOf(pattern: string): Promise<readonly number[]> {
  const search = new ExpressionSearch(pattern);
  const holds_ms = [];
  for (const text of TEXTS) {
    const { longest_ms } = await longestHold_ms(async () => {
      if (!search.isLong(text)) return search.test(text);
      for (const steps = search.inSteps(text); steps.next().done !== true;) await new Promise(setImmediate);
      return null;
    });
    holds_ms.push(longest_ms);
  }
  return holds_ms;
}

for (const pattern of COSTLY) {
  test.serial(`no step of a search blocks the thread: ${pattern}`, async (t) => {
    t.is(checkExpression(pattern).kind, "ok");
    // Compilation, garbage collection and a busy machine may delay a single attempt.
    let best_ms: readonly number[] = TEXTS.map(() => Infinity);
    for (let attempt = 0; attempt < 10 && best_ms.some((hold_ms) => hold_ms >= 100); attempt++) {
      const holds_ms = await holdsOf(pattern);
      best_ms = best_ms.map((hold_ms, i) => Math.min(hold_ms, holds_ms[i]!));
    }
    for (const [i, { length }] of TEXTS.entries()) {
      t.true(best_ms[i]! < 100, `${Math.round(best_ms[i]!)} ms for ${length} characters`);
    }
  });
}
