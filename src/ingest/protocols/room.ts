import { LoggiaError } from "../../errors.ts";

/** Memory that bodies under way may take together, and those of one person. */
const MOST_BYTES = 256 * 1024 * 1024;
const MOST_OF_PERSON_BYTES = 128 * 1024 * 1024;

/** The memory that one request takes. */
export type Share = {
  /**
   * Takes so much in all, more or less than before.
   * @throws LoggiaError `too_many_requests`, `overloaded`
   */
  take(size_bytes: number): void;
  release(): void;
};

/** Bounds the memory of all bodies that are being read, and leaves room for each person. */
export class BodyRoom {
  #taken_bytes = 0;
  readonly #ofPerson = new Map<string, number>();

  /** A request of this person enters. */
  enter(person: string): Share {
    let own_bytes = 0;
    const grow = (by_bytes: number): void => {
      const theirs_bytes = (this.#ofPerson.get(person) ?? 0) + by_bytes;
      if (by_bytes > 0 && theirs_bytes > MOST_OF_PERSON_BYTES) {
        const message = "Too much is being read for the owner of this log; let some of it end before you send more";
        throw new LoggiaError("too_many_requests", message, { retryAfter_s: 1 });
      }
      if (by_bytes > 0 && this.#taken_bytes + by_bytes > MOST_BYTES) {
        throw new LoggiaError("overloaded", "Too much is being read and stored; try again shortly");
      }
      own_bytes += by_bytes;
      this.#taken_bytes += by_bytes;
      if (theirs_bytes === 0) this.#ofPerson.delete(person);
      else this.#ofPerson.set(person, theirs_bytes);
    };
    return { take: (size_bytes) => grow(size_bytes - own_bytes), release: () => grow(-own_bytes) };
  }
}
