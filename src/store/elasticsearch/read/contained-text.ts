import { fold, isWithinPair } from "../../../events/text.ts";

/** Units of a text that are folded at once. */
const PIECE = 8_192;

/** Searches texts for a text, ignoring case, with bounds on uninterrupted work. */
export class ContainedText {
  readonly #value: string;

  /** @param value not empty */
  constructor(value: string) {
    this.#value = fold(value);
  }

  /** Returns whether a text should be searched {@link inSteps in steps}. */
  isLong(text: string): boolean {
    return text.length > PIECE;
  }

  test(text: string): boolean {
    return fold(text).includes(this.#value);
  }

  /** Searches a text as {@link test} does, with a pause after each piece. */
  *inSteps(text: string): Generator<void, boolean, void> {
    let last = "";
    for (let start = 0; start < text.length;) {
      const next = Math.min(start + PIECE, text.length);
      const end = isWithinPair(text, next) ? next + 1 : next;
      const piece = last + fold(text.slice(start, end));
      if (piece.includes(this.#value)) return true;
      // The value may begin in this piece and end in the next one.
      last = this.#value.length === 1 ? "" : piece.slice(1 - this.#value.length);
      start = end;
      yield;
    }
    return false;
  }
}
