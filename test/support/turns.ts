/** Returns how many turns of the event loop pass while `work` runs. */
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

/** The processor time of this thread, in milliseconds. */
export function busy_ms(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/**
 * Runs work and returns the longest time for which it blocked the event loop, in milliseconds of
 * processor time, so that time used by other processes does not count.
 */
export async function longestHold_ms<T>(work: () => Promise<T>): Promise<{ longest_ms: number; answer: T }> {
  let longest_ms = 0;
  let last_ms = busy_ms();
  let isOver = false;
  const look = (): void => {
    const now_ms = busy_ms();
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

/**
 * Runs work until it blocks the event loop for less than a limit, at most five times, and returns
 * the shortest of the longest blocks, in milliseconds of processor time. Compilation or garbage
 * collection may delay a single attempt, but not all five.
 */
export async function holdOfBest_ms(limit_ms: number, work: () => Promise<unknown>): Promise<number> {
  let best_ms = Infinity;
  for (let attempt = 0; attempt < 5 && best_ms >= limit_ms; attempt++) {
    best_ms = Math.min(best_ms, (await longestHold_ms(work)).longest_ms);
  }
  return best_ms;
}

/**
 * Runs work until it takes less than `limit_ms`, at most five times, and returns the shortest time
 * in milliseconds.
 * @param work returns its time if only a part of it counts
 */
export async function bestOf_ms(limit_ms: number, work: () => Promise<number | void> | number | void): Promise<number> {
  // Compilation, garbage collection and a busy machine may delay a single attempt.
  let best_ms = Infinity;
  for (let attempt = 0; attempt < 5 && best_ms >= limit_ms; attempt++) {
    const start_ms = performance.now();
    const took_ms = await work();
    best_ms = Math.min(best_ms, took_ms ?? performance.now() - start_ms);
  }
  return best_ms;
}
