import { LoggiaError } from "../../errors.ts";

/** Memory limits of the bodies being processed, overall and per person. */
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_BYTES_OF_PERSON = 128 * 1024 * 1024;

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
  readonly ofPerson_bytes: number;
  /** Description of the person in error messages. */
  readonly who: string;
};

const BOUNDS: MemoryBounds = Object.freeze({
  most_bytes: MAX_BYTES,
  ofPerson_bytes: MAX_BYTES_OF_PERSON,
  who: "for the owner of this log",
});

/** Bounds for bodies that are read to verify their signature. A person is an address here. */
export const UNVERIFIED_BOUNDS: MemoryBounds = Object.freeze({
  most_bytes: 96 * 1024 * 1024,
  ofPerson_bytes: 32 * 1024 * 1024,
  who: "from your address",
});

/** Bounds the memory of all bodies being processed, and keeps room for each person. */
export class BodyMemory {
  #taken_bytes = 0;
  readonly #ofPerson = new Map<string, number>();
  readonly #bounds: MemoryBounds;

  constructor(bounds: MemoryBounds = BOUNDS) {
    this.#bounds = bounds;
  }

  /** Registers a request of a person. */
  enter(person: string): MemoryShare {
    const { most_bytes, ofPerson_bytes, who } = this.#bounds;
    let own_bytes = 0;
    const grow = (by_bytes: number): void => {
      const theirs_bytes = (this.#ofPerson.get(person) ?? 0) + by_bytes;
      if (by_bytes > 0 && theirs_bytes > ofPerson_bytes) {
        const message = `Too much data is in progress ${who}; wait until some of it is stored before sending more`;
        throw new LoggiaError("too_many_requests", message, { retryAfter_s: 1 });
      }
      if (by_bytes > 0 && this.#taken_bytes + by_bytes > most_bytes) {
        throw new LoggiaError("overloaded", "Too much data is being read and stored; try again shortly");
      }
      own_bytes += by_bytes;
      this.#taken_bytes += by_bytes;
      if (theirs_bytes === 0) this.#ofPerson.delete(person);
      else this.#ofPerson.set(person, theirs_bytes);
    };
    return { reserve: (size_bytes) => grow(size_bytes - own_bytes), release: () => grow(-own_bytes) };
  }
}
