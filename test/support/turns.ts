/** How many turns others have while `work` is done. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  try {
    await work();
  } finally {
    isOver = true;
  }
  return turns;
}

/** Does work, and tells for how long others had no turn at most, in milliseconds. */
export async function longestHold_ms<T>(work: () => Promise<T>): Promise<{ longest_ms: number; answer: T }> {
  let longest_ms = 0;
  let last_ms = performance.now();
  let isOver = false;
  const look = (): void => {
    const now_ms = performance.now();
    longest_ms = Math.max(longest_ms, now_ms - last_ms);
    last_ms = now_ms;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  try {
    const answer = await work();
    look();
    return { longest_ms, answer };
  } finally {
    isOver = true;
  }
}
