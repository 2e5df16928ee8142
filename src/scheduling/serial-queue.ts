import { LoggiaError } from "../errors.ts";

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

/** Longest queue of one id. */
const MAX_QUEUED = 1000;

/** Creates a queue for each id. @throws LoggiaError `overloaded` if too many changes of one wait */
export function createKeyedQueue(): <T>(id: string, work: () => Promise<T>) => Promise<T> {
  const queues = new Map<string, { last: Promise<unknown>; length: number }>();
  return async (id, work) => {
    const queue = queues.get(id) ?? { last: Promise.resolve(), length: 0 };
    if (queue.length >= MAX_QUEUED)
      throw new LoggiaError("overloaded", "Too many changes of the same record are queued");
    const turn = queue.last.then(work);
    queue.last = turn.catch(() => {});
    queue.length += 1;
    queues.set(id, queue);
    try {
      return await turn;
    } finally {
      queue.length -= 1;
      if (queue.length === 0) queues.delete(id);
    }
  };
}
