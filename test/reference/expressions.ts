import * as fc from "fast-check";
import { RE2JS } from "re2js";

/**
 * Characters that an engine with older Unicode tables or other case rules treats differently:
 * letters with three forms, letters that are equal although neither is the other's upper case,
 * letters and ideographs of Unicode 15 to 17.
 */
export const CHARACTERS_IN_DISPUTE: readonly string[] = [
  ...Array.from("kKKsSſåÅÅΩωΩßẞσςΣιͅιΐΐΰΰﬅﬆθϑϴµμıİ"),
  ..."\u1c89 \u1c8a \ua7cb \u0264 \ua7cc \ua7cd \ua7da \ua7db \ua7dc \u019b \ua7ce \ua7cf \u{10d50} \u{10d70} \u{16ea0} \u{16ebb} \u{323b0} \u{2ebf0} \u{1e6c0}".split(
    " ",
  ),
];

/** Pieces that together cover RE2's syntax, over few letters, so that texts often match. */
const atom = fc.constantFrom(
  ..."abkKsſßéÉΣσς1_ -.日".split(""),
  ..."\\. \\d \\D \\w \\W \\s \\S [ab] [^ab] [a-k] [^\\d] [[:alpha:]] [[:^space:]] \\pL \\p{Greek} \\PL [\\pN_] \\x41 \\x{1F600} \\n . (?s:.) (?-i:a) (?-i:K) (?i:b)".split(
    " ",
  ),
  ..."\\p{Lu} (?-i:\\p{Lu}) \\p{^Ll} [^\\pL] [^\\P{Han}] [k-z] [^k-z] (?-i:[k-z]) \\p{Cyrillic} \\pM \\PN \\pC (?-i:[^\\p{Greek}\\n])".split(
    " ",
  ),
  ...CHARACTERS_IN_DISPUTE,
  ...CHARACTERS_IN_DISPUTE.map((character) => `(?-i:${character})`),
  ..."^ $ \\A \\z \\b \\B (?m:^) (?m:$)".split(" "),
);

/** Expressions of the whole syntax; RE2 accepts most of them. */
export const expressions: fc.Arbitrary<string> = fc
  .letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      atom,
      fc.tuple(tie("node"), tie("node")).map(([a, b]) => a + b),
      fc.tuple(tie("node"), tie("node"), tie("node")).map((parts) => parts.join("")),
      fc.tuple(tie("node"), tie("node")).map(([a, b]) => `(${a}|${b})`),
      fc
        .tuple(tie("node"), fc.constantFrom("*", "+", "?", "*?", "{2}", "{1,3}", "{2,}", "{0,2}"))
        .map(([a, times]) => `(?:${a})${times}`),
    ),
  }))
  .node.filter((expression) => expression.length <= 80 && isExpression(expression));

/** Texts that these expressions often match. */
export const textsForExpressions: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.constantFrom(...'abkKKsSſßéÉΣσς1_ -.#"\n日'.split(""), "😀", "foo", "at", "\u2028", "é"),
      fc.constantFrom(...CHARACTERS_IN_DISPUTE),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((parts) => parts.join(""));

function isExpression(expression: string): boolean {
  try {
    RE2JS.compile(expression);
    return true;
  } catch {
    return false;
  }
}
