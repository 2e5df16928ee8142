import { copyInSteps, forEachOf, sortInSteps, STEP_ITEMS } from "./steps.ts";
import type { Steps } from "./steps.ts";

/**
 * Aho–Corasick: one pass over a text finds which of many patterns it contains, whatever their
 * number.
 *
 * Several independent sets of patterns share one arena of typed arrays; set `s` has node `s` as its
 * root. Nodes are numbered breadth first, so that the children of a node lie side by side (ordered
 * by label), and the few nodes near the roots, where most of the time is spent, lie close together
 * in memory. A node costs 34 bytes, a pattern with its table at most half a kilobyte more, and the
 * tables near the roots 512 KB at most.
 *
 * Patterns and texts are compared by UTF-16 unit, which is by code point as long as both are
 * well-formed.
 */
export type Automaton = {
  /**
   * One pass over `text`, linear in its length and in what goes to `ids`.
   *
   * @param ids takes the ids of all patterns of `set` that `text` contains, each once, in no order;
   * null where nobody wants to know
   * @returns the least value below `bound` of the patterns of `set` that `text` contains, else
   * `bound`
   */
  search(set: number, text: string, bound: number, ids: number[] | null): number;
};

/** `text` is not empty, and no other pattern of the set has the same. */
export type Pattern = {
  readonly text: string;
  /** {@link NO_VALUE} for a pattern that is of interest for its id alone. */
  readonly value: number;
  /** -1 for none. */
  readonly id: number;
};

/** Greater than every value of a pattern. */
export const NO_VALUE = 0x7fffffff;

const ASCII = 128;

/** Nodes, entries of tables and sets that are handled in one step. */
const STEP_NODES = 8_192;
const STEP_SETS = 64;

/**
 * The arena. `fail` of a root is the root itself; `end` is the nearest node on the way of `fail`,
 * from the node itself on, that has an id, or -1.
 */
type Arena = {
  readonly roots: number;
  readonly firstChild: Int32Array;
  readonly label: Uint16Array;
  readonly fail: Int32Array;
  /** The least value of all patterns that end here, be they suffixes of one another. */
  readonly best: Int32Array;
  /** The id of the pattern that ends here, or -1. */
  readonly id: Int32Array;
  readonly end: Int32Array;
  /** The column of each ASCII unit in `table`; 0 for all that no pattern has. */
  readonly column: Uint8Array;
  /**
   * Where the row of a node starts in `table`, or -1. The first nodes and all with several children
   * have a row: it says for each ASCII unit where to go, whether by a child or by failing on. Of
   * the latter there is at most one for each pattern and set, and nearly all steps start or end at
   * a row.
   */
  readonly row: Int32Array;
  readonly table: Int32Array;
  /** The nodes that have a row, in order. */
  readonly rowed: readonly number[];
};

/** The arena before it has tables. */
type Trie = Omit<Arena, "column" | "row" | "table" | "rowed">;

/**
 * Compiles sets of patterns; the set's index is its name in {@link Automaton}. Linear in the sum of
 * all lengths, but for sorting.
 * @param near how many entries the tables of nodes near the roots may have: 512 KB unless given
 */
export function* compileAutomaton(sets: readonly (readonly Pattern[])[], near = NEAR_SIZE): Steps<Automaton> {
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

  /** Where one pattern was seen in this pass, so were all shorter ones that end with it. */
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
      // Where the pass stands: at the row of a node, or, if that is not negative, at a node without one.
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
 * What a pass needs to know of nearly all nodes: where the row starts. The complement of the node
 * where a pattern ends there, or where it has no row.
 */
function codeOf({ best, end, row }: Arena, node: number): number {
  const isPlain = row[node]! >= 0 && best[node] === NO_VALUE && end[node]! < 0;
  return isPlain ? row[node]! : ~node;
}

/** The longest beginning of any pattern that ends with `unit`, given the longest that ended before it. */
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
 * Lays the nodes out level by level. A node of depth d stands for a run of the sorted patterns of
 * its set that share their first d units.
 */
function* layOut(sets: readonly (readonly Pattern[])[]): Steps<Trie> {
  const patterns: Pattern[] = [];
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
  /** Nodes and patterns since the last step ended. */
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
      // A pattern that ends with this unit sorts first in the run: it makes the child what it is
      // and has no part in its children.
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

/** Nodes of the trie, which cost more than others, and patterns in their runs. */
const STEP_TRIE = 1_024;

/** Fills in what a node inherits from the suffix that it fails to, which lies nearer to the root and is finished. */
function finish(arena: Trie, node: number): void {
  if (node < arena.roots) return;
  const suffix = arena.fail[node]!;
  arena.best[node] = Math.min(arena.best[node]!, arena.best[suffix]!);
  arena.end[node] = arena.id[node]! < 0 ? arena.end[suffix]! : node;
}

/** Where the child of `parent` by `unit` goes when none of its own children fits. */
function failOf(arena: Trie, parent: number, unit: number): number {
  let node = parent;
  while (node >= arena.roots) {
    node = arena.fail[node]!;
    const child = childOf(arena, node, unit);
    if (child >= 0) return child;
  }
  return node;
}

function* trim(arena: Trie, count: number): Steps<Trie> {
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

function* withTables(trie: Trie, nearSize: number): Steps<Arena> {
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
  // Level by level, so that the row of whatever a node fails to is there before its own.
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

/** By UTF-16 unit, so that patterns with a common beginning lie side by side, the shorter first. */
function byText(a: Pattern, b: Pattern): number {
  return a.text < b.text ? -1 : 1;
}
