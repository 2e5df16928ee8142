/** Does pieces of long work one after the other, each from its begin to its end. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * For work that pauses, so that others have their turn: many such at a time would fill each pause
 * of one with the work of all others, and hold up everybody for as long as if none had paused.
 */
export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return async (work) => {
    const done = last.then(work);
    last = done.catch(() => {});
    return await done;
  };
}
