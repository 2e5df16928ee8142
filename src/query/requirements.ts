import { parseTree, TreeTooLargeError } from "./regex/tree.ts";
import type { AssertionKind, Tree } from "./regex/tree.ts";

/**
 * A condition that an index of texts can check first: every text that a regular expression matches
 * meets it. The index defines the leaves.
 */
export type Requirement<Leaf> = { readonly kind: "all" | "any"; readonly parts: readonly Requirement<Leaf>[] } | Leaf;

/**
 * A condition found, with its weight; those of the greatest weight are kept. `weak`: expensive to
 * look up, but better than none.
 */
export type WeightedRequirement<Leaf> = {
  readonly condition: Requirement<Leaf>;
  readonly weight: number;
  readonly weak: boolean;
};

/** Reads the parts of a sequence in order, and pushes the conditions that it finds. */
export type SequenceReader = {
  /** One of these code points, `min` to `max` times. Ranges are those of a tree. */
  readonly take: (ranges: readonly number[], min: number, max: number | null) => void;
  readonly assert: (what: AssertionKind) => void;
  /** An unknown part follows, or the sequence ends. */
  readonly end: () => void;
};

export type NewSequenceReader<Leaf> = (push: (found: WeightedRequirement<Leaf>) => void) => SequenceReader;

/** Limits of the alternatives and the depth examined. */
const MAX_ALTERNATIVES = 64;
const MAX_DEPTH = 3;
/** Most leaves used of one sequence; those of greatest weight are the most selective. */
const MAX_LEAVES = 4;
/** Weight of a condition from a group. */
const INNER_WEIGHT = 3;

/**
 * Numbers of known characters: a sum up to UNSELECTIVE_CHARACTERS is unselective, a weak condition
 * from SELECTIVE_CHARACTERS on is selective.
 */
const UNSELECTIVE_CHARACTERS = 4;
const SELECTIVE_CHARACTERS = 5;

type Budget = { alternatives: number };

/** Returns a condition met by each text with a match of `tree`; null if none is worth checking. */
export function regexRequirement<Leaf>(
  tree: Tree,
  newSequenceReader: NewSequenceReader<Leaf>,
): Requirement<Leaf> | null {
  return derive(tree, newSequenceReader, { alternatives: MAX_ALTERNATIVES }, 0);
}

/**
 * Returns the tree of an expression, or null if it is too large.
 * @throws RE2JSSyntaxException if it is not an RE2 expression
 */
export function treeUnlessTooLarge(pattern: string): Tree | null {
  try {
    return parseTree(pattern);
  } catch (error) {
    if (error instanceof TreeTooLargeError) return null;
    throw error;
  }
}

function derive<Leaf>(
  tree: Tree,
  newSequenceReader: NewSequenceReader<Leaf>,
  budget: Budget,
  depth: number,
): Requirement<Leaf> | null {
  const found: WeightedRequirement<Leaf>[] = [];
  const reader = newSequenceReader((one) => found.push(one));
  for (const part of tree.kind === "concat" ? tree.parts : [tree]) {
    if (part.kind === "set") reader.take(part.ranges, 1, 1);
    else if (part.kind === "repeat" && part.part.kind === "set") reader.take(part.part.ranges, part.min, part.max);
    else if (part.kind === "assert") reader.assert(part.what);
    else {
      reader.end();
      const within = inner(part, newSequenceReader, budget, depth);
      if (within !== null) found.push(within);
    }
  }
  reader.end();
  return choose(found);
}

/** Returns the condition of a part, independent of its neighbours. */
function inner<Leaf>(
  part: Tree,
  newSequenceReader: NewSequenceReader<Leaf>,
  budget: Budget,
  depth: number,
): WeightedRequirement<Leaf> | null {
  if (depth >= MAX_DEPTH) return null;
  if (part.kind === "repeat") {
    const condition = part.min === 0 ? null : derive(part.part, newSequenceReader, budget, depth + 1);
    return condition === null ? null : { condition, weight: INNER_WEIGHT, weak: false };
  }
  if (part.kind !== "union") return null;
  budget.alternatives -= part.parts.length;
  if (budget.alternatives < 0) return null;
  const parts: Requirement<Leaf>[] = [];
  for (const alternative of part.parts) {
    const condition = derive(alternative, newSequenceReader, budget, depth + 1);
    if (condition === null) return null;
    parts.push(condition);
  }
  return { condition: { kind: "any", parts }, weight: INNER_WEIGHT, weak: false };
}

function choose<Leaf>(found: readonly WeightedRequirement<Leaf>[]): Requirement<Leaf> | null {
  const byWeight = withoutRepeats(found).toSorted((a, b) => b.weight - a.weight);
  const chosen = byWeight.filter(({ weak }) => !weak).slice(0, MAX_LEAVES);
  const weak = byWeight.find((each) => each.weak);
  if (weak !== undefined && (chosen.length === 0 || isWorthAdding(chosen, weak))) chosen.push(weak);
  const conditions = chosen.map(({ condition }) => condition);
  return conditions.length > 1 ? { kind: "all", parts: conditions } : (conditions[0] ?? null);
}

/** Removes duplicates: `a1a2a` requires the letter `a` twice. */
function withoutRepeats<Leaf>(found: readonly WeightedRequirement<Leaf>[]): WeightedRequirement<Leaf>[] {
  return [...new Map(found.map((each) => [JSON.stringify(each.condition), each])).values()];
}

/** Returns whether looking up a weak condition costs less than reading what the others find. */
function isWorthAdding(
  some: readonly WeightedRequirement<unknown>[],
  { weight }: WeightedRequirement<unknown>,
): boolean {
  return (
    weight >= SELECTIVE_CHARACTERS && some.reduce((sum, each) => sum + each.weight - 1, 0) <= UNSELECTIVE_CHARACTERS
  );
}
