import { fold } from "../../../events/text.ts";
import { ANYTHING, complement, concat, EMPTY, mapLeaves, parseTree, some } from "../../../query/regex/tree.ts";
import type { Tree } from "../../../query/regex/tree.ts";
import { resolveAssertions } from "./regexp-assertions.ts";

/**
 * An RE2 expression, found anywhere and ignoring case, in Lucene's dialect, which matches whole
 * values.
 *
 * - `exact`: matches the same texts.
 * - `wider`: matches these and others, so that each text found must be tested.
 *
 * `on` is the field to match: the folded text, for which letters have one form and expressions are
 * small, or the original text, for expressions that distinguish case. A null `expression` matches
 * nothing.
 */
export type LuceneRegexp = {
  readonly kind: "exact" | "wider";
  readonly on: "folded" | "original";
  readonly expression: string | null;
};

/**
 * Maximum length of an expression, as `index.max_regex_length` of the store's indices allows. The
 * stack of Lucene's recursive parser suffices for it.
 */
export const MAX_EXPRESSION_LENGTH = 8000;

/** Maximum depth of nesting. Deeper expressions could exhaust the stack of Lucene's parser. */
const MAX_DEPTH = 100;

/** Limit of {@link costOf}. */
const MAX_COST = 1000;

/** Costs of each end of a range, in expressions with word edges and in others. */
const COST_OF_RANGE_AT_WORD = 0.375;
const COST_OF_RANGE = 0.025;

/** Result for expressions that Lucene cannot process: every text may match. */
const ANY_TEXT: LuceneRegexp = { kind: "wider", on: "folded", expression: ".*" };

/** Translates `pattern`. @throws RE2JSSyntaxException if it is not an RE2 expression */
export function toLuceneRegexp(pattern: string): LuceneRegexp {
  const tree = parseTree(pattern);
  return isDeeper(tree, MAX_DEPTH) ? ANY_TEXT : translate(tree);
}

function isDeeper(tree: Tree, depth: number): boolean {
  if (depth === 0) return true;
  if (tree.kind === "repeat") return isDeeper(tree.part, depth - 1);
  return (tree.kind === "concat" || tree.kind === "union") && tree.parts.some((part) => isDeeper(part, depth - 1));
}

/** Returns an expression for folded values that contain `text`, folded. */
export function containing(text: string): string {
  return `.*${Array.from(fold(text), (character) => escape(character.codePointAt(0)!)).join("")}.*`;
}

function translate(tree: Tree): LuceneRegexp {
  // Folding can change word edges: the Kelvin sign is not a word character, its folded form `k` is.
  const on = !hasWordEdges(tree) && ignoresCase(tree) ? "folded" : "original";
  const anywhere = concat([ANYTHING, tree, ANYTHING]);
  const resolved = resolveAssertions(anywhere);
  const whole = resolved ?? withoutAssertions(anywhere);
  // Word edges split the classes beside them. With large classes that takes Lucene far too long.
  if (costOf(whole, hasWordEdges(tree) ? COST_OF_RANGE_AT_WORD : COST_OF_RANGE) > MAX_COST) return ANY_TEXT;
  const expression = whole.kind === "none" ? null : print(on === "folded" ? foldTree(whole) : whole, PRECEDENCE.union);
  if (expression !== null && expression.length > MAX_EXPRESSION_LENGTH) return ANY_TEXT;
  return { kind: resolved === null ? "wider" : "exact", on, expression };
}

/**
 * Estimates the cost of Lucene's automaton. A character costs 1, more in large classes, and 10 if
 * it is optional: each run of optional characters adds transitions from any of them to any later
 * one, which Lucene does not count among the work that it limits.
 */
function costOf(tree: Tree, ofRange: number): number {
  switch (tree.kind) {
    case "none":
    case "empty":
    case "assert":
      return 0;
    case "set":
      return 1 + tree.ranges.length * ofRange;
    case "concat":
    case "union":
      return tree.parts.reduce((sum, part) => sum + costOf(part, ofRange), 0);
    case "repeat": {
      const optional = tree.max === null ? 1 : tree.max - tree.min;
      return costOf(tree.part, ofRange) * (tree.min + optional * 10);
    }
  }
  throw tree satisfies never;
}

function hasWordEdges(tree: Tree): boolean {
  return some(tree, (node) => node.kind === "assert" && (node.what === "word-edge" || node.what === "no-word-edge"));
}

/** Whether every set with a letter contains all forms of that letter. */
function ignoresCase(tree: Tree): boolean {
  const isClosed = ignoresCaseOfEach();
  return !some(tree, (node) => node.kind === "set" && !isClosed(node.ranges));
}

/** Caches results, since a counted repeat contains the same set many times. */
function ignoresCaseOfEach(): (ranges: readonly number[]) => boolean {
  const known = new Map<string, boolean>();
  return (ranges) => {
    const key = ranges.join(" ");
    const before = known.get(key);
    if (before !== undefined) return before;
    const closed = isClosed(ranges);
    known.set(key, closed);
    return closed;
  };
}

function isClosed(ranges: readonly number[]): boolean {
  return letterForms().every(({ forms }) => {
    const first = includes(ranges, forms[0]!);
    return forms.every((form) => includes(ranges, form) === first);
  });
}

/** Returns the tree for folded texts: a set of all forms of one letter becomes its folded form. */
function foldTree(tree: Tree): Tree {
  return mapLeaves(tree, (node) => {
    if (node.kind !== "set" || countOf(node.ranges) > 4) return node;
    const folded = fold(String.fromCodePoint(node.ranges[0]!)).codePointAt(0)!;
    const isOneLetter = charactersOf(node.ranges).every(
      (code) => fold(String.fromCodePoint(code)).codePointAt(0) === folded,
    );
    return isOneLetter ? { kind: "set", ranges: [folded, folded] } : node;
  });
}

function charactersOf(ranges: readonly number[]): number[] {
  const characters: number[] = [];
  for (let i = 0; i < ranges.length; i += 2)
    for (let code = ranges[i]!; code <= ranges[i + 1]!; code++) characters.push(code);
  return characters;
}

function countOf(ranges: readonly number[]): number {
  return ranges.reduce((sum, code, i) => sum + (i % 2 === 0 ? -code : code + 1), 0);
}

function includes(ranges: readonly number[], code: number): boolean {
  let low = 0;
  let high = ranges.length / 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[middle * 2 + 1]! < code) low = middle + 1;
    else high = middle;
  }
  return low * 2 < ranges.length && ranges[low * 2]! <= code;
}

type Letter = { readonly forms: readonly number[] };
let letters: readonly Letter[] | null = null;

/** Returns all letters with several forms, computed once. No cased letters exist beyond U+1FFFF. */
function letterForms(): readonly Letter[] {
  if (letters !== null) return letters;
  const byFolded = new Map<number, number[]>();
  for (let code = 0; code < 0x20000; code++) {
    if (code === 0xd800) code = 0xe000;
    const folded = fold(String.fromCodePoint(code)).codePointAt(0)!;
    if (folded === code) continue;
    const forms = byFolded.get(folded);
    if (forms === undefined) byFolded.set(folded, [folded, code]);
    else forms.push(code);
  }
  letters = [...byFolded.values()].map((forms) => ({ forms }));
  return letters;
}

/** Returns a wider tree, without assertions. */
function withoutAssertions(tree: Tree): Tree {
  return mapLeaves(tree, (node) => (node.kind === "assert" ? EMPTY : node));
}

const PRECEDENCE = { union: 0, concat: 1, repeat: 2 } as const;

/**
 * @param precedence the context: in a repetition all but single characters need parentheses, in a
 * concatenation unions do
 */
function print(tree: Tree, precedence: number): string {
  switch (tree.kind) {
    case "none":
    case "assert":
      throw new Error(`A tree to print cannot contain ${tree.kind}`);
    case "empty":
      return "()";
    case "set":
      return printSet(tree.ranges);
    case "concat": {
      const printed = printSequence(tree.parts);
      return precedence > PRECEDENCE.concat ? `(${printed})` : printed;
    }
    case "union": {
      const printed = tree.parts.map((part) => print(part, PRECEDENCE.union)).join("|");
      return precedence > PRECEDENCE.union ? `(${printed})` : printed;
    }
    case "repeat": {
      const printed = print(tree.part, PRECEDENCE.repeat) + printTimes(tree.min, tree.max);
      return precedence > PRECEDENCE.concat ? `(${printed})` : printed;
    }
  }
  throw tree satisfies never;
}

function printTimes(min: number, max: number | null): string {
  if (max === null) return min === 0 ? "*" : min === 1 ? "+" : `{${min},}`;
  if (min === 0 && max === 1) return "?";
  return min === max ? `{${min}}` : `{${min},${max}}`;
}

/** Prints runs of equal parts as counted repetitions, since the parser has expanded these. */
function printSequence(parts: readonly Tree[]): string {
  const texts = parts.map((part) => print(part, PRECEDENCE.concat));
  let printed = "";
  for (let i = 0, next = 0; i < parts.length; i = next) {
    while (next < parts.length && texts[next] === texts[i]) next += 1;
    const times = next - i;
    printed += times > 2 ? `${print(parts[i]!, PRECEDENCE.repeat)}{${times}}` : texts[i]!.repeat(times);
  }
  return printed;
}

function printSet(ranges: readonly number[]): string {
  if (ranges[0] === 0 && ranges.at(-1) === 0x10ffff) {
    const missing = withoutSurrogates(complement(ranges));
    return missing.length === 0 ? "." : `[^${printRanges(missing)}]`;
  }
  return ranges.length === 2 && ranges[0] === ranges[1] ? escape(ranges[0]!) : `[${printRanges(ranges)}]`;
}

/** Removes the surrogates, which {@link complement} reports as a gap of every set. */
function withoutSurrogates(ranges: readonly number[]): number[] {
  const kept: number[] = [];
  for (let i = 0; i < ranges.length; i += 2) {
    const from = ranges[i]!;
    const to = ranges[i + 1]!;
    if (from < 0xd800) kept.push(from, Math.min(to, 0xd7ff));
    if (to > 0xdfff) kept.push(Math.max(from, 0xe000), to);
  }
  return kept;
}

/**
 * Prints the inside of a class. Lucene treats an escaped character there as a whole item, so it
 * cannot start a range: `[\!-/]` means three characters. Characters to be escaped are printed by
 * themselves, and the range starts after them.
 */
function printRanges(ranges: readonly number[]): string {
  let printed = "";
  for (let i = 0; i < ranges.length; i += 2) {
    let from = ranges[i]!;
    const to = ranges[i + 1]!;
    while (from < to && CLASS_SYNTAX.has(from)) printed += escape(from++);
    printed += from === to ? escape(from) : `${String.fromCodePoint(from)}-${escape(to)}`;
  }
  return printed;
}

/** Characters with a meaning inside a class: `-`, `[`, `\`, `]`, `^`. */
const CLASS_SYNTAX: ReadonlySet<number> = new Set([0x2d, 0x5b, 0x5c, 0x5d, 0x5e]);

/** Escapes ASCII punctuation. Letters and digits must not be escaped (`\d` is a class). */
function escape(code: number): string {
  const character = String.fromCodePoint(code);
  return code < 0x80 && /[!-/:-@[-`{-~]/.test(character) ? `\\${character}` : character;
}
