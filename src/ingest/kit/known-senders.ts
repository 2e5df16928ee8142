/** How long a sender is known after its last right signature. */
const KNOWN_MS = 24 * 60 * 60 * 1_000;
const MAX_SENDERS = 10_000;

/** Networks from which a signature for a hook was right lately, in bounded memory. */
export class KnownSenders {
  /** When each was last right, least recent first. */
  readonly #senders = new Map<string, number>();
  readonly #now: () => number;

  /** @param now monotonic clock, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  has(hook: string, network: string): boolean {
    const right_ms = this.#senders.get(`${hook} ${network}`);
    return right_ms !== undefined && this.#now() - right_ms < KNOWN_MS;
  }

  add(hook: string, network: string): void {
    const sender = `${hook} ${network}`;
    this.#senders.delete(sender);
    this.#senders.set(sender, this.#now());
    if (this.#senders.size > MAX_SENDERS) this.#senders.delete(this.#senders.keys().next().value!);
  }
}
