import { LoggiaError } from "../errors.ts";
import type { Asker } from "./catalog.ts";
import { Line } from "./line.ts";
import type { Waiter } from "./line.ts";

export type FairQueueOptions = {
  /** Concurrent jobs. */
  readonly running: number;
  /** Longest queue: one limit for known accounts and the same for strangers. */
  readonly waiting: number;
  /** Of these, jobs of one account. */
  readonly waitingPerAccount: number;
  /** How long a stranger waits for its refusal when the queue is full, in milliseconds. */
  readonly patience_ms: number;
  /** A job as long as any other, whose result is discarded. */
  readonly decoy: () => Promise<unknown>;
};

/** Queued early checks, and unanswered early checks of one account. */
const EARLY_WAITING = 1_024;
const EARLY_PER_ACCOUNT = 3;

/**
 * Shares slow jobs among addresses and accounts. Three queues take turns: known accounts, strangers
 * (askers that did not recently sign in from this address), and early checks of strangers.
 *
 * Early checks serve existing accounts, fewest failures first, so strangers with invented accounts
 * delay nobody. A correct password is answered at once. Any other keeps its turn among the
 * strangers, so neither responses nor timing reveal which accounts exist.
 * `docs/decisions/0042-early-checks.md`
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #known: Line;
  readonly #strangers: Line;
  readonly #early: Line;
  /** Unanswered early checks by account. */
  readonly #tries = new Map<string, number>();
  readonly #turns: readonly (() => Waiter | undefined)[];
  #turn = 0;
  #free: number;

  constructor(options: FairQueueOptions) {
    const { running, waiting, waitingPerAccount } = options;
    this.#options = options;
    this.#known = new Line(waiting, waitingPerAccount);
    this.#strangers = new Line(waiting, waitingPerAccount);
    this.#early = new Line(EARLY_WAITING, EARLY_PER_ACCOUNT);
    this.#turns = [() => this.#known.next(), () => this.#earlyOrDecoy(), () => this.#strangers.next()];
    this.#free = running;
  }

  /**
   * Runs `work` when its turn comes; for a stranger it may run twice or not at all.
   * @param tells whether an outcome may be answered early; if absent, none may
   * @throws LoggiaError `overloaded` if the queue is full; errors of {@link Asker.recheck}
   */
  run<T>(asker: Asker, work: () => Promise<T>, tells?: (outcome: T) => boolean): Promise<T> {
    const inTurn = async (): Promise<T> => {
      try {
        asker.recheck?.();
        return await work();
      } finally {
        this.#passOn();
      }
    };
    if (this.#free > 0) {
      this.#free -= 1;
      return inTurn();
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const start = (): void => void inTurn().then(resolve, reject);
    const { account, address, isKnown, guesses = 0 } = asker;
    if (isKnown) {
      // Known accounts are grouped by account. Strangers can send any e-mail, so by address.
      this.#known.add(account, { account, guesses: 0, start, refuse: () => reject(overloaded()) });
      return promise;
    }
    const refuse = (): void => {
      const timer = setTimeout(() => reject(overloaded()), this.#options.patience_ms);
      promise.finally(() => clearTimeout(timer)).catch(() => {});
    };
    const waiter = { account, guesses, start, refuse };
    this.#strangers.add(address, waiter);
    if (asker.exists !== true || tells === undefined) return promise;
    this.#tryEarly(asker, promise, async () => {
      const outcome = await inTurn();
      if (!tells(outcome)) return;
      this.#strangers.remove(waiter);
      resolve(outcome);
    });
    return promise;
  }

  #tryEarly({ account, failures = 0 }: Asker, answer: Promise<unknown>, work: () => Promise<void>): void {
    const tries = this.#tries.get(account) ?? 0;
    if (tries >= EARLY_PER_ACCOUNT) return;
    this.#tries.set(account, tries + 1);
    // An unanswered check may become a failure. Errors are ignored: the regular turn repeats them.
    const waiter = { account, guesses: failures + tries, start: () => void work().catch(() => {}), refuse: () => {} };
    this.#early.add(account, waiter);
    const leave = (): void => {
      this.#early.remove(waiter);
      const left = this.#tries.get(account)! - 1;
      if (left === 0) this.#tries.delete(account);
      else this.#tries.set(account, left);
    };
    answer.then(leave, leave);
  }

  /** Without an early check a decoy takes as long, so timing does not reveal missing accounts. */
  #earlyOrDecoy(): Waiter | undefined {
    const early = this.#early.next();
    if (early !== undefined || this.#strangers.isEmpty) return early;
    const work = (): void =>
      void this.#options.decoy().then(
        () => this.#passOn(),
        () => this.#passOn(),
      );
    return { account: "", guesses: 0, start: work, refuse: () => {} };
  }

  /** Gives the freed slot to the next job. */
  #passOn(): void {
    for (let i = 0; i < this.#turns.length; i++) {
      this.#turn = (this.#turn + 1) % this.#turns.length;
      const waiter = this.#turns[this.#turn]!();
      if (waiter !== undefined) return waiter.start();
    }
    this.#free += 1;
  }
}

function overloaded(): LoggiaError {
  return new LoggiaError("overloaded", "Too many passwords are being checked; try again in a moment");
}
