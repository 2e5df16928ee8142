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

/** What one caller holds and waits for. */
type Share = { running: number; waiting: number };
type Waiting = { readonly share: Share; readonly amount: number; readonly start: () => void };

/** A concurrency budget with a limit for each caller and one for all callers. */
export class Budget {
  readonly #options: BudgetOptions;
  readonly #shares = new Map<string, Share>();
  readonly #queue = new Set<Waiting>();
  #running = 0;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Takes an amount once there is room, first come, first served. Requests of a caller who has used
   * up their own share do not delay other callers. An amount above one caller's share counts as
   * the share.
   * @param gone fires when the client has disconnected; ends the wait
   * @throws LoggiaError `too_many_requests` because of the caller's own use; `overloaded` because
   *   of the use of all callers; {@link ClientGone}
   */
  async take(caller: string, wanted: number, gone?: AbortSignal): Promise<Reservation> {
    const amount = Math.min(wanted, this.#options.perCaller);
    let share = this.#shares.get(caller);
    if (share === undefined) this.#shares.set(caller, (share = { running: 0, waiting: 0 }));
    try {
      if (this.#hasRoom(share, amount) && !this.#othersAreFirst()) this.#change(share, amount);
      else await this.#waitForRoom(share, amount, gone);
      return this.#createReservation(caller, share, amount);
    } catch (error) {
      this.#forget(caller, share);
      throw error;
    }
  }

  /**
   * Runs `work` while holding an amount of 1.
   * @throws LoggiaError as {@link Budget.take} does
   */
  async run<T>(caller: string, work: () => Promise<T>, gone?: AbortSignal): Promise<T> {
    const reservation = await this.take(caller, 1, gone);
    try {
      return await work();
    } finally {
      reservation.release();
    }
  }

  #fits(share: Share, amount: number): boolean {
    return share.running + amount <= this.#options.perCaller;
  }

  #hasRoom(share: Share, amount: number): boolean {
    return this.#running + amount <= this.#options.total && this.#fits(share, amount);
  }

  /** Whether waiting requests go first, so that smaller ones cannot overtake them forever. */
  #othersAreFirst(): boolean {
    return [...this.#queue].some(({ share, amount }) => this.#fits(share, amount));
  }

  #refuse(share: Share, amount: number): LoggiaError {
    if (this.#fits(share, amount)) return new LoggiaError("overloaded", this.#options.totalMessage);
    this.#options.refused?.();
    return new LoggiaError("too_many_requests", this.#options.perCallerMessage);
  }

  #waitForRoom(share: Share, amount: number, gone?: AbortSignal): Promise<void> {
    const { waitingPerCaller, waitingTotal, wait_ms } = this.#options;
    if (gone?.aborted === true) return Promise.reject(new ClientGone());
    if (share.waiting >= waitingPerCaller || this.#queue.size >= waitingTotal) {
      return Promise.reject(this.#refuse(share, amount));
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      clearTimeout(timer);
      gone?.removeEventListener("abort", giveUp);
      this.#queue.delete(waiting);
      share.waiting -= 1;
    };
    const start = (): void => {
      leave();
      this.#change(share, amount);
      resolve();
    };
    const waiting: Waiting = { share, amount, start };
    const end = (why: () => LoggiaError): void => {
      leave();
      reject(why());
      this.#startWaiting();
    };
    const giveUp = (): void => end(() => new ClientGone());
    gone?.addEventListener("abort", giveUp, { once: true });
    const timer = setTimeout(() => end(() => this.#refuse(share, amount)), wait_ms);
    share.waiting += 1;
    this.#queue.add(waiting);
    return promise;
  }

  #change(share: Share, by: number): void {
    this.#running += by;
    share.running += by;
  }

  #startWaiting(): void {
    for (const waiting of this.#queue) {
      if (!this.#fits(waiting.share, waiting.amount)) continue;
      if (!this.#hasRoom(waiting.share, waiting.amount)) return;
      waiting.start();
    }
  }

  #createReservation(caller: string, share: Share, amount: number): Reservation {
    let held = amount;
    const set = (to: number): void => {
      const freed = to < held;
      this.#change(share, to - held);
      held = to;
      if (freed) this.#startWaiting();
    };
    let released = false;
    return {
      resize: (wanted) => {
        if (released) return;
        const to = Math.min(wanted, this.#options.perCaller);
        if (to > held && !this.#hasRoom(share, to - held)) throw this.#refuse(share, to - held);
        set(to);
      },
      release: () => {
        if (released) return;
        released = true;
        set(0);
        this.#forget(caller, share);
      },
    };
  }

  #forget(caller: string, share: Share): void {
    const isUnused = share.running === 0 && share.waiting === 0;
    if (isUnused && this.#shares.get(caller) === share) this.#shares.delete(caller);
  }
}
