/** Slots of an empty set. */
const FIRST_SLOTS = 1024;
/** 2^32 divided by the golden ratio: spreads tokens over slots by their upper bits. */
const SPREAD = 0x9e3779b1;
/** A set that has held more is not used again. */
const MAX_KEPT_SLOTS = 2 ** 19;
const MAX_KEPT_SETS = 4;

/**
 * Distinct tokens, which are 32-bit numbers. A hash table in one array, with the tokens once more in the order in
 * which they came: to read or clear it costs as much as it holds, however large it once was.
 */
export class TokenSet {
  /** 0 is a free slot; no more than half are taken. */
  #slots = new Uint32Array(FIRST_SLOTS);
  #shift = 32 - Math.log2(FIRST_SLOTS);
  #tokens = new Uint32Array(FIRST_SLOTS / 2 + 1);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get slots(): number {
    return this.#slots.length;
  }

  add(token: number): void {
    const kept = token >>> 0 || 1;
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = Math.imul(kept, SPREAD) >>> this.#shift;
    for (let found = slots[slot]!; found !== 0; found = slots[slot]!) {
      if (found === kept) return;
      slot = (slot + 1) & mask;
    }
    slots[slot] = kept;
    this.#tokens[this.#size] = kept;
    this.#size += 1;
    if (this.#size * 2 > slots.length) this.#grow();
  }

  addAll(tokens: TokenSet): void {
    tokens.each((token) => this.add(token));
  }

  each(visit: (token: number) => void): void {
    for (let i = 0; i < this.#size; i++) visit(this.#tokens[i]!);
  }

  clear(): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    // What stands behind a token's own slot is to go as well.
    this.each((token) => {
      for (let slot = Math.imul(token, SPREAD) >>> this.#shift; slots[slot] !== 0; slot = (slot + 1) & mask) {
        slots[slot] = 0;
      }
    });
    this.#size = 0;
  }

  #grow(): void {
    const tokens = this.#tokens;
    const size = this.#size;
    this.#slots = new Uint32Array(this.#slots.length * 2);
    this.#tokens = new Uint32Array(this.#slots.length / 2 + 1);
    this.#shift -= 1;
    this.#size = 0;
    for (let i = 0; i < size; i++) this.add(tokens[i]!);
  }
}

/** Sets that are used again: memory beside the heap is only given back by a collection of all that is old. */
export class TokenSetPool {
  readonly #free: TokenSet[] = [];

  take(): TokenSet {
    return this.#free.pop() ?? new TokenSet();
  }

  giveBack(tokens: TokenSet): void {
    if (this.#free.length === MAX_KEPT_SETS || tokens.slots > MAX_KEPT_SLOTS) return;
    tokens.clear();
    this.#free.push(tokens);
  }
}
