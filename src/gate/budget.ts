import { LoggiaError } from "../errors.ts";

export type BudgetOptions = {
  /** How many pieces of work one caller, and all together, may have running. */
  readonly perCaller: number;
  readonly total: number;
  /** How many more one caller, and all together, may have waiting. */
  readonly waitingPerCaller: number;
  readonly waitingTotal: number;
  /** How long a piece of work may wait. */
  readonly wait_ms: number;
};

/** A share of the work that a process does at a time, for each caller and for all. */
export type Budget = {
  /**
   * Does `work` as soon as there is room: first come, first served, but nobody waits for a caller who has used up what is theirs.
   * @throws LoggiaError `too_many_requests` where the caller's own work is in the way; `overloaded` where everybody's is
   */
  run<T>(caller: string, work: () => Promise<T>): Promise<T>;
  readonly running: number;
  readonly waiting: number;
};

type Share = { running: number; waiting: number };
type Waiting = { readonly share: Share; readonly start: () => void };

export function createBudget(options: BudgetOptions): Budget {
  const { perCaller, total, waitingPerCaller, waitingTotal, wait_ms } = options;
  const shares = new Map<string, Share>();
  const queue = new Set<Waiting>();
  let running = 0;

  const hasRoom = (share: Share): boolean => running < total && share.running < perCaller;

  function refuse(share: Share): LoggiaError {
    return share.running >= perCaller
      ? new LoggiaError(
          "too_many_requests",
          `You have ${perCaller} queries running and more waiting; let some end before you ask more`,
        )
      : new LoggiaError("overloaded", "Too many queries are running; try again shortly");
  }

  function waitForRoom(share: Share): Promise<void> {
    if (share.waiting >= waitingPerCaller || queue.size >= waitingTotal) return Promise.reject(refuse(share));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      clearTimeout(timer);
      queue.delete(waiting);
      share.waiting -= 1;
    };
    const waiting: Waiting = {
      share,
      start() {
        leave();
        enter(share);
        resolve();
      },
    };
    const timer = setTimeout(() => {
      leave();
      reject(refuse(share));
    }, wait_ms);
    share.waiting += 1;
    queue.add(waiting);
    return promise;
  }

  function enter(share: Share): void {
    running += 1;
    share.running += 1;
  }

  function leave(share: Share): void {
    running -= 1;
    share.running -= 1;
    for (const waiting of queue) {
      if (running >= total) return;
      if (hasRoom(waiting.share)) waiting.start();
    }
  }

  return {
    async run(caller, work) {
      let share = shares.get(caller);
      if (share === undefined) shares.set(caller, (share = { running: 0, waiting: 0 }));
      try {
        if (hasRoom(share)) enter(share);
        else await waitForRoom(share);
        try {
          return await work();
        } finally {
          leave(share);
        }
      } finally {
        if (share.running === 0 && share.waiting === 0) shares.delete(caller);
      }
    },
    get running() {
      return running;
    },
    get waiting() {
      return queue.size;
    },
  };
}
