import { LoggiaError } from "../../errors.ts";

/** Memory limits of the bodies being processed, overall and per quota owner. */
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_BYTES_OF_OWNER = 128 * 1024 * 1024;

/** Memory reserved by one request. */
export type MemoryShare = {
  /**
   * Sets the reserved size, which may be larger or smaller than before.
   * @throws LoggiaError `too_many_requests`, `overloaded`
   */
  reserve(size_bytes: number): void;
  release(): void;
};

export type MemoryBounds = {
  readonly most_bytes: number;
  readonly ofOwner_bytes: number;
  /** Description of the owner in error messages. */
  readonly who: string;
};

const BOUNDS: MemoryBounds = Object.freeze({
  most_bytes: MAX_BYTES,
  ofOwner_bytes: MAX_BYTES_OF_OWNER,
  who: "for the owner of this log",
});

/** Bounds for bodies that are read to verify their signature. Their owner is an address here. */
export const UNVERIFIED_BOUNDS: MemoryBounds = Object.freeze({
  most_bytes: 96 * 1024 * 1024,
  ofOwner_bytes: 32 * 1024 * 1024,
  who: "from your address",
});

/** Bounds the memory of all bodies being processed, and keeps room for each owner. */
export class BodyMemory {
  #taken_bytes = 0;
  readonly #ofOwner = new Map<string, number>();
  readonly #bounds: MemoryBounds;

  constructor(bounds: MemoryBounds = BOUNDS) {
    this.#bounds = bounds;
  }

  /** Registers a request that counts for an owner. */
  enter(owner: string): MemoryShare {
    const { most_bytes, ofOwner_bytes, who } = this.#bounds;
    let own_bytes = 0;
    const grow = (by_bytes: number): void => {
      const theirs_bytes = (this.#ofOwner.get(owner) ?? 0) + by_bytes;
      if (by_bytes > 0 && theirs_bytes > ofOwner_bytes) {
        const message = `Too much data is in progress ${who}; wait until some of it is stored before sending more`;
        throw new LoggiaError("too_many_requests", message, { retryAfter_s: 1 });
      }
      if (by_bytes > 0 && this.#taken_bytes + by_bytes > most_bytes) {
        throw new LoggiaError("overloaded", "Too much data is being read and stored; try again shortly");
      }
      own_bytes += by_bytes;
      this.#taken_bytes += by_bytes;
      if (theirs_bytes === 0) this.#ofOwner.delete(owner);
      else this.#ofOwner.set(owner, theirs_bytes);
    };
    return { reserve: (size_bytes) => grow(size_bytes - own_bytes), release: () => grow(-own_bytes) };
  }
}
