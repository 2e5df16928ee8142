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

/** An expression in the syntax of DuckDB's RE2. */
export type Re2Expression = {
  readonly pattern: string;
  /** Whether it may match the empty text. */
  readonly matchesEmpty: boolean;
  /**
   * Longest run of characters that every match contains verbatim; null if it is shorter than
   * {@link FIXED} or blank.
   */
  readonly fixed: string | null;
};

/** Shorter runs exclude too few texts. */
const FIXED = 2;

/**
 * Translates an RE2 expression that ignores case for DuckDB's RE2, whose Unicode tables are older
 * than those of the parser that defines our expressions. Letters become sets of their forms,
 * classes become ranges; the result has no flags, properties or counted repeats.
 *
 * @returns null if it matches nothing
 * @throws RE2JSSyntaxException if `pattern` is not an RE2 expression
 */
export function toRe2(pattern: string): Re2Expression | null {
  const tree = betweenCharacters(parseTree(pattern));
  // The group keeps DuckDB's optimizer from turning what it takes for a plain text with anchors
  // into comparisons, some of them wrong: `\z\z` would become `= ''`.
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
 * Returns runs of characters that are in every text the tree matches. Letters are not included:
 * each is a set of its cases.
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
/** Matches texts with a position, at an end or between characters, that is no word edge (`\B`). */
const HAS_NO_EDGE: Tree = union([
  concat([START, END]),
  concat([START, OTHER]),
  concat([OTHER, END]),
  concat([OTHER, OTHER]),
  concat([OF_WORD, OF_WORD]),
]);

/**
 * Adapts a tree to RE2, which matches byte by byte, so that `\B` also holds inside a character of
 * several bytes. Expressions that consume a character never match there. Otherwise `\B` is removed,
 * and texts with a true `\B` position are matched by {@link HAS_NO_EDGE}.
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

/** Prints a tree such that the result can be part of a sequence. */
function print(tree: Tree): string {
  switch (tree.kind) {
    case "none":
      throw new Error("A tree to print cannot contain a part that matches nothing");
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

/** Prints repeats without counts, because RE2 limits those. */
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
