import { LoggiaError } from "../errors.ts";
import type { Asker } from "./catalog.ts";

export type FairQueueOptions = {
  /** Pieces of work that run at a time. */
  readonly running: number;
  /** Pieces of work that wait, in each of the two lines. */
  readonly waiting: number;
  /** Of these, for one account. */
  readonly waitingPerAccount: number;
};

/** Shares slow work among addresses and accounts. */
export type FairQueue = {
  /**
   * Runs `work` when its turn comes.
   * @throws LoggiaError `overloaded` where the line is full; what {@link Asker.recheck} throws
   */
  run<T>(asker: Asker, work: () => Promise<T>): Promise<T>;
};

type Waiter = { readonly account: string; readonly guesses: number; start(): void; refuse(): void };
type Group = { readonly name: string; readonly guesses: number; readonly waiters: Waiter[] };

/**
 * Two lines take turns: one for accounts where they were right lately, one for strangers.
 * So a crowd of strangers costs a known person one turn, and strangers get every other turn.
 * Of strangers those with fewer guesses go first: who tries for the first time is not held up by
 * those who go on trying.
 */
export function createFairQueue({ running, waiting, waitingPerAccount }: FairQueueOptions): FairQueue {
  const known = new Line(waiting, waitingPerAccount);
  const strangers = new Line(waiting, waitingPerAccount);
  let free = running;
  let isTurnOfKnown = true;

  function next(): Waiter | undefined {
    const [first, second] = isTurnOfKnown ? [known, strangers] : [strangers, known];
    isTurnOfKnown = !isTurnOfKnown;
    return first.next() ?? second.next();
  }

  function waitForTurn({ isKnown, address, account, guesses = 0 }: Asker): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { account, guesses: isKnown ? 0 : guesses, start: resolve, refuse: () => reject(overloaded()) };
    // A known account is one person. A stranger may send any e-mail, so the address identifies it.
    if (isKnown) known.add(account, waiter);
    else strangers.add(address, waiter);
    return promise;
  }

  return {
    async run(asker, work) {
      if (free > 0) free -= 1;
      else await waitForTurn(asker);
      try {
        asker.recheck?.();
        return await work();
      } finally {
        // The place goes straight to the next waiter.
        const waiter = next();
        if (waiter === undefined) free += 1;
        else waiter.start();
      }
    },
  };
}

/**
 * Waiters in groups: those with the fewest guesses are served in turn. A new group is served first:
 * under a flood a single request starts next, and groups with many requests wait for each other.
 */
class Line {
  readonly #most: number;
  readonly #mostPerAccount: number;
  #groups: Group[] = [];

  constructor(most: number, mostPerAccount: number) {
    this.#most = most;
    this.#mostPerAccount = mostPerAccount;
  }

  add(name: string, waiter: Waiter): void {
    const all = this.#groups.flatMap(({ waiters }) => waiters);
    if (all.filter(({ account }) => account === waiter.account).length >= this.#mostPerAccount) {
      waiter.refuse();
      return;
    }
    const own = this.#groups.find((group) => group.name === name);
    if (all.length >= this.#most && !this.#makeRoom(own, waiter.guesses)) {
      waiter.refuse();
      return;
    }
    if (own === undefined) this.#groups.unshift({ name, guesses: waiter.guesses, waiters: [waiter] });
    else own.waiters.push(waiter);
  }

  next(): Waiter | undefined {
    const fewest = Math.min(...this.#groups.map(({ guesses }) => guesses));
    const group = this.#groups.find(({ guesses }) => guesses === fewest);
    if (group === undefined) return undefined;
    const waiter = group.waiters.shift();
    this.#groups = this.#groups.filter((one) => one !== group);
    if (group.waiters.length > 0) this.#groups.push(group);
    return waiter;
  }

  /**
   * Refuses the last waiter of the largest group; of several, of the one with the most guesses.
   * False where that would be the new waiter itself.
   */
  #makeRoom(own: Group | undefined, guesses: number): boolean {
    const size = Math.max(...this.#groups.map(({ waiters }) => waiters.length));
    if (own?.waiters.length === size) return false;
    const large = this.#groups.filter(({ waiters }) => waiters.length === size);
    const most = Math.max(...large.map((group) => group.guesses));
    if (own === undefined && size === 1 && guesses > most) return false;
    const largest = large.findLast((group) => group.guesses === most)!;
    largest.waiters.pop()!.refuse();
    if (largest.waiters.length === 0) this.#groups = this.#groups.filter((group) => group !== largest);
    return true;
  }
}

function overloaded(): LoggiaError {
  return new LoggiaError("overloaded", "Too many passwords are being checked; try again in a moment");
}
