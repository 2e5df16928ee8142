import { copyInSteps, forEachOf, sortInSteps, STEP_ITEMS } from "./steps.ts";
import type { ClassifySteps } from "./steps.ts";

/**
 * Aho–Corasick automaton: finds which of many patterns a text contains in one pass.
 *
 * Several independent sets of patterns share one arena of typed arrays; the root of set `s` is node
 * `s`. Nodes are numbered breadth first, so that the children of a node are adjacent (ordered by
 * label) and the few nodes near the roots, where most time is spent, are close together in memory.
 * A node costs 34 bytes, a pattern with its table at most half a kilobyte more, and the tables near
 * the roots at most 512 KB.
 *
 * Patterns and texts are compared by UTF-16 unit, which equals comparing by code point if both are
 * well-formed.
 */
export type Automaton = {
  /**
   * Searches `text` in one pass, in time linear in its length and the number of ids added.
   *
   * @param ids receives the ids of all patterns of `set` that `text` contains, each once,
   * unordered; null if the caller needs none
   * @returns the least value below `bound` of the patterns of `set` that `text` contains, else
   * `bound`
   */
  search(set: number, text: string, bound: number, ids: number[] | null): number;
};

/** A pattern. `text` is not empty and is unique in its set. */
export type AutomatonPattern = {
  readonly text: string;
  /** {@link NO_VALUE} if only the id of the pattern is of interest. */
  readonly value: number;
  /** -1 for none. */
  readonly id: number;
};

/** Greater than every value of a pattern. */
export const NO_VALUE = 0x7fffffff;

const ASCII = 128;

/** Numbers of nodes or table entries, and of sets, handled in one step. */
const STEP_NODES = 8_192;
const STEP_SETS = 64;

/**
 * Nodes of all sets. `fail` of a root is the root itself. `end` is the first node with an id on the
 * chain of `fail` links, including the node itself, or -1.
 */
type Arena = {
  readonly roots: number;
  readonly firstChild: Int32Array;
  readonly label: Uint16Array;
  readonly fail: Int32Array;
  /** Least value of all patterns that end at the node, including suffixes of other patterns. */
  readonly best: Int32Array;
  /** Id of the pattern that ends at the node, or -1. */
  readonly id: Int32Array;
  readonly end: Int32Array;
  /** Column of each ASCII unit in `table`; 0 for units that no pattern contains. */
  readonly column: Uint8Array;
  /**
   * Start of a node's row in `table`, or -1. The first nodes and all nodes with several children
   * have a row, which holds the next node for each ASCII unit, by a child or by `fail` links. Each
   * pattern and set adds at most one node with several children. Nearly all steps start or end at a
   * row.
   */
  readonly row: Int32Array;
  readonly table: Int32Array;
  /** Nodes that have a row, in order. */
  readonly rowed: readonly number[];
};

/** Arena without tables. */
type Trie = Omit<Arena, "column" | "row" | "table" | "rowed">;

/**
 * Compiles sets of patterns; a set's index identifies it in {@link Automaton}. Apart from sorting,
 * linear in the sum of all lengths.
 * @param near maximum number of table entries of nodes near the roots; the default takes 512 KB
 */
export function* compileAutomaton(
  sets: readonly (readonly AutomatonPattern[])[],
  near = NEAR_SIZE,
): ClassifySteps<Automaton> {
  const arena = yield* withTables(yield* layOut(sets), near);
  const { fail, best, id, end, column, row, rowed } = arena;
  const width = arena.table.length / Math.max(rowed.length, 1);
  const codes = new Int32Array(row.length);
  yield* forEachOf(row.length, (node) => void (codes[node] = codeOf(arena, node)), STEP_NODES);
  const table = new Int32Array(arena.table.length);
  yield* forEachOf(table.length, (at) => void (table[at] = codes[arena.table[at]!]!), STEP_NODES);
  const seen = new Uint32Array(best.length);
  const floors: number[] = [];
  for (const set of sets) {
    floors.push(set.reduce((floor, { value }) => Math.min(floor, value), NO_VALUE));
    if (floors.length % STEP_SETS === 0 || set.length > STEP_ITEMS) yield;
  }
  let pass = 0;

  /** Collects ids. If a pattern was seen in this pass, so were all shorter ones it ends with. */
  function collect(node: number, ids: number[]): void {
    for (let at = node; at >= 0 && seen[at] !== pass; at = end[fail[at]!]!) {
      seen[at] = pass;
      ids.push(id[at]!);
    }
  }

  return {
    search(set, text, bound, ids) {
      pass = pass === 0xffffffff ? 1 : pass + 1;
      if (pass === 1) seen.fill(0);
      const floor = floors[set]!;
      let found = bound;
      // Current place: the row `at` of a node, or, if `node` is not negative, a node without a row.
      let at = row[set]!;
      let node = -1;
      for (let i = 0; i < text.length; i++) {
        const unit = text.charCodeAt(i);
        let code: number;
        if (node < 0 && unit < ASCII) code = table[at + column[unit]!]!;
        else code = codes[step(arena, node < 0 ? rowed[at / width]! : node, unit)]!;
        if (code >= 0) {
          at = code;
          node = -1;
          continue;
        }
        const reached = ~code;
        at = row[reached]!;
        node = at < 0 ? reached : -1;
        if (ids !== null && end[reached]! >= 0) collect(end[reached]!, ids);
        if (best[reached]! < found) {
          found = best[reached]!;
          if (found === floor && ids === null) break;
        }
      }
      return found;
    },
  };
}

/**
 * Encodes what a pass needs to know of nearly all nodes: the start of the row, or the complement of
 * the node if a pattern ends there or it has no row.
 */
function codeOf({ best, end, row }: Arena, node: number): number {
  const isPlain = row[node]! >= 0 && best[node] === NO_VALUE && end[node]! < 0;
  return isPlain ? row[node]! : ~node;
}

/** Returns the node of the longest pattern prefix that ends with `unit`, given the last node. */
function step(arena: Arena, from: number, unit: number): number {
  const { column, row, table, fail, roots } = arena;
  let node = from;
  for (;;) {
    if (unit < ASCII && row[node]! >= 0) return table[row[node]! + column[unit]!]!;
    const child = childOf(arena, node, unit);
    if (child >= 0) return child;
    if (node < roots) return node;
    node = fail[node]!;
  }
}

function childOf(arena: Pick<Arena, "firstChild" | "label">, node: number, unit: number): number {
  let low = arena.firstChild[node]!;
  let high = arena.firstChild[node + 1]!;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const label = arena.label[middle]!;
    if (label === unit) return middle;
    if (label < unit) low = middle + 1;
    else high = middle;
  }
  return -1;
}

/**
 * Lays out the nodes level by level. A node of depth d represents a run of the sorted patterns of
 * its set that share their first d units.
 */
function* layOut(sets: readonly (readonly AutomatonPattern[])[]): ClassifySteps<Trie> {
  const patterns: AutomatonPattern[] = [];
  for (const [i, set] of sets.entries()) {
    const sorted = yield* sortInSteps(set, byText);
    yield* forEachOf(sorted.length, (at) => patterns.push(sorted[at]!));
    if (i % STEP_SETS === 0) yield;
  }
  const limit = patterns.reduce((sum, pattern) => sum + pattern.text.length, sets.length);
  const arena = {
    roots: sets.length,
    firstChild: new Int32Array(limit + 1),
    label: new Uint16Array(limit),
    fail: new Int32Array(limit),
    best: new Int32Array(limit),
    id: new Int32Array(limit),
    end: new Int32Array(limit),
  };
  const runStart = new Int32Array(limit);
  const runEnd = new Int32Array(limit);
  let start = 0;
  sets.forEach((set, root) => {
    runStart[root] = start;
    start += set.length;
    runEnd[root] = start;
    arena.fail[root] = root;
    arena.best[root] = NO_VALUE;
    arena.id[root] = -1;
    arena.end[root] = -1;
  });

  let count = sets.length;
  let depth = 0;
  let levelEnd = count;
  /** Nodes and patterns handled since the last step ended. */
  let handled = 0;
  for (let node = 0; node < count; node++) {
    if (handled >= STEP_TRIE) {
      handled = 0;
      yield;
    }
    if (node === levelEnd) {
      depth += 1;
      levelEnd = count;
    }
    arena.firstChild[node] = count;
    finish(arena, node);
    let at = runStart[node]!;
    const to = runEnd[node]!;
    handled += 1 + to - at;
    while (at < to) {
      const unit = patterns[at]!.text.charCodeAt(depth);
      const child = count++;
      runStart[child] = at;
      arena.label[child] = unit;
      arena.fail[child] = failOf(arena, node, unit);
      arena.best[child] = NO_VALUE;
      arena.id[child] = -1;
      arena.end[child] = -1;
      // A pattern that ends with this unit sorts first in the run. It sets the values of the child
      // and contributes nothing to the child's children.
      if (patterns[at]!.text.length === depth + 1) {
        arena.best[child] = patterns[at]!.value;
        arena.id[child] = patterns[at]!.id;
        at += 1;
        runStart[child] = at;
      }
      while (at < to && patterns[at]!.text.charCodeAt(depth) === unit) at += 1;
      runEnd[child] = at;
    }
    arena.firstChild[node + 1] = count;
  }
  return yield* trim(arena, count);
}

/** Number of trie nodes and patterns in their runs per step; they cost more than other items. */
const STEP_TRIE = 1_024;

/** Copies what a node inherits from its `fail` node, which is nearer to the root and finished. */
function finish(arena: Trie, node: number): void {
  if (node < arena.roots) return;
  const suffix = arena.fail[node]!;
  arena.best[node] = Math.min(arena.best[node]!, arena.best[suffix]!);
  arena.end[node] = arena.id[node]! < 0 ? arena.end[suffix]! : node;
}

/** Returns the `fail` node of the child of `parent` by `unit`. */
function failOf(arena: Trie, parent: number, unit: number): number {
  let node = parent;
  while (node >= arena.roots) {
    node = arena.fail[node]!;
    const child = childOf(arena, node, unit);
    if (child >= 0) return child;
  }
  return node;
}

function* trim(arena: Trie, count: number): ClassifySteps<Trie> {
  return {
    roots: arena.roots,
    firstChild: yield* copyInSteps(arena.firstChild, count + 1),
    label: yield* copyInSteps(arena.label, count),
    fail: yield* copyInSteps(arena.fail, count),
    best: yield* copyInSteps(arena.best, count),
    id: yield* copyInSteps(arena.id, count),
    end: yield* copyInSteps(arena.end, count),
  };
}

const NEAR_SIZE = 131_072;

function* withTables(trie: Trie, nearSize: number): ClassifySteps<Arena> {
  const { firstChild, label, fail, roots } = trie;
  const column = new Uint8Array(ASCII);
  const has = new Uint8Array(ASCII);
  yield* forEachOf(
    label.length - roots,
    (i) => {
      const unit = label[roots + i]!;
      if (unit < ASCII) has[unit] = 1;
    },
    STEP_NODES,
  );
  const units = Array.from(has.keys()).filter((unit) => has[unit] === 1);
  units.forEach((unit, i) => (column[unit] = i + 1));
  const width = units.length + 1;

  const row = new Int32Array(label.length);
  const near = Math.max(roots, Math.floor(nearSize / width));
  const rowed: number[] = [];
  yield* forEachOf(
    label.length,
    (node) => {
      row[node] = -1;
      if (node < near || firstChild[node + 1]! - firstChild[node]! > 1) rowed.push(node);
    },
    STEP_NODES,
  );
  const arena = { ...trie, column, row, rowed, table: new Int32Array(width * rowed.length) };
  // Level by level, so that the row of a node's `fail` node is filled before the node's own.
  const fill = (i: number): void => {
    const node = rowed[i]!;
    const start = width * i;
    arena.table[start] = rootOf(trie, node);
    for (const unit of units) {
      arena.table[start + column[unit]!] = node < roots ? node : step(arena, fail[node]!, unit);
    }
    for (let child = firstChild[node]!; child < firstChild[node + 1]!; child++) {
      if (label[child]! < ASCII) arena.table[start + column[label[child]!]!] = child;
    }
    row[node] = start;
  };
  yield* forEachOf(rowed.length, fill, Math.max(1, Math.floor(STEP_NODES / width / 4)));
  return arena;
}

function rootOf({ roots, fail }: Trie, node: number): number {
  let at = node;
  while (at >= roots) at = fail[at]!;
  return at;
}

/** Compares by UTF-16 unit: patterns with a common prefix are adjacent, shorter ones first. */
function byText(a: AutomatonPattern, b: AutomatonPattern): number {
  return a.text < b.text ? -1 : 1;
}
