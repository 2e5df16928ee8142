import { fold } from "../../../events/text.ts";
import { ANYTHING, complement, concat, EMPTY, mapLeaves, parseTree, some } from "../../../query/regex/tree.ts";
import type { Tree } from "../../../query/regex/tree.ts";
import { resolveAssertions } from "./regexp-assertions.ts";

/**
 * An RE2 expression, found anywhere and ignoring case, in Lucene's dialect, which always means the
 * whole value.
 *
 * - `exact`: matches the same texts.
 * - `wider`: matches all of them and others too; whoever asks must look at each text found.
 *
 * `on` says what it is to be matched with: the folded copy of a text, where letters have one form
 * and expressions are small, or the text as it was posted, where the expression itself tells upper
 * from lower case. `expression` null matches nothing.
 */
export type LuceneRegexp = {
  readonly kind: "exact" | "wider";
  readonly on: "folded" | "original";
  readonly expression: string | null;
};

/**
 * Longest expression that is sent; `index.max_regex_length` of our indices allows it. Lucene's parser is recursive,
 * and a megabyte of its stack carries expressions of this length well.
 */
export const MAX_EXPRESSION_LENGTH = 8000;

/** Deeper nesting could exhaust the stack of Lucene's parser. */
const MAX_DEPTH = 100;

/** See {@link costOf}. */
const MAX_COST = 1000;

/** What each end of a range adds, where the expression asks for words and where it does not. */
const COST_OF_RANGE_AT_WORD = 0.375;
const COST_OF_RANGE = 0.025;

/** Expressions that Lucene cannot take in any form: every text may match. */
const ANY_TEXT: LuceneRegexp = { kind: "wider", on: "folded", expression: ".*" };

/** @throws RE2JSSyntaxException where `pattern` is no RE2 expression */
export function toLuceneRegexp(pattern: string): LuceneRegexp {
  const tree = parseTree(pattern);
  return isDeeper(tree, MAX_DEPTH) ? ANY_TEXT : translate(tree);
}

function isDeeper(tree: Tree, depth: number): boolean {
  if (depth === 0) return true;
  if (tree.kind === "repeat") return isDeeper(tree.part, depth - 1);
  return (tree.kind === "concat" || tree.kind === "union") && tree.parts.some((part) => isDeeper(part, depth - 1));
}

/** `text`, folded, anywhere in a folded value. */
export function containing(text: string): string {
  return `.*${Array.from(fold(text), (character) => escape(character.codePointAt(0)!)).join("")}.*`;
}

function translate(tree: Tree): LuceneRegexp {
  // What letters are equal to changes whether they stand at a word's edge: the Kelvin sign is no
  // word character, k is one.
  const on = !asksForWords(tree) && ignoresCase(tree) ? "folded" : "original";
  const anywhere = concat([ANYTHING, tree, ANYTHING]);
  const resolved = resolveAssertions(anywhere);
  const whole = resolved ?? withoutAssertions(anywhere);
  // Every word's edge splits what stands beside it: with large classes that took Lucene half a
  // minute over a few hundred texts.
  if (costOf(whole, asksForWords(tree) ? COST_OF_RANGE_AT_WORD : COST_OF_RANGE) > MAX_COST) return ANY_TEXT;
  const expression = whole.kind === "none" ? null : print(on === "folded" ? foldTree(whole) : whole, PLACE.union);
  if (expression !== null && expression.length > MAX_EXPRESSION_LENGTH) return ANY_TEXT;
  return { kind: resolved === null ? "wider" : "exact", on, expression };
}

/**
 * About what it costs Lucene to make an automaton. A character costs 1, in large classes more, and
 * where it may be missing 10: each run of such characters makes steps from any of them to any later
 * one, which Lucene does not count among the work that it bounds. (Measured: 250 in a row take 1.8
 * s, 100 take 0.2 s.)
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

function asksForWords(tree: Tree): boolean {
  return some(tree, (node) => node.kind === "assert" && (node.what === "word-edge" || node.what === "no-word-edge"));
}

/** Whether every set holds, with a letter, all that are equal to it ignoring case. */
function ignoresCase(tree: Tree): boolean {
  const isClosed = ignoresCaseOfEach();
  return !some(tree, (node) => node.kind === "set" && !isClosed(node.ranges));
}

/** A counted repeat has the same set again and again. */
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

/** The same tree for folded texts: where a set is one letter in all its forms, the folded form alone. */
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

/**
 * All letters that have more than one form, made once: some 1,400. No letter with case lies above
 * the supplementary plane's first part.
 */
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

/** A tree that matches more: without its conditions on places. */
function withoutAssertions(tree: Tree): Tree {
  return mapLeaves(tree, (node) => (node.kind === "assert" ? EMPTY : node));
}

const PLACE = { union: 0, concat: 1, repeat: 2 } as const;

/**
 * @param place where it stands: inside a repetition all but single characters need parentheses,
 * inside a concatenation unions do
 */
function print(tree: Tree, place: number): string {
  switch (tree.kind) {
    case "none":
    case "assert":
      throw new Error(`A tree that is printed holds no ${tree.kind}`);
    case "empty":
      return "()";
    case "set":
      return printSet(tree.ranges);
    case "concat": {
      const printed = printSequence(tree.parts);
      return place > PLACE.concat ? `(${printed})` : printed;
    }
    case "union": {
      const printed = tree.parts.map((part) => print(part, PLACE.union)).join("|");
      return place > PLACE.union ? `(${printed})` : printed;
    }
    case "repeat": {
      const printed = print(tree.part, PLACE.repeat) + printTimes(tree.min, tree.max);
      return place > PLACE.concat ? `(${printed})` : printed;
    }
  }
  throw tree satisfies never;
}

function printTimes(min: number, max: number | null): string {
  if (max === null) return min === 0 ? "*" : min === 1 ? "+" : `{${min},}`;
  if (min === 0 && max === 1) return "?";
  return min === max ? `{${min}}` : `{${min},${max}}`;
}

/** Counted repetitions reach us written out: runs of equal parts become counted again. */
function printSequence(parts: readonly Tree[]): string {
  const texts = parts.map((part) => print(part, PLACE.concat));
  let printed = "";
  for (let i = 0, next = 0; i < parts.length; i = next) {
    while (next < parts.length && texts[next] === texts[i]) next += 1;
    const times = next - i;
    printed += times > 2 ? `${print(parts[i]!, PLACE.repeat)}{${times}}` : texts[i]!.repeat(times);
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

/** The gap that {@link complement} finds where a set leaves out surrogates is none. */
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
 * The inside of a class. Lucene takes an escaped character there for a whole item, so it cannot
 * begin a range: `[\!-/]` means three characters. Those that must be escaped stand for themselves,
 * and the range begins after them.
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

/** What means something within a class: `-`, `[`, `\`, `]`, `^`. */
const CLASS_SYNTAX: ReadonlySet<number> = new Set([0x2d, 0x5b, 0x5c, 0x5d, 0x5e]);

/** Letters and digits must not be escaped (`\d` is a class); every other ASCII character may be, so each is. */
function escape(code: number): string {
  const character = String.fromCodePoint(code);
  return code < 0x80 && /[!-/:-@[-`{-~]/.test(character) ? `\\${character}` : character;
}
