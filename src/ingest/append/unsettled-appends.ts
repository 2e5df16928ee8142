import type { EventId } from "../../events/id.ts";

/** Time after the append timeout in which an append may still reach the bus, in milliseconds. */
const LATE_MS = 500;

/** Appends that may still bring new ids to the bus, in the order of their ids. */
export class UnsettledAppends {
  readonly #append_ms: number;
  readonly #appends: { readonly first: EventId; readonly begun_ms: number }[] = [];

  /** @param append_ms longest time one append may take */
  constructor(append_ms: number) {
    this.#append_ms = append_ms;
  }

  /** Returns the lowest id that may still reach the bus; null if there is none. */
  get firstId(): EventId | null {
    this.#dropLost();
    return this.#appends[0]?.first ?? null;
  }

  /**
   * Adds an append. It counts until the returned function is called or its ids can no longer
   * arrive.
   */
  add(first: EventId, begun_ms: number): () => void {
    this.#dropLost();
    const append = { first, begun_ms };
    this.#appends.push(append);
    return () => {
      const place = this.#appends.indexOf(append);
      if (place >= 0) this.#appends.splice(place, 1);
    };
  }

  #dropLost(): void {
    const now_ms = performance.now();
    while (this.#appends.length > 0 && now_ms - this.#appends[0]!.begun_ms > this.#append_ms + LATE_MS) {
      this.#appends.shift();
    }
  }
}
