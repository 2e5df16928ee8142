import { RE2JS, RE2Set } from "re2js";

import { toRe2Semantics } from "./pieces.ts";

/**
 * A regular expression as sets of characters, without flags, groups and greediness: only what
 * decides whether a text matches. Built from the syntax tree of re2js, the parser that defines the
 * meaning of expressions.
 */
export type Tree =
  /** Matches nothing. */
  | { readonly kind: "none" }
  /** Matches the empty text. */
  | { readonly kind: "empty" }
  /** Matches a code point of inclusive ascending ranges, `[from, to, from, to, …]`. Never empty. */
  | { readonly kind: "set"; readonly ranges: readonly number[] }
  | { readonly kind: "concat"; readonly parts: readonly Tree[] }
  | { readonly kind: "union"; readonly parts: readonly Tree[] }
  /** `max` null is unbounded. */
  | { readonly kind: "repeat"; readonly part: Tree; readonly min: number; readonly max: number | null }
  | Assertion;

/** A condition on the position between two characters. */
export type Assertion = { readonly kind: "assert"; readonly what: AssertionKind };
export type AssertionKind = "text-start" | "text-end" | "line-start" | "line-end" | "word-edge" | "no-word-edge";

export const NONE: Tree = Object.freeze({ kind: "none" });
export const EMPTY: Tree = Object.freeze({ kind: "empty" });
const LAST_CODE_POINT = 0x10ffff;
export const ANY_CHARACTER: Tree = Object.freeze({ kind: "set", ranges: Object.freeze([0, LAST_CODE_POINT]) });
/** Word characters of RE2's `\b`: ASCII only. */
export const WORD: readonly number[] = [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a];
/** Matches any text. */
export const ANYTHING: Tree = Object.freeze({ kind: "repeat", part: ANY_CHARACTER, min: 0, max: null });

/**
 * Most nodes of a tree: a short expression can expand to millions of nodes (`((a{99}){99}){99}`).
 */
const MAX_NODES = 20_000;
/** Deepest nesting; deeper trees could overflow the stack of recursive functions. */
const MAX_DEPTH = 1000;

export class TreeTooLargeError extends Error {
  constructor() {
    super(`the expression has more than ${MAX_NODES} parts or nests deeper than ${MAX_DEPTH}`);
    this.name = "TreeTooLargeError";
  }
}

/**
 * Parses an RE2 expression, ignoring case.
 * @throws RE2JSSyntaxException if it is invalid; TreeTooLargeError
 */
export const parseTree = cacheLatest((pattern: string): Tree => {
  const set = new RE2Set(RE2Set.UNANCHORED, RE2JS.CASE_INSENSITIVE);
  set.add(toRe2Semantics(pattern));
  return convert(set.regexps[0] as Re2Node, { nodes: 0 }, 0);
});

/**
 * Compiles an RE2 expression, ignoring case, with the meaning that {@link parseTree} gives it.
 * @throws RE2JSSyntaxException if it is invalid
 */
export function compileExpression(pattern: string): RE2JS {
  return compileAsIs(toRe2Semantics(pattern));
}

/**
 * Compiles an expression without adapting it to RE2.
 * @throws RE2JSException if it is invalid
 */
export const compileAsIs = cacheLatest((pattern: string) => RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE));

/**
 * Compiles as {@link compileExpression} does, but without sharing the result.
 * @throws RE2JSSyntaxException if it is invalid
 */
export function compileUnshared(pattern: string): RE2JS {
  return RE2JS.compile(toRe2Semantics(pattern), RE2JS.CASE_INSENSITIVE);
}

/**
 * Caches the latest result: the expression of a query is checked, translated and searched for in
 * turn. Queries with several expressions do not benefit.
 */
function cacheLatest<Answer>(make: (pattern: string) => Answer): (pattern: string) => Answer {
  let latest: { readonly pattern: string; readonly answer: Answer } | null = null;
  return (pattern) => (latest?.pattern === pattern ? latest : (latest = { pattern, answer: make(pattern) })).answer;
}

/**
 * The used parts of re2js's syntax tree, exposed by `RE2Set`. Operations are numbers; the node's
 * class has their names.
 */
type Re2Node = {
  readonly op: number;
  readonly flags: number;
  /** Code points of a literal, or inclusive ranges of a class. */
  readonly runes: ArrayLike<number>;
  readonly subs: readonly Re2Node[];
  readonly constructor: { readonly Op: Readonly<Record<number, string>> };
};

const FOLD_CASE = 1;

function convert(node: Re2Node, budget: { nodes: number }, depth: number): Tree {
  budget.nodes += 1;
  if (budget.nodes > MAX_NODES || depth > MAX_DEPTH) throw new TreeTooLargeError();
  const sub = () => convert(node.subs[0]!, budget, depth + 1);
  const op = node.constructor.Op[node.op] ?? "";
  switch (op) {
    case "NO_MATCH":
      return NONE;
    case "EMPTY_MATCH":
      return EMPTY;
    case "LITERAL":
      budget.nodes += node.runes.length;
      return concat(Array.from(node.runes, (rune) => (node.flags & FOLD_CASE ? orbitOf(rune) : set([rune, rune]))));
    case "CHAR_CLASS":
      return set(Array.from(node.runes));
    case "ANY_CHAR_NOT_NL":
      return set([0, 9, 11, LAST_CODE_POINT]);
    case "ANY_CHAR":
      return ANY_CHARACTER;
    case "CAPTURE":
      return sub();
    case "STAR":
      return repeat(sub(), 0, null);
    case "PLUS":
      return repeat(sub(), 1, null);
    case "QUEST":
      return convertOptional(node, budget, depth);
    case "CONCAT":
      return concat(node.subs.map((part) => convert(part, budget, depth + 1)));
    case "ALTERNATE":
      return union(node.subs.map((part) => convert(part, budget, depth + 1)));
    default:
      return { kind: "assert", what: assertionOf(op) };
  }
}

function assertionOf(op: string): AssertionKind {
  switch (op) {
    case "BEGIN_TEXT":
      return "text-start";
    case "END_TEXT":
      return "text-end";
    case "BEGIN_LINE":
      return "line-start";
    case "END_LINE":
      return "line-end";
    case "WORD_BOUNDARY":
      return "word-edge";
    case "NO_WORD_BOUNDARY":
      return "no-word-edge";
    default:
      throw new Error(`re2js made a node of an unknown kind: ${op}`);
  }
}

/**
 * Converts an optional part. re2js expands `x{0,3}` to `(x(x(x)?)?)?`; this restores the repeat, so
 * that the tree neither nests nor grows.
 */
function convertOptional(node: Re2Node, budget: { nodes: number }, depth: number): Tree {
  const operator = node.op;
  const partsOf = (optional: Re2Node): readonly Re2Node[] => {
    const body = optional.subs[0]!;
    return body.constructor.Op[body.op] === "CONCAT" ? body.subs : [body];
  };
  let parts = partsOf(node);
  let times = 1;
  for (;;) {
    const inner = parts.at(-1)!;
    if (inner.op !== operator || parts.length === 1) break;
    const next = partsOf(inner);
    const head = parts.length - 1;
    const isCopy = next.length === head || (next.length === head + 1 && next[head]!.op === operator);
    if (!isCopy || !parts.slice(0, head).every((part, i) => part === next[i])) break;
    parts = next;
    times += 1;
  }
  const part = concat(parts.map((each) => convert(each, budget, depth + 1)));
  return repeat(part, 0, times);
}

/** Returns the set of a character and its case variants, according to the parser. */
function orbitOf(rune: number): Tree {
  const known = orbits.get(rune);
  if (known !== undefined) return known;
  const parser = new RE2Set(RE2Set.UNANCHORED, RE2JS.CASE_INSENSITIVE);
  // In a class with a character without case, the parser lists all case variants.
  parser.add(`[\\x{0}\\x{${rune.toString(16)}}]`);
  const ranges = Array.from((parser.regexps[0] as Re2Node).runes);
  const orbit = rune === 0 ? set([0, 0]) : set(subtract(ranges, [0, 0]));
  if (orbits.size < MAX_NODES) orbits.set(rune, orbit);
  return orbit;
}

const orbits = new Map<number, Tree>();

/** Returns a set without surrogates, which no text contains. */
export function set(ranges: readonly number[]): Tree {
  const characters = subtract(ranges, [0xd800, 0xdfff]);
  return characters.length === 0 ? NONE : { kind: "set", ranges: characters };
}

export function intersect(a: readonly number[], b: readonly number[]): number[] {
  const common: number[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const from = Math.max(a[i]!, b[j]!);
    const to = Math.min(a[i + 1]!, b[j + 1]!);
    if (from <= to) common.push(from, to);
    if (a[i + 1]! < b[j + 1]!) i += 2;
    else j += 2;
  }
  return common;
}

export function complement(ranges: readonly number[]): number[] {
  const rest: number[] = [];
  let next = 0;
  for (let i = 0; i < ranges.length; i += 2) {
    if (ranges[i]! > next) rest.push(next, ranges[i]! - 1);
    next = ranges[i + 1]! + 1;
  }
  if (next <= LAST_CODE_POINT) rest.push(next, LAST_CODE_POINT);
  return rest;
}

export function subtract(a: readonly number[], b: readonly number[]): number[] {
  return intersect(a, complement(b));
}

export function concat(parts: readonly Tree[]): Tree {
  const flat: Tree[] = [];
  for (const part of parts) {
    if (part.kind === "none") return NONE;
    if (part.kind === "concat") flat.push(...part.parts);
    else if (part.kind !== "empty") flat.push(part);
  }
  return flat.length === 0 ? EMPTY : flat.length === 1 ? flat[0]! : { kind: "concat", parts: flat };
}

export function union(parts: readonly Tree[]): Tree {
  const flat = parts.flatMap((part) => (part.kind === "union" ? part.parts : part.kind === "none" ? [] : [part]));
  return flat.length === 0 ? NONE : flat.length === 1 ? flat[0]! : { kind: "union", parts: flat };
}

export function repeat(part: Tree, min: number, max: number | null): Tree {
  if (max === 0 || part.kind === "empty") return EMPTY;
  if (part.kind === "none") return min === 0 ? EMPTY : NONE;
  return min === 1 && max === 1 ? part : { kind: "repeat", part, min, max };
}

export function some(tree: Tree, test: (node: Tree) => boolean): boolean {
  if (test(tree)) return true;
  if (tree.kind === "repeat") return some(tree.part, test);
  return (tree.kind === "concat" || tree.kind === "union") && tree.parts.some((part) => some(part, test));
}

/** Returns a tree with each leaf replaced. */
export function mapLeaves(tree: Tree, change: (leaf: Tree) => Tree): Tree {
  switch (tree.kind) {
    case "concat":
      return concat(tree.parts.map((part) => mapLeaves(part, change)));
    case "union":
      return union(tree.parts.map((part) => mapLeaves(part, change)));
    case "repeat":
      return repeat(mapLeaves(tree.part, change), tree.min, tree.max);
    case "none":
    case "empty":
    case "set":
    case "assert":
      return change(tree);
  }
  throw tree satisfies never;
}

/** Returns whether a tree matches without consuming a character. @param holds tests an assertion */
export function matchesEmpty(tree: Tree, holds: (what: AssertionKind) => boolean): boolean {
  switch (tree.kind) {
    case "empty":
      return true;
    case "assert":
      return holds(tree.what);
    case "concat":
      return tree.parts.every((part) => matchesEmpty(part, holds));
    case "union":
      return tree.parts.some((part) => matchesEmpty(part, holds));
    case "repeat":
      return tree.min === 0 || matchesEmpty(tree.part, holds);
    case "none":
    case "set":
      return false;
  }
  throw tree satisfies never;
}
