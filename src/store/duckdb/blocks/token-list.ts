const FIRST_LENGTH = 1024;
/** Size of the table of recent tokens, a power of two. Fits into the L1 cache. */
const RECENT = 8192;
/** Lists that have grown beyond this are not pooled. */
const MAX_KEPT_LENGTH = 2 ** 20;
const MAX_KEPT_LISTS = 4;
/** Marks a free place; not a token. */
const FREE = -1;

/**
 * A list of tokens, which are 30-bit integers. Recently added tokens are skipped, as texts repeat;
 * the remaining duplicates do no harm.
 */
export class TokenList {
  #tokens = new Int32Array(FIRST_LENGTH);
  #size = 0;
  readonly #recent: Int32Array;
  readonly #mask: number;

  /** @param recent size of the table of recent tokens, a power of two */
  constructor(recent = RECENT) {
    this.#recent = new Int32Array(recent).fill(FREE);
    this.#mask = recent - 1;
  }

  get size(): number {
    return this.#size;
  }

  /** Capacity before the list must grow. */
  get length(): number {
    return this.#tokens.length;
  }

  add(token: number): void {
    const place = token & this.#mask;
    if (this.#recent[place] === token) return;
    this.#recent[place] = token;
    if (this.#size === this.#tokens.length) this.#grow();
    this.#tokens[this.#size++] = token;
  }

  /** Adds the tokens from index `from` up to, but not including, `to`. */
  addSome(tokens: Int32Array, from: number, to: number): void {
    while (this.#size + to - from > this.#tokens.length) this.#grow();
    const [recent, mask, own] = [this.#recent, this.#mask, this.#tokens];
    let size = this.#size;
    for (let i = from; i < to; i++) {
      const token = tokens[i]!;
      const place = token & mask;
      if (recent[place] === token) continue;
      recent[place] = token;
      own[size++] = token;
    }
    this.#size = size;
  }

  addAll(tokens: TokenList): void {
    this.addSome(tokens.#tokens, 0, tokens.#size);
  }

  /** The tokens. Valid until the next one is added. */
  get tokens(): Int32Array {
    return this.#tokens.subarray(0, this.#size);
  }

  clear(): void {
    this.#recent.fill(FREE);
    this.#size = 0;
  }

  #grow(): void {
    const tokens = new Int32Array(this.#tokens.length * 2);
    tokens.set(this.#tokens);
    this.#tokens = tokens;
  }
}

/**
 * Pools lists for reuse: memory outside of the heap is only freed by a major garbage collection.
 */
export class TokenListPool {
  readonly #free: TokenList[] = [];

  take(): TokenList {
    return this.#free.pop() ?? new TokenList();
  }

  giveBack(tokens: TokenList): void {
    if (this.#free.length === MAX_KEPT_LISTS || tokens.length > MAX_KEPT_LENGTH) return;
    tokens.clear();
    this.#free.push(tokens);
  }
}
