/** A queued job. Jobs with fewer guesses run first. */
export type Waiter = { readonly account: string; readonly guesses: number; start(): void; refuse(): void };
type Group = { readonly name: string; readonly guesses: number; readonly waiters: Waiter[] };

/**
 * A queue of jobs in groups. Of the groups with the fewest guesses, each gets one job in turn. A
 * new group goes first: in a flood, a single request starts next, while groups with many requests
 * wait for each other.
 */
export class Line {
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

  get isEmpty(): boolean {
    return this.#groups.length === 0;
  }

  /** Removes a job that no longer needs its turn, if it is still queued. */
  remove(waiter: Waiter): void {
    const group = this.#groups.find(({ waiters }) => waiters.includes(waiter));
    if (group === undefined) return;
    group.waiters.splice(group.waiters.indexOf(waiter), 1);
    if (group.waiters.length === 0) this.#groups = this.#groups.filter((one) => one !== group);
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
   * Refuses the last job of the largest group, or of several largest, of the one with most guesses.
   * False if that would be the new job itself.
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
