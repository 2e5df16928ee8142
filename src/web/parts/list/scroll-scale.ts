/** Greatest height of an element in pixels: Firefox clips at 17.8, Chromium at 33.5 million. */
export const MAX_ELEMENT_HEIGHT = 10_000_000;

/**
 * Maps a list of any height to an element that browsers can show. Up to the limit both are equal.
 * Beyond it, short scrolls move pixel by pixel, and a jump of the scroll bar moves by the same
 * share of the list. `shift` is the position in the list minus that in the element.
 */
export class ScrollScale {
  #total = 0;
  #viewport = 0;
  #physical = 0;
  #shift = 0;

  /** Height of the element. */
  get height(): number {
    return Math.min(this.#total, MAX_ELEMENT_HEIGHT);
  }

  get shift(): number {
    return this.#shift;
  }

  resize(total: number, viewport: number): void {
    const virtual = this.#physical + this.#shift;
    this.#total = total;
    this.#viewport = viewport;
    this.moveTo(virtual);
  }

  /** Follows the element's `scrollTop`, `physical`; returns the position in the list. */
  scrolled(physical: number): number {
    const step = physical - this.#physical;
    this.#physical = physical;
    if (!this.#isScaled) this.#shift = 0;
    else if (Math.abs(step) > this.#viewport || this.#isAtEnd(physical)) this.#jump(physical);
    return physical + this.#shift;
  }

  /** Moves to a position in the list; returns the element's `scrollTop` for it. */
  moveTo(virtual: number): number {
    const place = Math.max(0, Math.min(virtual, this.#total - this.#viewport));
    if (!this.#isScaled) {
      this.#physical = place;
      this.#shift = 0;
      return place;
    }
    const near = place - this.#shift;
    const margin = this.#viewport;
    const isInside = near > margin && near < this.height - this.#viewport - margin;
    this.#physical = isInside ? near : Math.round(place * this.#ratio);
    this.#shift = place - this.#physical;
    return this.#physical;
  }

  /**
   * Moves the scroll bar to its proportional position once scrolling has stopped: pixel steps alone
   * would reach the bar's end before the list's.
   *
   * @returns the `scrollTop` that shows the same position
   */
  settle(): number {
    if (!this.#isScaled) return this.#physical;
    const place = this.#physical + this.#shift;
    this.#physical = Math.round(place * this.#ratio);
    this.#shift = place - this.#physical;
    return this.#physical;
  }

  get #isScaled(): boolean {
    return this.#total > MAX_ELEMENT_HEIGHT;
  }

  /** Ratio of the element's scroll range to the list's. */
  get #ratio(): number {
    return (this.height - this.#viewport) / (this.#total - this.#viewport);
  }

  #isAtEnd(physical: number): boolean {
    return physical <= 0 || physical >= this.height - this.#viewport;
  }

  #jump(physical: number): void {
    const share = physical / Math.max(1, this.height - this.#viewport);
    this.#shift = Math.round(Math.min(1, share) * (this.#total - this.#viewport)) - physical;
  }
}
