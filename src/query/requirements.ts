import { parseTree, TreeTooLargeError } from "./regex/tree.ts";
import type { AssertionKind, Tree } from "./regex/tree.ts";

/**
 * What an index of texts can be asked before any text is looked at: a condition that each text meets
 * which a regular expression matches. What a leaf says is up to the index.
 */
export type Requirement<Leaf> = { readonly kind: "all" | "any"; readonly parts: readonly Requirement<Leaf>[] } | Leaf;

/** `weak`: better than no condition, but dear to look up. Those of the greatest weight are kept. */
export type Found<Leaf> = {
  readonly condition: Requirement<Leaf>;
  readonly weight: number;
  readonly weak: boolean;
};

/** Reads the parts of a sequence in their order, and gives what it finds to the function that it was made with. */
export type Reader = {
  /** One of these code points, from `min` to `max` times. Ranges are those of a tree. */
  readonly take: (ranges: readonly number[], min: number, max: number | null) => void;
  readonly assert: (what: AssertionKind) => void;
  /** Something follows of which nothing is known, or the end of the sequence. */
  readonly end: () => void;
};

export type NewReader<Leaf> = (push: (found: Found<Leaf>) => void) => Reader;

/** As many alternatives are looked into, and so deep. */
const MAX_ALTERNATIVES = 64;
const MAX_DEPTH = 3;
/** As many leaves of one sequence are asked for at once: the longest say most. */
const MAX_LEAVES = 4;
/** The weight of what lies in a group. */
const INNER_WEIGHT = 3;

/** Known characters: together so many say little, and a single condition with so many says much. */
const LITTLE = 4;
const MUCH = 5;

type Budget = { alternatives: number };

/** The condition that each text meets that holds a match of `tree`; null where there is none worth asking. */
export function requirementOf<Leaf>(tree: Tree, newReader: NewReader<Leaf>): Requirement<Leaf> | null {
  return derive(tree, newReader, { alternatives: MAX_ALTERNATIVES }, 0);
}

/**
 * The tree of an expression, which may be too large to be looked into: then null.
 * @throws RE2JSSyntaxException where it is no RE2 expression
 */
export function treeUnlessTooLarge(pattern: string): Tree | null {
  try {
    return parseTree(pattern);
  } catch (error) {
    if (error instanceof TreeTooLargeError) return null;
    throw error;
  }
}

function derive<Leaf>(tree: Tree, newReader: NewReader<Leaf>, budget: Budget, depth: number): Requirement<Leaf> | null {
  const found: Found<Leaf>[] = [];
  const reader = newReader((one) => found.push(one));
  for (const part of tree.kind === "concat" ? tree.parts : [tree]) {
    if (part.kind === "set") reader.take(part.ranges, 1, 1);
    else if (part.kind === "repeat" && part.part.kind === "set") reader.take(part.part.ranges, part.min, part.max);
    else if (part.kind === "assert") reader.assert(part.what);
    else {
      reader.end();
      const within = inner(part, newReader, budget, depth);
      if (within !== null) found.push(within);
    }
  }
  reader.end();
  return choose(found);
}

/** The condition of a part by itself, whatever stands beside it. */
function inner<Leaf>(part: Tree, newReader: NewReader<Leaf>, budget: Budget, depth: number): Found<Leaf> | null {
  if (depth >= MAX_DEPTH) return null;
  if (part.kind === "repeat") {
    const condition = part.min === 0 ? null : derive(part.part, newReader, budget, depth + 1);
    return condition === null ? null : { condition, weight: INNER_WEIGHT, weak: false };
  }
  if (part.kind !== "union") return null;
  budget.alternatives -= part.parts.length;
  if (budget.alternatives < 0) return null;
  const parts: Requirement<Leaf>[] = [];
  for (const alternative of part.parts) {
    const condition = derive(alternative, newReader, budget, depth + 1);
    if (condition === null) return null;
    parts.push(condition);
  }
  return { condition: { kind: "any", parts }, weight: INNER_WEIGHT, weak: false };
}

function choose<Leaf>(found: readonly Found<Leaf>[]): Requirement<Leaf> | null {
  const byWeight = withoutRepeats(found).toSorted((a, b) => b.weight - a.weight);
  const chosen = byWeight.filter(({ weak }) => !weak).slice(0, MAX_LEAVES);
  const weak = byWeight.find((each) => each.weak);
  if (weak !== undefined && (chosen.length === 0 || sayLittleBeside(chosen, weak))) chosen.push(weak);
  const conditions = chosen.map(({ condition }) => condition);
  return conditions.length > 1 ? { kind: "all", parts: conditions } : (conditions[0] ?? null);
}

/** `a1a2a` says of the letter `a` twice that it is there. */
function withoutRepeats<Leaf>(found: readonly Found<Leaf>[]): Found<Leaf>[] {
  return [...new Map(found.map((each) => [JSON.stringify(each.condition), each])).values()];
}

/** Whether looking up a dear condition costs less than reading all texts that the others find. */
function sayLittleBeside(some: readonly Found<unknown>[], { weight }: Found<unknown>): boolean {
  return weight >= MUCH && some.reduce((sum, each) => sum + each.weight - 1, 0) <= LITTLE;
}
