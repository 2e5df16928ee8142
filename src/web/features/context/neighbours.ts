import { computed, signal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";

import type { TimeOrder } from "../../parts/rows/question.ts";
import { RowStore } from "../../parts/rows/row-store.ts";
import type { RowSource } from "../../parts/rows/row-source.ts";
import type { ListedEvent } from "../../parts/rows/row.ts";

/** Reads the events around one, ascending and including it. */
export type ReadNeighbours = (
  id: string,
  counts: { readonly before: number; readonly after: number },
  signal: AbortSignal,
) => Promise<readonly ListedEvent[]>;

export type NeighboursOptions = {
  readonly id: string;
  readonly order: TimeOrder;
  readonly read: ReadNeighbours;
};

/** Events to read: per side at first, per further read, and the distance that triggers one. */
const FIRST = 60;
const MORE = 200;
const AHEAD = 60;

type Side = "before" | "after";

/** The events around one of them, regardless of any filter, read further in both directions. */
export class Neighbours implements RowSource {
  readonly length: Signal<number> = signal(0);
  readonly isComplete: ReadonlySignal<boolean>;
  readonly fault: Signal<unknown> = signal(null);
  readonly version: Signal<number> = signal(0);
  /** Sides that have no more events. */
  readonly ends: Signal<Readonly<Record<Side, boolean>>> = signal({ before: false, after: false });
  readonly #options: NeighboursOptions;
  readonly #rows = new RowStore();
  readonly #abort = new AbortController();
  readonly #isBeginning = signal(false);
  #isReading = false;
  #wanted = { from: 0, to: 0 };

  constructor(options: NeighboursOptions) {
    this.#options = options;
    const far: Side = options.order === "desc" ? "before" : "after";
    this.isComplete = computed(() => this.ends.value[far]);
  }

  at(index: number): ListedEvent | undefined {
    return this.#rows.at(this.#place(index));
  }

  idAt(index: number): string | undefined {
    return this.#rows.idAt(this.#place(index));
  }

  indexOf(id: string): number {
    const index = this.#rows.indexOf(id);
    return index === -1 ? -1 : this.#place(index);
  }

  /** Reads the event and its neighbours. @throws the read's error */
  async begin(): Promise<void> {
    const { id, read } = this.#options;
    this.#isReading = true;
    this.#isBeginning.value = true;
    try {
      const rows = await read(id, { before: FIRST, after: FIRST }, this.#abort.signal);
      this.#rows.append(rows);
      const at = rows.findIndex((row) => row.id === id);
      this.ends.value = { before: at < FIRST, after: rows.length - 1 - at < FIRST };
      this.fault.value = null;
      this.#changed();
    } catch (fault) {
      if (!this.#abort.signal.aborted) this.fault.value = fault;
      throw fault;
    } finally {
      this.#isReading = false;
      this.#isBeginning.value = false;
    }
  }

  need(from: number, to: number): void {
    this.#wanted = { from, to };
    if (this.fault.peek() === null) this.#go();
  }

  /** Whether the event and its first neighbours are being read. */
  get isBeginning(): ReadonlySignal<boolean> {
    return this.#isBeginning;
  }

  retry(): void {
    // The fault stays visible until there is a response.
    if (this.#rows.length === 0) {
      void this.begin().catch(() => undefined);
      return;
    }
    this.fault.value = null;
    this.#go();
  }

  replace(row: ListedEvent): void {
    this.#rows.replace(row);
    this.#changed();
  }

  close(): void {
    this.#abort.abort();
  }

  #go(): void {
    const side = this.#missing();
    if (side === null || this.#isReading || this.#abort.signal.aborted) return;
    void this.#readMore(side);
  }

  /** Returns the side that has to be read next, if any. */
  #missing(): Side | null {
    const isDescending = this.#options.order === "desc";
    const length = this.#rows.length;
    if (length === 0) return null;
    const { before, after } = this.ends.peek();
    const isNearTop = this.#wanted.from < AHEAD;
    const isNearBottom = this.#wanted.to > length - AHEAD;
    if (!after && (isDescending ? isNearTop : isNearBottom)) return "after";
    return !before && (isDescending ? isNearBottom : isNearTop) ? "before" : null;
  }

  async #readMore(side: Side): Promise<void> {
    this.#isReading = true;
    try {
      await this.#request(side);
    } catch (fault) {
      if (!this.#abort.signal.aborted) this.fault.value = fault;
    } finally {
      this.#isReading = false;
    }
    if (this.fault.peek() === null) this.#go();
  }

  async #request(side: Side): Promise<void> {
    const edge = this.#rows.idAt(side === "before" ? 0 : this.#rows.length - 1)!;
    const counts = side === "before" ? { before: MORE, after: 0 } : { before: 0, after: MORE };
    const rows = await this.#options.read(edge, counts, this.#abort.signal);
    const fresh = side === "before" ? this.#rows.prepend(rows) : this.#rows.append(rows);
    if (fresh < MORE) this.ends.value = { ...this.ends.peek(), [side]: true };
    // The wanted window moves with rows added before it, as the list does.
    if ((this.#options.order === "desc") === (side === "after")) {
      this.#wanted = { from: this.#wanted.from + fresh, to: this.#wanted.to + fresh };
    }
    this.#changed();
  }

  #changed(): void {
    this.length.value = this.#rows.length;
    this.version.value += 1;
  }

  #place(index: number): number {
    return this.#options.order === "desc" ? this.#rows.length - 1 - index : index;
  }
}
