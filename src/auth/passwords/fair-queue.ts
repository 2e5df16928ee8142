import { LoggiaError } from "../../errors.ts";
import { GroupQueue } from "./group-queue.ts";
import type { QueuedJob } from "./group-queue.ts";

/** The party a password is hashed for. Hashing capacity is shared fairly by address and account. */
export type Requester = {
  /** Address of the request, grouped by network. */
  readonly address: string;
  /** The account named by the request, as a value that is the same for all its requests. */
  readonly account: string;
  /** Whether this account recently signed in from this address. */
  readonly isKnown: boolean;
  /** Failed guesses at this address; unknown requesters with the fewest go first. Default: 0 */
  readonly guesses?: number;
  /** Whether the account exists. An unknown requester must not learn it. Default: false */
  readonly exists?: boolean;
  /** Failed guesses by unknown requesters counted against the account. Default: 0 */
  readonly failures?: number;
  /** Called before the hash starts. Throws if the requester has no guesses left by then. */
  readonly recheck?: () => void;
};

export type FairQueueOptions = {
  /** Concurrent jobs. */
  readonly concurrency: number;
  /** Longest queue: one limit for known requesters and the same for unknown ones. */
  readonly maxQueued: number;
  /** Of these, jobs of one account. */
  readonly maxQueuedPerAccount: number;
  /** Delay before an unknown requester is refused when the queue is full, in milliseconds. */
  readonly refusalDelay_ms: number;
  /** A job as long as any other, whose result is discarded. */
  readonly decoy: () => Promise<unknown>;
};

/** Queued early checks, and unanswered early checks of one account. */
const MAX_EARLY = 1_024;
const MAX_EARLY_PER_ACCOUNT = 3;

/**
 * Shares slow jobs among addresses and accounts. Three queues take turns: known requesters, unknown
 * ones (whose account did not recently sign in from this address), and early checks of the latter.
 *
 * Early checks serve existing accounts, fewest failures first, so requests with invented accounts
 * delay no others. A correct password succeeds at once. Any other keeps its turn among the unknown
 * requesters, so neither responses nor timing reveal which accounts exist.
 * `docs/decisions/0042-sign-in-rate-limits-let-existing-accounts-through.md`
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #known: GroupQueue;
  readonly #unknown: GroupQueue;
  readonly #early: GroupQueue;
  /** Unanswered early checks by account. */
  readonly #earlyChecks = new Map<string, number>();
  readonly #turns: readonly (() => QueuedJob | undefined)[];
  #turn = 0;
  #free: number;

  constructor(options: FairQueueOptions) {
    const { concurrency, maxQueued, maxQueuedPerAccount } = options;
    this.#options = options;
    this.#known = new GroupQueue(maxQueued, maxQueuedPerAccount);
    this.#unknown = new GroupQueue(maxQueued, maxQueuedPerAccount);
    this.#early = new GroupQueue(MAX_EARLY, MAX_EARLY_PER_ACCOUNT);
    this.#turns = [() => this.#known.next(), () => this.#earlyOrDecoy(), () => this.#unknown.next()];
    this.#free = concurrency;
  }

  /**
   * Runs `work` when its turn comes; for an unknown requester it may run twice or not at all.
   * @param mayAnswerEarly whether an outcome may be answered early; if absent, none may
   * @throws LoggiaError `overloaded` if the queue is full; errors of {@link Requester.recheck}
   */
  run<T>(requester: Requester, work: () => Promise<T>, mayAnswerEarly?: (outcome: T) => boolean): Promise<T> {
    const inTurn = async (): Promise<T> => {
      try {
        requester.recheck?.();
        return await work();
      } finally {
        this.#startNext();
      }
    };
    if (this.#free > 0) {
      this.#free -= 1;
      return inTurn();
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const start = (): void => void inTurn().then(resolve, reject);
    const { account, address, isKnown, guesses = 0 } = requester;
    if (isKnown) {
      // Known requesters are grouped by account. Unknown ones can send any e-mail, so by address.
      this.#known.add(account, { account, guesses: 0, start, refuse: () => reject(overloaded()) });
      return promise;
    }
    const refuse = (): void => {
      const timer = setTimeout(() => reject(overloaded()), this.#options.refusalDelay_ms);
      promise.finally(() => clearTimeout(timer)).catch(() => {});
    };
    const job = { account, guesses, start, refuse };
    this.#unknown.add(address, job);
    if (requester.exists !== true || mayAnswerEarly === undefined) return promise;
    this.#tryEarly(requester, promise, async () => {
      const outcome = await inTurn();
      if (!mayAnswerEarly(outcome)) return;
      this.#unknown.remove(job);
      resolve(outcome);
    });
    return promise;
  }

  #tryEarly({ account, failures = 0 }: Requester, answer: Promise<unknown>, work: () => Promise<void>): void {
    const tries = this.#earlyChecks.get(account) ?? 0;
    if (tries >= MAX_EARLY_PER_ACCOUNT) return;
    this.#earlyChecks.set(account, tries + 1);
    // An unanswered check may become a failure. Errors are ignored: the regular turn repeats them.
    const job = { account, guesses: failures + tries, start: () => void work().catch(() => {}), refuse: () => {} };
    this.#early.add(account, job);
    const leave = (): void => {
      this.#early.remove(job);
      const left = this.#earlyChecks.get(account)! - 1;
      if (left === 0) this.#earlyChecks.delete(account);
      else this.#earlyChecks.set(account, left);
    };
    answer.then(leave, leave);
  }

  /** Without an early check a decoy takes as long, so timing does not reveal missing accounts. */
  #earlyOrDecoy(): QueuedJob | undefined {
    const early = this.#early.next();
    if (early !== undefined || this.#unknown.isEmpty) return early;
    const work = (): void =>
      void this.#options.decoy().then(
        () => this.#startNext(),
        () => this.#startNext(),
      );
    return { account: "", guesses: 0, start: work, refuse: () => {} };
  }

  /** Starts the next job, if any, in place of one that ended. */
  #startNext(): void {
    for (let i = 0; i < this.#turns.length; i++) {
      this.#turn = (this.#turn + 1) % this.#turns.length;
      const job = this.#turns[this.#turn]!();
      if (job !== undefined) return job.start();
    }
    this.#free += 1;
  }
}

function overloaded(): LoggiaError {
  return new LoggiaError("overloaded", "Too many passwords are being checked; try again in a moment");
}
