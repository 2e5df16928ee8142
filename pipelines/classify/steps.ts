/**
 * Work in steps, each of some tenths of a millisecond at most. The caller of the generator may run
 * other work between steps. Steps are bounded by numbers of items, never by time.
 */
export type ClassifySteps<T> = Generator<void, T, void>;

/** Number of items handled in one step if each costs little more than a comparison. */
export const STEP_ITEMS = 512;

/** Runs all steps at once. */
export function finish<T>(steps: ClassifySteps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Calls `handle` for each of `count` indexes, `inStep` of them per step. */
export function* forEachOf(count: number, handle: (index: number) => void, inStep = STEP_ITEMS): ClassifySteps<void> {
  for (let index = 0; index < count;) {
    const end = Math.min(index + inStep, count);
    for (; index < end; index++) handle(index);
    if (end < count) yield;
  }
}

/** Ends the step if the operation before it handled many items at once. */
export function* endStepAfter(count: number): ClassifySteps<void> {
  if (count > STEP_ITEMS) yield;
}

/** Groups items as `Map.groupBy` does. */
export function* groupInSteps<K, T>(items: readonly T[], keyOf: (item: T) => K): ClassifySteps<Map<K, T[]>> {
  const groups = new Map<K, T[]>();
  yield* forEachOf(items.length, (i) => {
    const item = items[i]!;
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  });
  return groups;
}

/** Sorts as `toSorted` does, by sorting runs and merging them. */
export function* sortInSteps<T>(items: readonly T[], compare: (a: T, b: T) => number): ClassifySteps<readonly T[]> {
  const RUN = 128;
  if (items.length <= RUN) return items.toSorted(compare);
  let from: T[] = [];
  yield* forEachOf(
    Math.ceil(items.length / RUN),
    (run) => from.push(...items.slice(run * RUN, (run + 1) * RUN).toSorted(compare)),
    2,
  );
  let to = Array.from(from);
  for (let length = RUN; length < items.length; length *= 2) {
    for (let start = 0; start < items.length; start += 2 * length) {
      yield* merge({ from, to, start, length, compare });
      yield;
    }
    [from, to] = [to, from];
  }
  return from;
}

/** Merges the run at `start` with the next one; equal items of the first run come first. */
function* merge<T>(runs: {
  readonly from: readonly T[];
  readonly to: T[];
  readonly start: number;
  readonly length: number;
  readonly compare: (a: T, b: T) => number;
}): ClassifySteps<void> {
  const { from, to, start, length, compare } = runs;
  const middle = Math.min(start + length, from.length);
  const end = Math.min(middle + length, from.length);
  let left = start;
  let right = middle;
  yield* forEachOf(end - start, (i) => {
    const takesLeft = left < middle && (right >= end || compare(from[left]!, from[right]!) <= 0);
    to[start + i] = takesLeft ? from[left++]! : from[right++]!;
  });
}

type Numbers = Int32Array | Uint16Array;

/** Copies the first `count` numbers. */
export function* copyInSteps<T extends Numbers>(source: T, count: number): ClassifySteps<T> {
  const PIECE = 32_768;
  const copy = new (source.constructor as new (length: number) => T)(count);
  for (let at = 0; at < count; at += PIECE) {
    copy.set(source.subarray(at, Math.min(at + PIECE, count)), at);
    yield;
  }
  return copy;
}
