import {
  ANY_CHARACTER,
  complement,
  concat,
  mapLeaves,
  matchesEmpty,
  NONE,
  parseTree,
  set,
  union,
  WORD,
} from "../../../query/regex/tree.ts";
import type { AssertionKind, Tree } from "../../../query/regex/tree.ts";

/** An expression in DuckDB's terms. */
type Re2Expression = {
  readonly pattern: string;
  /** Whether it may match a text without characters. */
  readonly matchesEmpty: boolean;
  /**
   * Characters that stand in each text that it matches, side by side and just like this; null where
   * there are fewer than {@link FIXED}.
   */
  readonly fixed: string | null;
};

/** Shorter ones leave too many texts. */
const FIXED = 2;

/**
 * An RE2 expression that ignores case, written out for DuckDB's RE2 so that nothing is left to its
 * tables of Unicode, which are years older than those of the parser that defines what our
 * expressions mean: each letter as the set of its forms, each class as its ranges. What comes out
 * has no flags, properties and counted repeats, and costs DuckDB the same as the expression itself
 * (measured: equal within 5 %).
 *
 * null matches nothing.
 * @throws RE2JSSyntaxException where `pattern` is no RE2 expression
 */
export function toRe2(pattern: string): Re2Expression | null {
  const tree = betweenCharacters(parseTree(pattern));
  // In a group, as DuckDB's optimizer makes comparisons of what it takes for a plain text with
  // anchors, some of them wrong: of `\z\z` it makes `= ''`.
  if (tree.kind === "none") return null;
  const fixed = longest(fixedRuns(tree));
  return {
    pattern: `(${print(tree)})`,
    matchesEmpty: matchesEmpty(tree, () => true),
    fixed: fixed.length < FIXED || fixed.trim() === "" ? null : fixed,
  };
}

function longest(texts: readonly string[]): string {
  return texts.reduce((long, text) => (text.length > long.length ? text : long), "");
}

/**
 * Runs of characters that stand in each text which the tree matches. Letters are none: each is the
 * set of its cases.
 */
function fixedRuns(tree: Tree): string[] {
  const runs: string[] = [];
  let run = "";
  const end = (): void => {
    runs.push(run);
    run = "";
  };
  for (const part of tree.kind === "concat" ? tree.parts : [tree]) {
    if (part.kind === "assert") continue;
    const { part: once, min, max } = part.kind === "repeat" ? part : { part, min: 1, max: 1 };
    const character = onlyCharacter(once);
    if (character !== null) run += character.repeat(min);
    if (character === null || min !== max) end();
    if (min > 0 && (once.kind === "concat" || once.kind === "repeat")) runs.push(...fixedRuns(once));
  }
  end();
  return runs;
}

function onlyCharacter(tree: Tree): string | null {
  if (tree.kind !== "set" || tree.ranges.length !== 2) return null;
  const [from, to] = tree.ranges;
  return from === to && from! >= 0x20 ? String.fromCodePoint(from!) : null;
}

const OF_WORD = set(WORD);
const OTHER = set(complement(WORD));
const START: Tree = { kind: "assert", what: "text-start" };
const END: Tree = { kind: "assert", what: "text-end" };
/** Any text with a place between two characters, or at an end, that is no edge of a word: `\B` by itself. */
const HAS_NO_EDGE: Tree = union([
  concat([START, END]),
  concat([START, OTHER]),
  concat([OTHER, END]),
  concat([OTHER, OTHER]),
  concat([OF_WORD, OF_WORD]),
]);

/**
 * The same where places are looked at byte by byte: there `\B` also holds inside a character of
 * several bytes. An expression that takes a character never meets such a place. One that `\B` alone
 * satisfies is found wherever there is any, and where there is none, `\B` matches nothing.
 */
function betweenCharacters(tree: Tree): Tree {
  if (!matchesEmpty(tree, (what) => what === "no-word-edge") || matchesEmpty(tree, () => false)) return tree;
  const withoutPlaces = mapLeaves(tree, (leaf) =>
    leaf.kind === "assert" && leaf.what === "no-word-edge" ? NONE : leaf,
  );
  return union([withoutPlaces, HAS_NO_EDGE]);
}

const ASSERTIONS: Record<AssertionKind, string> = {
  "text-start": "\\A",
  "text-end": "\\z",
  "line-start": "(?m:^)",
  "line-end": "(?m:$)",
  "word-edge": "\\b",
  "no-word-edge": "\\B",
};

/** What can stand in a sequence as it is. */
function print(tree: Tree): string {
  switch (tree.kind) {
    case "none":
      throw new Error("A tree that is printed holds no part that matches nothing");
    case "empty":
      return "(?:)";
    case "assert":
      return ASSERTIONS[tree.what];
    case "set":
      return tree === ANY_CHARACTER ? "(?s:.)" : printSet(tree.ranges);
    case "concat":
      return tree.parts.map(print).join("");
    case "union":
      return `(?:${tree.parts.map(print).join("|")})`;
    case "repeat":
      return printRepeat(tree);
  }
  throw tree satisfies never;
}

/** Without counts, as RE2 has bounds of its own on those. */
function printRepeat({ part, min, max }: Extract<Tree, { kind: "repeat" }>): string {
  const once = part.kind === "set" ? print(part) : `(?:${print(part)})`;
  if (max !== null) {
    const optional = max - min;
    return once.repeat(min) + `(?:${once}`.repeat(optional) + ")?".repeat(optional);
  }
  return min === 0 ? `${once}*` : `${once.repeat(min)}+`;
}

function printSet(ranges: readonly number[]): string {
  if (ranges.length === 2 && ranges[0] === ranges[1]) return printCharacter(ranges[0]!);
  let printed = "";
  for (let i = 0; i < ranges.length; i += 2) {
    printed += printCharacter(ranges[i]!);
    if (ranges[i] !== ranges[i + 1]) printed += `-${printCharacter(ranges[i + 1]!)}`;
  }
  return `[${printed}]`;
}

function printCharacter(code: number): string {
  const character = String.fromCodePoint(code);
  return /^[0-9A-Za-z]$/.test(character) ? character : `\\x{${code.toString(16)}}`;
}
