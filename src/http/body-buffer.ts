const NOTHING = Buffer.alloc(0);
const FIRST_BYTES = 16 * 1024;
/** Growth of a body of unknown size, and of known size. */
const [DOUBLE, KNOWN_GROWTH] = [2, 16];

/**
 * Bytes of a body in one buffer that grows as they arrive. Kept apart, pieces of a few bytes would
 * take many times their size.
 */
export class BodyBuffer {
  #most_bytes: number;
  #growth = DOUBLE;
  #buffer = NOTHING;
  size_bytes = 0;

  /** @param most_bytes largest size of the body */
  constructor(most_bytes: number) {
    this.#most_bytes = most_bytes;
  }

  get capacity_bytes(): number {
    return this.#buffer.length;
  }

  /** Returns the capacity after adding this many bytes: the memory that the body then takes. */
  capacityWith(more_bytes: number): number {
    const needed_bytes = this.size_bytes + more_bytes;
    const { length } = this.#buffer;
    if (needed_bytes <= length) return length;
    return Math.max(needed_bytes, Math.min(this.#most_bytes, Math.max(this.#growth * length, FIRST_BYTES)));
  }

  /**
   * Sets the size of a body of known size, which grows in few steps. It is not allocated at once:
   * senders may announce much and send little.
   */
  announce(size_bytes: number): void {
    this.#most_bytes = size_bytes;
    this.#growth = KNOWN_GROWTH;
  }

  append(bytes: Buffer): void {
    const capacity_bytes = this.capacityWith(bytes.length);
    if (capacity_bytes > this.#buffer.length) this.#resize(capacity_bytes);
    bytes.copy(this.#buffer, this.size_bytes);
    this.size_bytes += bytes.length;
  }

  /** The bytes so far. They stay valid until the next change. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.size_bytes);
  }

  clear(): void {
    this.#buffer = NOTHING;
    this.size_bytes = 0;
  }

  #resize(capacity_bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(capacity_bytes);
    this.#buffer.copy(larger, 0, 0, this.size_bytes);
    this.#buffer = larger;
  }
}
