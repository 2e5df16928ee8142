const FIRST_LENGTH = 1024;
/** Fits into the nearest cache of a processor, as a table of all tokens would not. A power of two. */
const RECENT = 8192;
/** A list that has held more is not used again. */
const MAX_KEPT_LENGTH = 2 ** 20;
const MAX_KEPT_LISTS = 4;
/** No token. */
const FREE = -1;

/**
 * Tokens, which are integers of 30 bits. Those that were added a short while ago are not added once more:
 * most of what texts say is said again and again. What is left twice does no harm.
 */
export class TokenList {
  #tokens = new Int32Array(FIRST_LENGTH);
  #size = 0;
  readonly #recent: Int32Array;
  readonly #mask: number;

  /** @param recent how many tokens are remembered, a power of two */
  constructor(recent = RECENT) {
    this.#recent = new Int32Array(recent).fill(FREE);
    this.#mask = recent - 1;
  }

  get size(): number {
    return this.#size;
  }

  /** So many fit without growing. */
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

  /** Adds those from one place to the one before another. */
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

  /** Until the next is added. */
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

/** Lists that are used again: memory beside the heap is only given back by a collection of all that is old. */
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
