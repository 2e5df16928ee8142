import { signal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";

import { wordsOf } from "../api/client.ts";
import type { MarkedEvent } from "./marked.ts";
import type { MarkedPage } from "./read-marked.ts";

/** Reads the newest events, or those behind `after`. @throws ApiFault */
export type ReadMarked = (after: readonly MarkedEvent[]) => Promise<MarkedPage>;

/** A list across logs as the page knows it: what was read, less what is being taken out. */
export class MarkedEvents {
  readonly #readPage: ReadMarked;
  readonly #events = signal<readonly MarkedEvent[] | null>(null);
  readonly #total = signal(0);
  readonly #fault = signal<string | null>(null);
  readonly #leaving = new Set<string>();
  /** The newest reading; the answers of older ones are left out. */
  #reading = 0;
  /** How many events a reading fetches at least, as far as there are as many. */
  #wanted = 1;

  constructor(readPage: ReadMarked) {
    this.#readPage = readPage;
  }

  /** null until they are there. */
  get events(): ReadonlySignal<readonly MarkedEvent[] | null> {
    return this.#events;
  }

  /** How many there are, those that are not loaded too. */
  get total(): ReadonlySignal<number> {
    return this.#total;
  }

  get fault(): ReadonlySignal<string | null> {
    return this.#fault;
  }

  /** Reads the list again, as far as it was loaded. */
  async read(): Promise<void> {
    this.#reading += 1;
    const reading = this.#reading;
    try {
      const page = await this.#readPages();
      if (reading !== this.#reading) return;
      this.#show(page);
      this.#fault.value = null;
    } catch (error) {
      if (reading === this.#reading) this.#fault.value = wordsOf(error);
    }
  }

  async readMore(): Promise<void> {
    this.#wanted = (this.#events.peek()?.length ?? 0) + this.#leaving.size + 1;
    await this.read();
  }

  /**
   * Takes events out at once, and keeps them out until `work` is over. What was read meanwhile may
   * not know of it, so the caller reads again.
   */
  async leave<T>(ids: readonly string[], work: () => Promise<T>): Promise<T> {
    for (const id of ids) this.#leaving.add(id);
    this.#show({ events: this.#events.peek() ?? [], total: this.#total.peek() });
    try {
      return await work();
    } finally {
      for (const id of ids) this.#leaving.delete(id);
      this.#reading += 1;
    }
  }

  async #readPages(): Promise<MarkedPage> {
    let page = await this.#readPage([]);
    while (page.events.length < Math.min(this.#wanted, page.total)) {
      const { events } = await this.#readPage(page.events);
      if (events.length === page.events.length) break;
      page = { events, total: page.total };
    }
    return page;
  }

  #show({ events, total }: MarkedPage): void {
    const left = events.filter(({ id }) => !this.#leaving.has(id));
    this.#events.value = left;
    this.#total.value = total - (events.length - left.length);
    this.#wanted = Math.max(1, events.length);
  }
}
