import { ClientGone, LoggiaError } from "../errors.ts";

/** Bodies up to this size have memory of their own, so that they never wait for larger ones. */
export const SMALL_BODY_BYTES = 64 * 1024;

const MB = 1024 * 1024;
/** Longest queues: of one owner and of all. Each waiting body holds an unread buffer of the system. */
const WAITING_OF_OWNER = 1_000;
const WAITING = 2_000;
/** Waiting bodies of an owner that are tried at once. Each try looks at all bodies that grow. */
const MAX_TRIES = 4;

export type BodyBudgetOptions = {
  /** Bytes that all bodies above {@link SMALL_BODY_BYTES} may hold. */
  readonly most_bytes: number;
  /** Bytes that all small bodies may hold, in addition. */
  readonly small_bytes: number;
  /** Longest wait for room. */
  readonly wait_ms: number;
  /**
   * Whether, after the wait, the owner that holds most loses its largest body to one that holds
   * less. There is no limit for one owner then. Otherwise an owner holds at most half.
   */
  readonly evicts: boolean;
  /** Description of the owner in error messages. */
  readonly who: string;
};

const DEFAULTS: BodyBudgetOptions = Object.freeze({
  most_bytes: 272 * MB,
  small_bytes: 16 * MB,
  wait_ms: 20_000,
  evicts: false,
  who: "for the owner of this log",
});

/**
 * Memory budget of all bodies that are being received, unpacked and stored. Its owners are the quota
 * owners of logs, or networks.
 */
export class BodyBudget {
  readonly #small: Pool;
  readonly #large: Pool;
  readonly #evicts: boolean;

  constructor(given: Partial<BodyBudgetOptions> = {}) {
    const options = { ...DEFAULTS, ...given };
    this.#small = new Pool(options.small_bytes, options);
    this.#large = new Pool(options.most_bytes, options);
    this.#evicts = options.evicts;
  }

  /** Bytes held by all bodies. */
  get held_bytes(): number {
    return this.#small.held_bytes + this.#large.held_bytes;
  }

  /** Registers a body, which holds nothing yet. */
  enter(owner: string): BodyShare {
    return new BodyShare(owner, { small: this.#small, large: this.#large, reserves: !this.#evicts });
  }
}

type Pools = { readonly small: Pool; readonly large: Pool; readonly reserves: boolean };

/** Memory held by one body. */
export class BodyShare {
  readonly owner: string;
  /**
   * Whether the announced size of a body is held before it arrives. It is not where strangers could
   * announce anything.
   */
  readonly reserves: boolean;
  /** Called when the body has lost its memory to another owner. While null, it cannot lose it. */
  onEvicted: ((error: LoggiaError) => void) | null = null;
  /** Most that the body may hold before it is complete. */
  #claimed_bytes = 0;
  readonly #small: Pool;
  readonly #large: Pool;
  #pool: Pool | null = null;

  constructor(owner: string, { small, large, reserves }: Pools) {
    this.owner = owner;
    this.reserves = reserves;
    this.#small = small;
    this.#large = large;
  }

  get held_bytes(): number {
    return this.#pool?.heldBy(this) ?? 0;
  }

  get claimed_bytes(): number {
    return this.#claimed_bytes;
  }

  /**
   * Declares the most that the body may hold before it is complete; 0: it grows no more. Bodies that
   * grow are kept from waiting for each other by it.
   */
  claim(most_bytes: number): void {
    this.#claimed_bytes = most_bytes;
    this.#pool?.updateGrowing(this);
  }

  /** Sets the held size, which may be larger or smaller than before. Returns false without room. */
  tryHold(size_bytes: number): boolean {
    const pool = this.#poolFor(size_bytes);
    if (pool.trySet(this, size_bytes)) return this.#moveTo(pool);
    // A small body may be held among the large ones.
    return pool === this.#small && this.#large.trySet(this, size_bytes) && this.#moveTo(this.#large);
  }

  /**
   * Sets the held size once there is room.
   * @param gone fires when the client has disconnected; ends the wait
   * @throws LoggiaError `too_many_requests` because of the owner's own use; `overloaded` because of
   *   the use of all; {@link ClientGone}
   */
  async hold(size_bytes: number, gone?: AbortSignal): Promise<void> {
    if (this.tryHold(size_bytes)) return;
    const pool = this.#poolFor(size_bytes);
    await pool.set(this, size_bytes, gone);
    this.#moveTo(pool);
  }

  /** Gives all memory back, and ends a wait. */
  release(): void {
    this.onEvicted = null;
    this.#small.forget(this);
    this.#large.forget(this);
    this.#pool = null;
  }

  #poolFor(size_bytes: number): Pool {
    return size_bytes > SMALL_BODY_BYTES || this.#pool === this.#large ? this.#large : this.#small;
  }

  #moveTo(pool: Pool): true {
    if (this.#pool !== pool) this.#pool?.forget(this);
    this.#pool = pool;
    return true;
  }
}

/** Bytes left of a pool, and of the part of one owner. */
type Left = { readonly free_bytes: number; readonly ofOwner_bytes: number };
type Waiting = {
  readonly share: BodyShare;
  readonly to_bytes: number;
  readonly start: () => void;
  readonly giveUp: (error: LoggiaError) => void;
};

/**
 * Memory that bodies share. Bodies that grow go first, so that they end. Of new ones, those of the
 * owner that holds least go first, and nothing overtakes one of an owner that holds nothing.
 *
 * Bodies that grow could fill the memory and wait for each other. Room is therefore kept for the
 * oldest to reach what it claimed, then with what that releases for the next one, and so on (the
 * banker's algorithm, in order of age).
 */
class Pool {
  readonly #most_bytes: number;
  readonly #options: BodyBudgetOptions;
  readonly #held = new Map<BodyShare, number>();
  readonly #ofOwner = new Map<string, number>();
  /** Bodies that hold less than they claim, oldest first. */
  readonly #growing = new Set<BodyShare>();
  readonly #waiting = new Set<Waiting>();
  held_bytes = 0;

  constructor(most_bytes: number, options: BodyBudgetOptions) {
    this.#most_bytes = most_bytes;
    this.#options = options;
  }

  heldBy(share: BodyShare): number {
    return this.#held.get(share) ?? 0;
  }

  /** Sets what a share holds, unless there is no room or others have waited for it. */
  trySet(share: BodyShare, to_bytes: number): boolean {
    const held_bytes = this.heldBy(share);
    if (to_bytes > held_bytes) {
      if (!this.#fits(share, to_bytes)) return false;
      if (held_bytes === 0 && this.#isPreceded(share.owner)) return false;
    }
    this.#change(share, to_bytes);
    return true;
  }

  set(share: BodyShare, to_bytes: number, gone?: AbortSignal): Promise<void> {
    if (gone?.aborted === true) return Promise.reject(new ClientGone());
    if (this.#isQueueFull(share.owner)) return Promise.reject(this.#refusal(share, to_bytes));
    const { wait_ms, evicts } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      clearTimeout(timer);
      gone?.removeEventListener("abort", onGone);
      this.#waiting.delete(waiting);
    };
    const waiting: Waiting = {
      share,
      to_bytes,
      start: () => {
        leave();
        this.#change(share, to_bytes);
        resolve();
      },
      giveUp: (error) => {
        leave();
        reject(error);
        this.#serve();
      },
    };
    const onGone = (): void => waiting.giveUp(new ClientGone());
    const onLate = (): void => {
      if (evicts && this.#makeRoom(share, to_bytes)) waiting.start();
      else waiting.giveUp(this.#refusal(share, to_bytes));
    };
    gone?.addEventListener("abort", onGone, { once: true });
    this.#waiting.add(waiting);
    const timer = wait_ms > 0 ? setTimeout(onLate, wait_ms) : undefined;
    if (wait_ms === 0) onLate();
    return promise;
  }

  /** Removes a share, whether it holds memory or waits for it. */
  forget(share: BodyShare): void {
    for (const waiting of this.#waiting) if (waiting.share === share) waiting.giveUp(new ClientGone());
    this.#change(share, 0);
  }

  /** Notes whether a body grows, after its claim has changed. */
  updateGrowing(share: BodyShare): void {
    const held_bytes = this.heldBy(share);
    if (held_bytes > 0 && held_bytes < share.claimed_bytes) this.#growing.add(share);
    else if (this.#growing.delete(share)) this.#serve();
  }

  #change(share: BodyShare, to_bytes: number): void {
    const by_bytes = to_bytes - this.heldBy(share);
    if (by_bytes === 0) return;
    this.held_bytes += by_bytes;
    const ofOwner_bytes = this.#heldByOwner(share.owner) + by_bytes;
    if (ofOwner_bytes === 0) this.#ofOwner.delete(share.owner);
    else this.#ofOwner.set(share.owner, ofOwner_bytes);
    if (to_bytes === 0) this.#held.delete(share);
    else this.#held.set(share, to_bytes);
    this.updateGrowing(share);
    if (by_bytes < 0) this.#serve();
  }

  #fits(share: BodyShare, to_bytes: number): boolean {
    const left = this.#leftWith(share, to_bytes);
    return left !== null && (this.#options.evicts || this.#isSafe(share, to_bytes, left));
  }

  /** Returns what is left if a share holds this; null if it has no room. */
  #leftWith(share: BodyShare, to_bytes: number): Left | null {
    const by_bytes = to_bytes - this.heldBy(share);
    const free_bytes = this.#most_bytes - this.held_bytes - by_bytes;
    const ofOwner_bytes = this.#options.evicts
      ? Infinity
      : this.#mostOfOwner - this.#heldByOwner(share.owner) - by_bytes;
    return free_bytes < 0 || ofOwner_bytes < 0 ? null : { free_bytes, ofOwner_bytes };
  }

  /** Whether all bodies that grow can reach their claims one after the other, if a share holds this. */
  #isSafe(asking: BodyShare, to_bytes: number, left: Left): boolean {
    let { free_bytes, ofOwner_bytes } = left;
    let [isFirst, isFirstOfOwner] = [true, true];
    for (const share of this.#growingWith(asking, to_bytes)) {
      const held_bytes = share === asking ? to_bytes : this.heldBy(share);
      const more_bytes = Math.min(share.claimed_bytes, this.#mostOfOwner) - held_bytes;
      // The oldest may claim more later. What fits it is never kept from it.
      if (more_bytes > free_bytes && !(isFirst && share === asking)) return false;
      free_bytes += held_bytes;
      isFirst = false;
      if (share.owner !== asking.owner) continue;
      if (more_bytes > ofOwner_bytes && !(isFirstOfOwner && share === asking)) return false;
      ofOwner_bytes += held_bytes;
      isFirstOfOwner = false;
    }
    return true;
  }

  *#growingWith(asking: BodyShare, to_bytes: number): Generator<BodyShare> {
    yield* this.#growing;
    if (!this.#growing.has(asking) && to_bytes < asking.claimed_bytes) yield asking;
  }

  get #mostOfOwner(): number {
    return this.#most_bytes / 2;
  }

  #heldByOwner(owner: string): number {
    return this.#ofOwner.get(owner) ?? 0;
  }

  #isQueueFull(owner: string): boolean {
    if (this.#waiting.size >= WAITING) return true;
    if (this.#waiting.size < WAITING_OF_OWNER) return false;
    let own = 0;
    for (const { share } of this.#waiting) if (share.owner === owner) own += 1;
    return own >= WAITING_OF_OWNER;
  }

  /** Whether a new body of this owner has to queue. */
  #isPreceded(owner: string): boolean {
    if (this.#waiting.size === 0) return false;
    const holdsSome = this.#ofOwner.has(owner);
    for (const { share } of this.#waiting)
      if (share.owner === owner || (holdsSome && !this.#ofOwner.has(share.owner))) return true;
    return false;
  }

  #serve(): void {
    if (this.#waiting.size === 0) return;
    for (let next = this.#next(); next !== null; next = this.#next()) next.start();
  }

  #next(): Waiting | null {
    const tries = new Map<string, number>();
    const fits = ({ share, to_bytes }: Waiting): boolean => {
      const tried = tries.get(share.owner) ?? 0;
      if (tried === MAX_TRIES || this.#leftWith(share, to_bytes) === null) return false;
      tries.set(share.owner, tried + 1);
      return this.#fits(share, to_bytes);
    };
    for (const waiting of this.#waitingToGrow()) if (fits(waiting)) return waiting;
    let first: Waiting | null = null;
    let least_bytes = Infinity;
    for (const waiting of this.#waiting) {
      const held_bytes = this.#heldByOwner(waiting.share.owner);
      if (this.heldBy(waiting.share) > 0 || held_bytes >= least_bytes) continue;
      // Without room, an owner that holds nothing makes the others wait until there is room for it.
      if (held_bytes === 0) return fits(waiting) ? waiting : null;
      if (fits(waiting)) [first, least_bytes] = [waiting, held_bytes];
    }
    return first;
  }

  /** Returns the bodies that hold some memory and wait for more: the oldest first, which is kept room. */
  #waitingToGrow(): readonly Waiting[] {
    const holding = new Map<BodyShare, Waiting>();
    for (const waiting of this.#waiting) if (this.heldBy(waiting.share) > 0) holding.set(waiting.share, waiting);
    if (holding.size === 0) return [];
    const oldest = [...this.#growing].flatMap((share) => holding.get(share) ?? []);
    return [...oldest, ...[...holding.values()].filter(({ share }) => !this.#growing.has(share))];
  }

  /** Evicts bodies of those that hold most. Returns false if that is the one that asks. */
  #makeRoom(share: BodyShare, to_bytes: number): boolean {
    while (!this.#fits(share, to_bytes)) {
      const largest = this.#largestOfRichest(share, to_bytes);
      if (largest === share) return false;
      const { onEvicted } = largest;
      largest.release();
      onEvicted?.(new LoggiaError("overloaded", "Too much unfinished data is being received; try again shortly"));
    }
    return true;
  }

  /** Returns the body to evict; the one that asks if its owner would hold most. */
  #largestOfRichest(asking: BodyShare, to_bytes: number): BodyShare {
    const more_bytes = to_bytes - this.heldBy(asking);
    const asking_bytes = this.#heldByOwner(asking.owner) + more_bytes;
    let [found, found_bytes, richest_bytes] = [asking, to_bytes, asking_bytes];
    for (const [share, size_bytes] of this.#held) {
      if (share.onEvicted === null || share === asking) continue;
      const owner_bytes = share.owner === asking.owner ? asking_bytes : this.#heldByOwner(share.owner);
      if (owner_bytes < richest_bytes || (owner_bytes === richest_bytes && size_bytes <= found_bytes)) continue;
      [found, found_bytes, richest_bytes] = [share, size_bytes, owner_bytes];
    }
    return found;
  }

  #refusal(share: BodyShare, to_bytes: number): LoggiaError {
    const ofOwner_bytes = this.#heldByOwner(share.owner) + to_bytes - this.heldBy(share);
    if (this.#options.evicts || ofOwner_bytes <= this.#mostOfOwner / 2) {
      return new LoggiaError("overloaded", "Too much data is being read and stored; try again shortly");
    }
    const { who } = this.#options;
    const message = `Too much data is in progress ${who}; wait until some of it is stored before sending more`;
    return new LoggiaError("too_many_requests", message, { retryAfter_s: 1 });
  }
}
