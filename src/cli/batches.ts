/**
 * Where a batch ends: at so many items, so many bytes (one larger item comes alone), or so long
 * after its first item.
 */
export type BatchBounds = { readonly items: number; readonly size_bytes: number; readonly age_ms: number };

/**
 * Gathers items into batches, in order. An item that stands for several, by `countOf`, is not
 * parted. While nobody asks for the next one, one item at most is read ahead. An item that comes
 * late does not hold up those before it; where the source fails, what it gave before comes first.
 */
export async function* batchesOf<T>(
  items: AsyncIterable<T>,
  sizeOf: (item: T) => number,
  bounds: BatchBounds,
  countOf: (item: T) => number = () => 1,
): AsyncGenerator<readonly T[]> {
  const source = items[Symbol.asyncIterator]();
  let batch: T[] = [];
  let size_bytes = 0;
  let count = 0;
  const ask = (): Promise<IteratorResult<T>> => {
    const answer = source.next();
    // It is waited for later, where it fails too, or never.
    answer.catch(() => {});
    return answer;
  };
  let next = ask();
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
      next = ask();
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
    // The source may be waiting for an item that never comes: nobody waits for it.
    source.return?.().catch(() => {});
  }
}

const DUE = Symbol("due");

function createTimer(ms?: number): { readonly promise: Promise<typeof DUE>; clear(): void } {
  const { promise, resolve } = Promise.withResolvers<typeof DUE>();
  const timer = ms === undefined ? undefined : setTimeout(() => resolve(DUE), ms);
  return { promise, clear: () => clearTimeout(timer) };
}
