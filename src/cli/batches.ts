/** Limits of a batch: items, bytes (a larger item is sent alone), and time since its first item. */
export type BatchBounds = { readonly items: number; readonly size_bytes: number; readonly age_ms: number };

/**
 * Groups items into batches, in order. An item that counts as several (`countOf`) is not split. At
 * most one item is read ahead of the consumer. A late item does not delay those before it; if the
 * source fails, items read before are yielded first.
 */
export async function* intoBatches<T>(
  items: AsyncIterable<T>,
  sizeOf: (item: T) => number,
  bounds: BatchBounds,
  countOf: (item: T) => number = () => 1,
): AsyncGenerator<readonly T[]> {
  const source = items[Symbol.asyncIterator]();
  let batch: T[] = [];
  let size_bytes = 0;
  let count = 0;
  const readNext = (): Promise<IteratorResult<T>> => {
    const answer = source.next();
    // The rejection is handled where the result is awaited, which may be never.
    answer.catch(() => {});
    return answer;
  };
  let next = readNext();
  let due = createTimer();
  try {
    for (;;) {
      const result = await (batch.length === 0 ? next : Promise.race([next, due.promise]));
      if (result === DUE) {
        yield batch;
        batch = [];
        continue;
      }
      if (result.done === true) break;
      const item = result.value;
      const size = sizeOf(item);
      const counted = countOf(item);
      if (batch.length > 0 && (size_bytes + size > bounds.size_bytes || count + counted > bounds.items)) {
        yield batch;
        batch = [];
      }
      if (batch.length === 0) {
        due.clear();
        due = createTimer(bounds.age_ms);
        size_bytes = 0;
        count = 0;
      }
      batch.push(item);
      count += counted;
      size_bytes += size;
      next = readNext();
      if (count >= bounds.items) {
        yield batch;
        batch = [];
      }
    }
    if (batch.length > 0) yield batch;
  } catch (error) {
    if (batch.length > 0) yield batch;
    throw error;
  } finally {
    due.clear();
    // The source may wait for an item that never comes, so its return is not awaited.
    source.return?.().catch(() => {});
  }
}

const DUE = Symbol("due");

function createTimer(ms?: number): { readonly promise: Promise<typeof DUE>; clear(): void } {
  const { promise, resolve } = Promise.withResolvers<typeof DUE>();
  const timer = ms === undefined ? undefined : setTimeout(() => resolve(DUE), ms);
  return { promise, clear: () => clearTimeout(timer) };
}
