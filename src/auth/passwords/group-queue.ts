/** A queued job. Jobs with fewer guesses run first. */
export type QueuedJob = { readonly account: string; readonly guesses: number; start(): void; refuse(): void };
type Group = { readonly name: string; readonly guesses: number; readonly jobs: QueuedJob[] };

/**
 * A queue of jobs in groups. Of the groups with the fewest guesses, each gets one job in turn. A
 * new group goes first: in a flood, a single request starts next, while groups with many requests
 * wait for each other.
 */
export class GroupQueue {
  readonly #most: number;
  readonly #mostPerAccount: number;
  #groups: Group[] = [];

  constructor(most: number, mostPerAccount: number) {
    this.#most = most;
    this.#mostPerAccount = mostPerAccount;
  }

  add(name: string, job: QueuedJob): void {
    const all = this.#groups.flatMap(({ jobs }) => jobs);
    if (all.filter(({ account }) => account === job.account).length >= this.#mostPerAccount) {
      job.refuse();
      return;
    }
    const own = this.#groups.find((group) => group.name === name);
    if (all.length >= this.#most && !this.#makeRoom(own, job.guesses)) {
      job.refuse();
      return;
    }
    if (own === undefined) this.#groups.unshift({ name, guesses: job.guesses, jobs: [job] });
    else own.jobs.push(job);
  }

  get isEmpty(): boolean {
    return this.#groups.length === 0;
  }

  /** Removes a job that no longer needs its turn, if it is still queued. */
  remove(job: QueuedJob): void {
    const group = this.#groups.find(({ jobs }) => jobs.includes(job));
    if (group === undefined) return;
    group.jobs.splice(group.jobs.indexOf(job), 1);
    if (group.jobs.length === 0) this.#groups = this.#groups.filter((one) => one !== group);
  }

  next(): QueuedJob | undefined {
    const fewest = Math.min(...this.#groups.map(({ guesses }) => guesses));
    const group = this.#groups.find(({ guesses }) => guesses === fewest);
    if (group === undefined) return undefined;
    const job = group.jobs.shift();
    this.#groups = this.#groups.filter((one) => one !== group);
    if (group.jobs.length > 0) this.#groups.push(group);
    return job;
  }

  /**
   * Rejects the newest job of the largest group; on a tie, of the group with most guesses. Returns
   * false if that job is the new one.
   */
  #makeRoom(own: Group | undefined, guesses: number): boolean {
    const size = Math.max(...this.#groups.map(({ jobs }) => jobs.length));
    if (own?.jobs.length === size) return false;
    const large = this.#groups.filter(({ jobs }) => jobs.length === size);
    const most = Math.max(...large.map((group) => group.guesses));
    if (own === undefined && size === 1 && guesses > most) return false;
    const largest = large.findLast((group) => group.guesses === most)!;
    largest.jobs.pop()!.refuse();
    if (largest.jobs.length === 0) this.#groups = this.#groups.filter((group) => group !== largest);
    return true;
  }
}
