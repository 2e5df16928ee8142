import test from "ava";

import { fold } from "../../../src/events/text.ts";
import {
  ANY_CHARACTER,
  compileExpression,
  complement,
  concat,
  EMPTY,
  intersect,
  matchesEmpty,
  NONE,
  parseTree,
  repeat,
  set,
  subtract,
  TreeTooLargeError,
  union,
} from "../../../src/query/regex/tree.ts";
import type { Tree } from "../../../src/query/regex/tree.ts";

const one = (...codes: number[]): Tree => set(codes.flatMap((code) => [code, code]));
const A = set([0x41, 0x41, 0x61, 0x61]);

const TREES: readonly (readonly [pattern: string, tree: Tree])[] = [
  ["", EMPTY],
  ["a", A],
  ["(?-i)a", one(0x61)],
  ["(a)(?:1)", concat([A, one(0x31)])],
  ["1|23", union([one(0x31), concat([one(0x32), one(0x33)])])],
  ["1*?", repeat(one(0x31), 0, null)],
  ["1+", repeat(one(0x31), 1, null)],
  ["1{2}", concat([one(0x31), one(0x31)])],
  ["1{0,3}", repeat(one(0x31), 0, 3)],
  ["[^\\x{0}-\\x{10FFFE}]", one(0x10ffff)],
  [".", set([0, 9, 11, 0x10ffff])],
  ["(?s).", ANY_CHARACTER],
  ["\\x{D800}", NONE],
  ["^1$", concat([{ kind: "assert", what: "text-start" }, one(0x31), { kind: "assert", what: "text-end" }])],
  [
    "(?m)^$",
    concat([
      { kind: "assert", what: "line-start" },
      { kind: "assert", what: "line-end" },
    ]),
  ],
  [
    "\\b\\B",
    concat([
      { kind: "assert", what: "word-edge" },
      { kind: "assert", what: "no-word-edge" },
    ]),
  ],
];

for (const [pattern, tree] of TREES) {
  test(`/${pattern}/ is parsed`, (t) => {
    t.deepEqual(parseTree(pattern), tree);
  });
}

test("characters equal ignoring case are those with the same folding, for all characters", (t) => {
  const forms = new Map<string, number[]>();
  for (let code = 0; code < 0x20000; code++) {
    const character = String.fromCodePoint(code);
    if (character.isWellFormed()) forms.set(fold(character), [...(forms.get(fold(character)) ?? []), code]);
  }
  const wrong: string[] = [];
  for (const codes of forms.values()) {
    for (const code of codes) {
      const tree = parseTree(`\\x{${code.toString(16)}}`);
      const equal = tree.kind === "set" ? charactersOf(tree.ranges) : [];
      if (equal.join() !== codes.toSorted((a, b) => a - b).join())
        wrong.push(`U+${code.toString(16)}: ${equal.join()}`);
    }
  }
  t.deepEqual(wrong, []);
});

function charactersOf(ranges: readonly number[]): number[] {
  const codes: number[] = [];
  for (let i = 0; i < ranges.length; i += 2)
    for (let code = ranges[i]!; code <= ranges[i + 1]!; code++) codes.push(code);
  return codes;
}

const OTHERS = [
  "\\pC",
  "\\p{C}",
  "[\\pC]",
  "\\P{^C}",
  "[\\P{^C}]",
  "(?-i)\\pC",
  "[^\\PC]",
  "[^\\p{^C}]",
  "[\\pC\\n-\\r]",
];
const NOT_OTHERS = [
  "\\PC",
  "\\P{C}",
  "[\\PC]",
  "\\p{^C}",
  "[\\p{^C}]",
  "(?-i)\\PC",
  "[^\\pC]",
  "[^\\P{^C}]",
  "[\\PC-a]",
];

test("\\pC matches what RE2 says, without unassigned characters", (t) => {
  const others: number[] = [];
  for (let code = 0; code <= 0x10ffff; code++)
    if (/^[\p{Cc}\p{Cf}\p{Co}]$/u.test(String.fromCodePoint(code))) others.push(code);
  for (const pattern of OTHERS) {
    const tree = parseTree(pattern);
    t.true(tree.kind === "set");
    if (tree.kind === "set") t.deepEqual(charactersOf(tree.ranges), others, pattern);
  }
  const inner = OTHERS.map((pattern) => [pattern, true] as const);
  const outer = NOT_OTHERS.map((pattern) => [pattern, false] as const);
  for (const [pattern, isOther] of [...inner, ...outer]) {
    const expression = compileExpression(pattern);
    const tree = parseTree(pattern);
    for (const code of [0, 0x1f, 0x61, 0xad, 0x378, 0x3b1, 0xe000, 0xffff, 0xf0000, 0x10fffd, 0x10ffff]) {
      const expected = isOther === others.includes(code);
      t.is(expression.test(String.fromCodePoint(code)), expected, `${pattern} U+${code.toString(16)}`);
      const found = tree.kind === "set" && intersect(tree.ranges, [code, code]).length > 0;
      t.is(found, expected, `${pattern} U+${code.toString(16)}`);
    }
  }
});

test("escaped or quoted, \\pC is literal", (t) => {
  for (const pattern of ["\\\\pC", "\\Q\\pC\\E"]) t.true(compileExpression(pattern).test("\\pC"), pattern);
  t.true(compileExpression("^[\\\\pC]+$").test("C\\p"));
});

test("set operations on ranges", (t) => {
  t.deepEqual(intersect([1, 5, 8, 9], [4, 8]), [4, 5, 8, 8]);
  t.deepEqual(complement([0, 4, 6, 0x10ffff]), [5, 5]);
  t.deepEqual(complement(complement([3, 7])), [3, 7]);
  t.deepEqual(subtract([0, 9], [2, 3]), [0, 1, 4, 9]);
});

test("assertions decide whether an expression matches the empty text", (t) => {
  const edge = parseTree("(?:\\B|1)*\\B");
  t.true(matchesEmpty(edge, (what) => what === "no-word-edge"));
  t.false(matchesEmpty(edge, () => false));
  t.true(matchesEmpty(parseTree("1?|2"), () => false));
  t.false(matchesEmpty(parseTree("1?2"), () => true));
});

test("an expression that is too large or too deep is refused", (t) => {
  t.throws(() => parseTree("(?:(?:1|23){100}|4){9}".repeat(20)), { instanceOf: TreeTooLargeError });
  t.notThrows(() => parseTree("(".repeat(450) + "1" + ")*".repeat(450)));
});
