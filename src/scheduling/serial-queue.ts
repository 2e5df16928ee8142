/** Runs long tasks one after the other, each from start to end. */
export type SerialQueue = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Creates a queue for tasks that yield. Without it, many such tasks would fill each other's pauses,
 * and block everything else as if none had yielded.
 */
export function createSerialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve();
  return async (work) => {
    const done = last.then(work);
    last = done.catch(() => {});
    return await done;
  };
}
