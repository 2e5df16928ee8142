/** Browsers cut elements that are higher: Firefox at 17.8 million pixels, Chromium at 33.5 million. */
export const MAX_ELEMENT_HEIGHT = 10_000_000;

/**
 * Maps a list of any height onto an element that browsers can show. Up to the limit both are the
 * same. Beyond it, short ways are scrolled pixel by pixel, and a jump of the scroll bar is a jump of
 * the same share of the list. `shift` is what lies between a place in the list and in the element.
 */
export class ScrollScale {
  #total = 0;
  #viewport = 0;
  #physical = 0;
  #shift = 0;

  /** The height that the element gets. */
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

  /** @param physical scrollTop of the element. @returns where that is in the list */
  scrolled(physical: number): number {
    const step = physical - this.#physical;
    this.#physical = physical;
    if (!this.#isScaled) this.#shift = 0;
    else if (Math.abs(step) > this.#viewport || this.#isAtEnd(physical)) this.#jump(physical);
    return physical + this.#shift;
  }

  /** @returns the scrollTop at which a place in the list is the first one to be seen */
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
   * Puts the scroll bar where its share of the list says, once the reader has come to rest: step by
   * step it would reach its end before the list's.
   *
   * @returns the scrollTop that shows the same place
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

  /** Of the way that the element can be scrolled, to that of the list. */
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
