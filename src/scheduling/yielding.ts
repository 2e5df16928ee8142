import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";

type Compare<T> = (a: T, b: T) => number;

/** Items that are sorted without a pause, however long it takes to compare them. */
const RUN_ITEMS = 256;
/** Items between two looks at the clock, if each is a short step. */
const CHECK_ITEMS = 32;
/** Items after which mapping and merging pause in any case. */
const TURN_ITEMS = 2_048;
/** Units of a text after which it is passed on. */
const PIECE_UNITS = 256 * 1024;

/** Time after which pieces of work that follow each other pause while requests arrive. */
const PATIENCE_MS = 50;
/** Time without a piece of work after which the next one begins anew. */
const PAUSE_MS = 20;
/** Length of a piece of such work, and of the pause after it. */
const [SHORT_HOLD_MS, IDLE_MS] = [1, 1];

/** A kind of work, whose pieces take turns of the event loop, each one of its own. */
export class WorkKind {
  readonly #longHold_ms: number;
  readonly #isUnderLoad: () => boolean;
  #last: Promise<void> = Promise.resolve();
  #began_ms = -Infinity;
  #latest_ms = -Infinity;
  #hold_ms: number;

  /** @param isUnderLoad whether requests arrive for which long work pauses. Default: never */
  constructor(hold_ms: number, isUnderLoad = () => false) {
    this.#longHold_ms = this.#hold_ms = hold_ms;
    this.#isUnderLoad = isUnderLoad;
  }

  /** How long the work may hold the thread between turns. */
  get hold_ms(): number {
    return this.#hold_ms;
  }

  /** Waits for the next turn that is not taken. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => this.#turn());
    return this.#last;
  }

  async #turn(): Promise<void> {
    const now_ms = performance.now();
    if (now_ms - this.#latest_ms > PAUSE_MS) this.#began_ms = now_ms;
    const isPolite = now_ms - this.#began_ms > PATIENCE_MS && this.#isUnderLoad();
    this.#hold_ms = isPolite ? SHORT_HOLD_MS : this.#longHold_ms;
    // A request needs several turns of the event loop, in which no piece runs meanwhile.
    await (isPolite ? sleep(IDLE_MS) : turn());
    this.#latest_ms = performance.now();
  }
}

/**
 * Yields between steps of unpredictable length: a regular expression may take a hundred
 * milliseconds for one text. In each turn of the event loop, one such step runs in the process.
 */
export class Yielder {
  readonly #kind: WorkKind;
  readonly #check: () => void;
  #began_ms = performance.now();

  /** @param check called after each turn; throws if the work is no longer wanted */
  constructor(kind: WorkKind, check: () => void = () => {}) {
    this.#kind = kind;
    this.#check = check;
  }

  /** Whether it is time for a {@link turn}. */
  get isDue(): boolean {
    return performance.now() - this.#began_ms > this.#kind.hold_ms;
  }

  async turn(): Promise<void> {
    await this.#kind.next();
    this.#check();
    this.#began_ms = performance.now();
  }
}

/** Length of input, in bytes or units, that is read in well under a millisecond. */
const SHORT_LENGTH = 4 * 1024;

/** Whether input is so long that it is read in a turn of its own. */
export function needsOwnTurn(length: number): boolean {
  return length > SHORT_LENGTH;
}

/**
 * Waits for a turn of the event loop in which no other such input is read. Without it, all that
 * arrives together would be read before anything else.
 */
export async function ownTurn(kind: WorkKind): Promise<void> {
  await kind.next();
}

/**
 * Sorts stably, yielding in between: sorts runs, then merges them. Sorting a hundred thousand long
 * texts at once would block the process for a second.
 */
export async function sortYielding<T>(items: readonly T[], compare: Compare<T>, kind: WorkKind): Promise<T[]> {
  const yielder = new Yielder(kind);
  let runs: T[][] = [];
  for (let from = 0; from < items.length; from += RUN_ITEMS) {
    if (yielder.isDue || (from > 0 && from % TURN_ITEMS === 0)) await yielder.turn();
    runs.push(items.slice(from, from + RUN_ITEMS).sort(compare));
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let i = 0; i < runs.length; i += 2) merged.push(await merge(runs[i]!, runs[i + 1] ?? [], compare, yielder));
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge<T>(left: readonly T[], right: readonly T[], compare: Compare<T>, yielder: Yielder): Promise<T[]> {
  const merged: T[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    if (isPause(merged.length, yielder)) await yielder.turn();
    const isLeft = j === right.length || (i < left.length && compare(left[i]!, right[j]!) <= 0);
    merged.push(isLeft ? left[i++]! : right[j++]!);
  }
  return merged;
}

/** Maps each item, yielding in between. */
export async function mapYielding<T, U>(items: Iterable<T>, of: (item: T) => U, kind: WorkKind): Promise<U[]> {
  const yielder = new Yielder(kind);
  const made: U[] = [];
  for (const item of items) if (isPause(made.push(of(item)), yielder)) await yielder.turn();
  return made;
}

/** Whether work on many items should pause after this many. */
function isPause(done: number, yielder: Yielder): boolean {
  return done % CHECK_ITEMS === 0 && done > 0 && (done % TURN_ITEMS === 0 || yielder.isDue);
}

/** Keeps the items that meet a condition, yielding in between. */
export async function filterYielding<T>(
  items: readonly T[],
  isKept: (item: T) => boolean,
  kind: WorkKind,
): Promise<T[]> {
  const kept = await mapYielding(items, isKept, kind);
  return items.filter((_, i) => kept[i]);
}

/**
 * Writes items as text, each in one part or more, in pieces of bounded size, yielding in between.
 * @param yielder of all pages of a text, as each may be too short to yield
 */
export async function* writeYielding<T>(
  items: Iterable<T>,
  write: (item: T) => Iterable<string>,
  yielder: Yielder,
): AsyncGenerator<string> {
  let piece = "";
  for (const item of items) {
    for (const part of write(item)) {
      piece += part;
      const { isDue } = yielder;
      if (piece.length < PIECE_UNITS && !isDue) continue;
      yield piece;
      piece = "";
      if (isDue) await yielder.turn();
    }
  }
  if (piece !== "") yield piece;
}
