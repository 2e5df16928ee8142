import { ClientGone, LoggiaError } from "../errors.ts";

export type BudgetOptions = {
  /** Maximum amounts held by one caller, and by all together: operations or bytes. */
  readonly perCaller: number;
  readonly total: number;
  /** Maximum number of waiting requests of one caller, and of all. */
  readonly waitingPerCaller: number;
  readonly waitingTotal: number;
  /** Longest time a request waits. */
  readonly wait_ms: number;
  /**
   * Error messages for the two reasons of a refusal: the caller's own use, and that of all callers.
   */
  readonly perCallerMessage: string;
  readonly totalMessage: string;
  /** Called when a request is refused because of the caller's own use. */
  readonly refused?: () => void;
};

/** A concurrency budget with a limit for each caller and one for all callers. */
export type Budget = {
  /**
   * Takes an amount once there is room, first come, first served. Requests of a caller who has used
   * up their own share do not delay other callers. An amount above one caller's share counts as
   * the share.
   * @param gone fires when the client has disconnected; ends the wait
   * @throws LoggiaError `too_many_requests` because of the caller's own use; `overloaded` because
   *   of the use of all callers; {@link ClientGone}
   */
  take(caller: string, amount: number, gone?: AbortSignal): Promise<Reservation>;
  /**
   * Runs `work` while holding an amount of 1.
   * @throws LoggiaError as {@link Budget.take} does
   */
  run<T>(caller: string, work: () => Promise<T>, gone?: AbortSignal): Promise<T>;
  readonly running: number;
  readonly waiting: number;
};

/** An amount taken from a budget. */
export type Reservation = {
  /**
   * Changes the amount without waiting. Lowering it always succeeds.
   * @throws LoggiaError as {@link Budget.take} does
   */
  resize(amount: number): void;
  /** Gives the amount back. Further calls do nothing. */
  release(): void;
};

type Share = { running: number; waiting: number };
type Waiting = { readonly share: Share; readonly amount: number; readonly start: () => void };

export function createBudget(options: BudgetOptions): Budget {
  const { perCaller, total, waitingPerCaller, waitingTotal, wait_ms } = options;
  const shares = new Map<string, Share>();
  const queue = new Set<Waiting>();
  let running = 0;

  const fits = (share: Share, amount: number): boolean => share.running + amount <= perCaller;
  const hasRoom = (share: Share, amount: number): boolean => running + amount <= total && fits(share, amount);
  /** Whether waiting requests go first, so that smaller ones cannot overtake them forever. */
  const othersAreFirst = (): boolean => [...queue].some(({ share, amount }) => fits(share, amount));

  function refuse(share: Share, amount: number): LoggiaError {
    if (fits(share, amount)) return new LoggiaError("overloaded", options.totalMessage);
    options.refused?.();
    return new LoggiaError("too_many_requests", options.perCallerMessage);
  }

  function waitForRoom(share: Share, amount: number, gone?: AbortSignal): Promise<void> {
    if (gone?.aborted === true) return Promise.reject(new ClientGone());
    if (share.waiting >= waitingPerCaller || queue.size >= waitingTotal) return Promise.reject(refuse(share, amount));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      clearTimeout(timer);
      gone?.removeEventListener("abort", giveUp);
      queue.delete(waiting);
      share.waiting -= 1;
    };
    const waiting: Waiting = {
      share,
      amount,
      start() {
        leave();
        change(share, amount);
        resolve();
      },
    };
    const end = (why: () => LoggiaError): void => {
      leave();
      reject(why());
      startWaiting();
    };
    const giveUp = (): void => end(() => new ClientGone());
    gone?.addEventListener("abort", giveUp, { once: true });
    const timer = setTimeout(() => end(() => refuse(share, amount)), wait_ms);
    share.waiting += 1;
    queue.add(waiting);
    return promise;
  }

  function change(share: Share, by: number): void {
    running += by;
    share.running += by;
  }

  function startWaiting(): void {
    for (const waiting of queue) {
      if (!fits(waiting.share, waiting.amount)) continue;
      if (!hasRoom(waiting.share, waiting.amount)) return;
      waiting.start();
    }
  }

  function createReservation(caller: string, share: Share, amount: number): Reservation {
    let held = amount;
    const set = (to: number): void => {
      const freed = to < held;
      change(share, to - held);
      held = to;
      if (freed) startWaiting();
    };
    let released = false;
    return {
      resize(wanted) {
        if (released) return;
        const to = Math.min(wanted, perCaller);
        if (to > held && !hasRoom(share, to - held)) throw refuse(share, to - held);
        set(to);
      },
      release() {
        if (released) return;
        released = true;
        set(0);
        forget(caller, share);
      },
    };
  }

  function forget(caller: string, share: Share): void {
    if (share.running === 0 && share.waiting === 0 && shares.get(caller) === share) shares.delete(caller);
  }

  async function take(caller: string, wanted: number, gone?: AbortSignal): Promise<Reservation> {
    const amount = Math.min(wanted, perCaller);
    let share = shares.get(caller);
    if (share === undefined) shares.set(caller, (share = { running: 0, waiting: 0 }));
    try {
      if (hasRoom(share, amount) && !othersAreFirst()) change(share, amount);
      else await waitForRoom(share, amount, gone);
      return createReservation(caller, share, amount);
    } catch (error) {
      forget(caller, share);
      throw error;
    }
  }

  return {
    take,
    async run(caller, work, gone) {
      const reservation = await take(caller, 1, gone);
      try {
        return await work();
      } finally {
        reservation.release();
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
