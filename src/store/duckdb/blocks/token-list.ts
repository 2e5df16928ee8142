const FIRST_LENGTH = 1024;
/** Fits into the nearest cache of a processor, as a table of all tokens would not. A power of two. */
const RECENT = 8192;
/** A list that has held more is not used again. */
const MAX_KEPT_LENGTH = 2 ** 20;
const MAX_KEPT_LISTS = 4;

/**
 * Tokens, which are signed integers of 32 bits. Those that were added a short while ago are not added once more:
 * most of what texts say is said again and again. What is left twice does no harm.
 */
export class TokenList {
  #tokens = new Int32Array(FIRST_LENGTH);
  #size = 0;
  readonly #recent: Int32Array;
  readonly #mask: number;

  /** @param recent how many tokens are remembered, a power of two */
  constructor(recent = RECENT) {
    this.#recent = new Int32Array(recent);
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
    // 0 marks what is free.
    const kept = token === 0 ? 1 : token;
    const place = kept & this.#mask;
    if (this.#recent[place] === kept) return;
    this.#recent[place] = kept;
    if (this.#size === this.#tokens.length) this.#grow();
    this.#tokens[this.#size++] = kept;
  }

  addAll(tokens: TokenList): void {
    tokens.each((token) => this.add(token));
  }

  each(visit: (token: number) => void): void {
    for (let i = 0; i < this.#size; i++) visit(this.#tokens[i]!);
  }

  clear(): void {
    this.#recent.fill(0);
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
