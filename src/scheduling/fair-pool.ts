import { ClientGone, LoggiaError } from "../errors.ts";

/** Errors for callers that wait too long. */
export type PoolRefusal = {
  /** Message if the caller itself holds items. */
  readonly own: string;
  /** Message if only others do. */
  readonly others: string;
  readonly retryAfter_s: number;
};

type Waiting<T> = { readonly caller: string | undefined; readonly resolve: (item: T) => void };

/**
 * A pool of items shared fairly by callers. A single caller can hold all but one of the items, and
 * of the waiting callers the one least recently served is next. Takers without a caller may hold
 * all items.
 */
export class FairPool<T> {
  readonly #refusal: PoolRefusal;
  readonly #size: number;
  readonly #free: T[];
  #waiting: Waiting<T>[] = [];
  readonly #held = new Map<string, number>();
  /**
   * When callers were last served, as a counter value. Only callers that hold or wait for an item.
   */
  readonly #served = new Map<string | undefined, number>();
  #count = 0;

  constructor(items: readonly T[], refusal: PoolRefusal) {
    this.#refusal = refusal;
    this.#size = items.length;
    this.#free = [...items];
  }

  /**
   * Takes an item, and waits for one if necessary.
   * @param gone ends the wait when the client disconnects
   * @param longest_ms longest wait
   * @throws ClientGone
   * @throws LoggiaError `too_many_requests` if the caller itself holds items, otherwise
   * `overloaded`
   */
  take(caller?: string, gone?: AbortSignal, longest_ms = Infinity): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (gone?.aborted === true) return Promise.reject(new ClientGone());
    const end = (): void => {
      clearTimeout(timer);
      gone?.removeEventListener("abort", leave);
    };
    const giveUp = (reason: Error): void => {
      end();
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
      this.#forget(caller);
      reject(reason);
    };
    const leave = (): void => giveUp(new ClientGone());
    const waiting: Waiting<T> = {
      caller,
      resolve(item) {
        end();
        resolve(item);
      },
    };
    const timer =
      longest_ms === Infinity ? undefined : setTimeout(() => giveUp(this.#waitedTooLong(caller)), longest_ms);
    gone?.addEventListener("abort", leave, { once: true });
    this.#waiting.push(waiting);
    this.#serve();
    return promise;
  }

  #waitedTooLong(caller: string | undefined): LoggiaError {
    const { own, others, retryAfter_s } = this.#refusal;
    return caller !== undefined && this.#heldBy(caller) > 0
      ? new LoggiaError("too_many_requests", own, { retryAfter_s })
      : new LoggiaError("overloaded", others, { retryAfter_s });
  }

  /** Returns an item to the pool. @param caller the one that took it */
  give(item: T, caller?: string): void {
    this.#free.push(item);
    if (caller !== undefined) this.#held.set(caller, this.#heldBy(caller) - 1);
    this.#serve();
    this.#forget(caller);
  }

  /** Waits until all items are free at once, and returns them. */
  async drain(): Promise<T[]> {
    const items: T[] = [];
    while (items.length < this.#size) items.push(await this.take());
    items.forEach((item) => this.give(item));
    return items;
  }

  /** Drops the state of a caller that neither holds nor waits for an item. */
  #forget(caller: string | undefined): void {
    if (caller === undefined || this.#heldBy(caller) > 0 || this.#waiting.some((one) => one.caller === caller)) return;
    this.#held.delete(caller);
    this.#served.delete(caller);
  }

  #serve(): void {
    while (this.#free.length > 0) {
      const next = this.#next();
      if (next === undefined) return;
      const { caller, resolve } = next;
      this.#waiting = this.#waiting.filter((one) => one !== next);
      if (caller !== undefined) this.#held.set(caller, this.#heldBy(caller) + 1);
      this.#served.set(caller, (this.#count += 1));
      resolve(this.#free.pop()!);
    }
  }

  #next(): Waiting<T> | undefined {
    const servedAt = ({ caller }: Waiting<T>): number => this.#served.get(caller) ?? 0;
    let first: Waiting<T> | undefined;
    for (const one of this.#waiting) {
      if (!this.#mayTake(one.caller)) continue;
      if (first === undefined || servedAt(one) < servedAt(first)) first = one;
    }
    return first;
  }

  #mayTake(caller: string | undefined): boolean {
    return caller === undefined || this.#size === 1 || this.#heldBy(caller) < this.#size - 1;
  }

  #heldBy(caller: string): number {
    return this.#held.get(caller) ?? 0;
  }
}
