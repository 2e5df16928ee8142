import {
  complement,
  concat,
  EMPTY,
  intersect,
  matchesEmpty,
  NONE,
  repeat,
  set,
  union,
  WORD,
} from "../../../query/regex/tree.ts";
import type { Assertion, Tree } from "../../../query/regex/tree.ts";

/** Maximum number of alternatives that are expanded. */
const MAX_SEQUENCES = 64;

const NEWLINE: readonly number[] = [10, 10];

/**
 * Returns an equivalent tree for whole texts without assertions (`^`, `$`, `\b` and so on), or null
 * if they are nested too deep.
 *
 * Alternatives with assertions are expanded into sequences. Each assertion is then resolved by the
 * last character on its left and the first on its right: `.*\bfoo.*` becomes
 * `foo.*|.*[^word]foo.*`.
 */
export function resolveAssertions(tree: Tree): Tree | null {
  const sequences = unfold(tree);
  if (sequences === null) return null;
  const resolved: Tree[] = [];
  const waiting = [...sequences];
  for (let steps = 0; waiting.length > 0; steps++) {
    if (steps > MAX_SEQUENCES * 4) return null;
    const sequence = waiting.pop()!;
    const next = resolveOne(sequence);
    if (next === "stuck") return null;
    if (next === "done") resolved.push(concat(sequence));
    else waiting.push(...next);
  }
  return union(resolved);
}

type Sequence = readonly Tree[];

function holdsAssertion(tree: Tree): boolean {
  if (tree.kind === "repeat") return holdsAssertion(tree.part);
  if (tree.kind === "concat" || tree.kind === "union") return tree.parts.some(holdsAssertion);
  return tree.kind === "assert";
}

/**
 * Returns sequences with assertions at their top level only, which together match what `tree` does,
 * or null if there are too many.
 */
function unfold(tree: Tree): Sequence[] | null {
  if (tree.kind === "assert" || !holdsAssertion(tree)) return [tree.kind === "concat" ? tree.parts : [tree]];
  switch (tree.kind) {
    case "union":
      return flatten(tree.parts.map(unfold));
    case "concat": {
      let sequences: Sequence[] = [[]];
      for (const part of tree.parts) {
        const endings = unfold(part);
        if (endings === null || endings.length * sequences.length > MAX_SEQUENCES) return null;
        sequences = sequences.flatMap((start) => endings.map((end) => start.concat(end)));
      }
      return sequences;
    }
    case "repeat":
      return tree.min === 0 && tree.max === 1 ? flatten([[[]], unfold(tree.part)]) : null;
    case "none":
    case "empty":
    case "set":
      return [[tree]];
  }
  throw tree satisfies never;
}

function flatten(all: readonly (Sequence[] | null)[]): Sequence[] | null {
  if (all.includes(null)) return null;
  const sequences = all.flatMap((each) => each ?? []);
  return sequences.length > MAX_SEQUENCES ? null : sequences;
}

function resolveOne(sequence: Sequence): Sequence[] | "done" | "stuck" {
  // Ends of the text come first: they depend on emptiness only, not on characters.
  const start = sequence.findLastIndex((part) => part.kind === "assert" && part.what === "text-start");
  if (start >= 0) return onlyEmpty(sequence.slice(0, start), sequence.slice(start + 1));
  const end = sequence.findIndex((part) => part.kind === "assert" && part.what === "text-end");
  if (end >= 0) return onlyEmpty(sequence.slice(end + 1), []).map((rest) => sequence.slice(0, end).concat(rest));
  const at = sequence.findIndex((part) => part.kind === "assert");
  if (at < 0) return "done";
  const sides = sidesOf(
    (sequence[at] as Assertion).what,
    concat(sequence.slice(0, at)),
    concat(sequence.slice(at + 1)),
  );
  if (sides === null) return "stuck";
  // Further assertions to the right may be inside alternatives now.
  const next = flatten(
    sides.map(({ before, after }) => {
      const rest = concat([before, after]);
      return rest.kind === "none" ? [] : unfold(rest);
    }),
  );
  return next ?? "stuck";
}

/** Returns `rest` with the assertions of `parts` if all other parts can match "", else nothing. */
function onlyEmpty(parts: Sequence, rest: Sequence): Sequence[] {
  const kept = parts.filter((part) => part.kind === "assert");
  return parts.every((part) => part.kind === "assert" || matchesEmpty(part, () => false)) ? [[...kept, ...rest]] : [];
}

type Pair = { readonly before: Tree; readonly after: Tree };

/**
 * Returns the possible pairs of sides of an assertion that holds, or null if the right side does
 * not determine them. `before` contains no assertion.
 */
function sidesOf(what: Assertion["what"], before: Tree, after: Tree): Pair[] | null {
  switch (what) {
    case "line-start":
    case "text-start": {
      const left = splitLast(before, NEWLINE);
      return left && [{ before: union([left.inside, ifEmpty(left)]), after }];
    }
    case "line-end":
    case "text-end": {
      const right = splitFirst(after, NEWLINE);
      return right && [{ before, after: union([right.inside, ifEmpty(right)]) }];
    }
    case "word-edge":
    case "no-word-edge": {
      const left = splitLast(before, WORD);
      const right = splitFirst(after, WORD);
      if (left === null || right === null) return null;
      const leftOut = union([left.outside, ifEmpty(left)]);
      const rightOut = union([right.outside, ifEmpty(right)]);
      return what === "word-edge"
        ? [pair(left.inside, rightOut), pair(leftOut, right.inside)]
        : [pair(left.inside, right.inside), pair(leftOut, rightOut)];
    }
  }
  throw what satisfies never;
}

function pair(before: Tree, after: Tree): Pair {
  return { before, after };
}

function ifEmpty(split: Split): Tree {
  return split.empty ? EMPTY : NONE;
}

/** The matches of a tree by their first character: in a set, outside it, or none. */
type Split = { readonly inside: Tree; readonly outside: Tree; readonly empty: boolean };

/** Returns null if an assertion precedes the first character. */
function splitFirst(tree: Tree, characters: readonly number[]): Split | null {
  switch (tree.kind) {
    case "none":
      return { inside: NONE, outside: NONE, empty: false };
    case "empty":
      return { inside: NONE, outside: NONE, empty: true };
    case "assert":
      return null;
    case "set": {
      const inside = set(intersect(tree.ranges, characters));
      return { inside, outside: set(intersect(tree.ranges, complement(characters))), empty: false };
    }
    case "union": {
      const splits = tree.parts.map((part) => splitFirst(part, characters));
      if (splits.includes(null)) return null;
      return joined(splits as Split[]);
    }
    case "concat":
      return splitConcat(tree.parts, characters);
    case "repeat": {
      const first = splitFirst(tree.part, characters);
      if (first === null) return null;
      const rest = repeat(tree.part, Math.max(0, tree.min - 1), tree.max === null ? null : tree.max - 1);
      return {
        inside: concat([first.inside, rest]),
        outside: concat([first.outside, rest]),
        empty: first.empty || tree.min === 0,
      };
    }
  }
  throw tree satisfies never;
}

function splitConcat(parts: Sequence, characters: readonly number[]): Split | null {
  const splits: Split[] = [];
  for (const [i, part] of parts.entries()) {
    const first = splitFirst(part, characters);
    if (first === null) return null;
    const rest = concat(parts.slice(i + 1));
    splits.push({ inside: concat([first.inside, rest]), outside: concat([first.outside, rest]), empty: false });
    if (!first.empty) return joined(splits);
  }
  return { ...joined(splits), empty: true };
}

function joined(splits: readonly Split[]): Split {
  return {
    inside: union(splits.map((split) => split.inside)),
    outside: union(splits.map((split) => split.outside)),
    empty: splits.some((split) => split.empty),
  };
}

function splitLast(tree: Tree, characters: readonly number[]): Split | null {
  const split = splitFirst(reversed(tree), characters);
  return split && { inside: reversed(split.inside), outside: reversed(split.outside), empty: split.empty };
}

/** Returns a tree that matches every text backwards. */
function reversed(tree: Tree): Tree {
  switch (tree.kind) {
    case "concat":
      return concat(tree.parts.map(reversed).toReversed());
    case "union":
      return union(tree.parts.map(reversed));
    case "repeat":
      return repeat(reversed(tree.part), tree.min, tree.max);
    case "none":
    case "empty":
    case "set":
    case "assert":
      return tree;
  }
  throw tree satisfies never;
}
