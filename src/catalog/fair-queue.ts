import { LoggiaError } from "../errors.ts";
import type { Asker } from "./catalog.ts";
import { Line } from "./line.ts";
import type { Waiter } from "./line.ts";

export type FairQueueOptions = {
  /** Pieces of work that run at a time. */
  readonly running: number;
  /** Pieces of work that wait, in the line of known places and in that of strangers. */
  readonly waiting: number;
  /** Of these, for one account. */
  readonly waitingPerAccount: number;
  /** How long a stranger for whom there is no room waits for that answer. */
  readonly patience_ms: number;
  /** Work as long as any other, whose outcome nobody needs. */
  readonly decoy: () => Promise<unknown>;
};

/** Early tries in line, and those of one account that are not answered yet. */
const EARLY_WAITING = 1_024;
const EARLY_PER_ACCOUNT = 3;

/**
 * Shares slow work among addresses and accounts. Three lines take turns: accounts where they were
 * right lately, strangers, and early tries of strangers.
 *
 * An early try is for accounts that exist, those with the fewest failures first. So strangers who
 * make up accounts, from however many addresses, hold nobody up. A right pair is answered at once;
 * any other takes its turn among strangers as if there had been no early try, so that neither
 * answers nor times tell which accounts exist. `docs/decisions/0042-early-checks.md`
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #known: Line;
  readonly #strangers: Line;
  readonly #early: Line;
  /** Early tries that are not answered yet, by account. */
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
   * Runs `work` when its turn comes; for a stranger maybe twice, or not at all.
   * @param tells whether an outcome may be answered before its turn; absent: none
   * @throws LoggiaError `overloaded` where the line is full; what {@link Asker.recheck} throws
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
      // A known account is one person. A stranger may send any e-mail: the address identifies it.
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
    // A try without an answer may be one failure more. What fails here fails again in its turn.
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

  /** Where no account of a stranger exists, as much time passes as if one did. */
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

  /** The place of work that has ended goes straight to the next waiter. */
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
