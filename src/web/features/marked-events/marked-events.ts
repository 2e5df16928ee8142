import { signal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";

import { faultMessage } from "../../parts/api/client.ts";
import type { MarkedEvent } from "./marked.ts";
import type { MarkedPage } from "./read-marked.ts";

/** Reads the newest events, or those after `after`. @throws ApiFault */
export type ReadMarked = (after: readonly MarkedEvent[]) => Promise<MarkedPage>;

/** A list across logs in the page: the events read, without those being removed. */
export class MarkedEvents {
  readonly #readPage: ReadMarked;
  readonly #events = signal<readonly MarkedEvent[] | null>(null);
  readonly #total = signal(0);
  readonly #fault = signal<string | null>(null);
  readonly #leaving = new Set<string>();
  /** Number of the newest read; results of older ones are ignored. */
  #reading = 0;
  /** Least number of events that a read fetches, if there are as many. */
  #wanted = 1;

  constructor(readPage: ReadMarked) {
    this.#readPage = readPage;
  }

  /** null until the events are loaded. */
  get events(): ReadonlySignal<readonly MarkedEvent[] | null> {
    return this.#events;
  }

  /** Total number of events, loaded or not. */
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
      if (reading === this.#reading) this.#fault.value = faultMessage(error);
    }
  }

  async readMore(): Promise<void> {
    this.#wanted = (this.#events.peek()?.length ?? 0) + this.#leaving.size + 1;
    await this.read();
  }

  /**
   * Removes events at once and hides them until `work` ends. A read during the work may still
   * include them, so the caller reads again.
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
