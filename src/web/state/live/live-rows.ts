import { computed, signal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";

import type { TimeOrder } from "../../parts/rows/question.ts";
import { RowStore } from "../../parts/rows/row-store.ts";
import type { RowSource } from "../../parts/rows/row-source.ts";
import type { ListedEvent } from "../../parts/rows/row.ts";

export type LiveRowsOptions = {
  readonly order: TimeOrder;
  /** Events accepted before one, newest first; read when the reader scrolls past memory. */
  readonly older: (id: string) => RowSource;
  /** Most rows in memory: `shown` in the list, `held` back during a pause. */
  readonly shown?: number;
  readonly held?: number;
};

/** A gap: events dropped for a slow client, between two that it received. */
export type SkippedEvents = { readonly after: string; readonly before: string; readonly count: number };

const SHOWN = 5_000;
const HELD = 10_000;

/**
 * The rows of a tail, in the order of acceptance. While the list follows, new rows join it and the
 * oldest leave memory; while it is paused, new ones are held back and no row moves.
 */
export class LiveRows implements RowSource {
  readonly length: ReadonlySignal<number>;
  readonly isComplete: ReadonlySignal<boolean>;
  readonly fault: ReadonlySignal<unknown>;
  readonly version: ReadonlySignal<number>;
  /** Number of events that arrived since the pause began. */
  readonly waiting: Signal<number> = signal(0);
  readonly skipped: Signal<readonly SkippedEvents[]> = signal([]);
  readonly #options: Required<LiveRowsOptions>;
  readonly #shown = new RowStore();
  readonly #count = signal(0);
  readonly #changes = signal(0);
  readonly #older: Signal<RowSource | null> = signal(null);
  #held = new RowStore();
  #isPaused = false;
  /** Whether held rows were dropped, so that there is a gap between shown and held rows. */
  #hasLost = false;

  constructor({ shown = SHOWN, held = HELD, ...options }: LiveRowsOptions) {
    this.#options = { shown, held, ...options };
    const older = this.#older;
    this.length = computed(() => this.#count.value + (older.value?.length.value ?? 0));
    // Whether older events exist is unknown until the reader scrolls there.
    this.isComplete = computed(() => older.value?.isComplete.value ?? false);
    this.fault = computed(() => older.value?.fault.value ?? null);
    this.version = computed(() => this.#changes.value + (older.value?.version.value ?? 0));
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  at(index: number): ListedEvent | undefined {
    const place = this.#place(index);
    return place.isOlder ? this.#older.peek()?.at(place.index) : this.#shown.at(place.index);
  }

  idAt(index: number): string | undefined {
    const place = this.#place(index);
    return place.isOlder ? this.#older.peek()?.idAt(place.index) : this.#shown.idAt(place.index);
  }

  indexOf(id: string): number {
    const shown = this.#shown.indexOf(id);
    const older = shown === -1 ? (this.#older.peek()?.indexOf(id) ?? -1) : -1;
    if (shown === -1 && older === -1) return -1;
    if (this.#options.order === "desc")
      return older === -1 ? this.#shown.length - 1 - shown : this.#shown.length + older;
    const before = this.#older.peek()?.length.peek() ?? 0;
    return older === -1 ? before + shown : before - 1 - older;
  }

  need(from: number, to: number): void {
    const isDescending = this.#options.order === "desc";
    const isAtFarEnd = isDescending ? to >= this.#shown.length : from <= (this.#older.peek()?.length.peek() ?? 0);
    const oldest = this.#shown.idAt(0);
    if (!isAtFarEnd || oldest === undefined || !this.#isPaused) return;
    this.#older.value ??= this.#options.older(oldest);
    const length = this.#older.value.length.peek();
    if (isDescending) this.#older.value.need(Math.max(0, from - this.#shown.length), to - this.#shown.length);
    else this.#older.value.need(Math.max(0, length - to), Math.max(0, length - from));
  }

  retry(): void {
    this.#older.peek()?.retry();
  }

  /** Adds events that have arrived, oldest first; returns the new ones. */
  arrive(rows: readonly ListedEvent[]): readonly ListedEvent[] {
    const fresh = rows.filter(({ id }) => !this.#shown.has(id) && !this.#held.has(id));
    if (this.#isPaused) this.#hold(fresh);
    else this.#show(fresh);
    return fresh;
  }

  #hold(rows: readonly ListedEvent[]): void {
    this.#held.append(rows);
    this.waiting.value += rows.length;
    const excess = this.#held.length - this.#options.held;
    if (excess <= 0) return;
    this.#held.shift(excess);
    this.#hasLost = true;
  }

  #show(rows: readonly ListedEvent[]): void {
    if (rows.length === 0) return;
    this.#shown.append(rows);
    const excess = this.#shown.length - this.#options.shown;
    if (excess > 0) this.#shown.shift(excess);
    this.#older.value = null;
    this.skipped.value = this.skipped.peek().filter(({ before }) => this.#shown.has(before));
    this.#changed();
  }

  /** Pauses the list: no row moves, and new events are held back. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Resumes the list: events held back join it in order, each once. */
  resume(): void {
    if (!this.#isPaused) return;
    const held = this.#held;
    this.#held = new RowStore();
    this.#isPaused = false;
    this.waiting.value = 0;
    // Older rows, including those of the gap, are read by pages.
    if (this.#hasLost) this.#shown.shift(this.#shown.length);
    this.#hasLost = false;
    this.#older.value = null;
    this.#show(Array.from({ length: held.length }, (_, index) => held.at(index)!));
    this.#changed();
  }

  /** Records a gap between two events. */
  skip(gap: SkippedEvents): void {
    this.skipped.value = [...this.skipped.peek(), gap];
  }

  /** Inserts the events of a gap. */
  putBack(gap: SkippedEvents, rows: readonly ListedEvent[]): void {
    const store = this.#shown.has(gap.before) ? this.#shown : this.#held;
    const index = store.indexOf(gap.before);
    if (index !== -1) store.insert(index, rows);
    this.skipped.value = this.skipped.peek().filter((other) => other !== gap);
    this.#changed();
  }

  /** Replaces the row with the same id. */
  replace(row: ListedEvent): void {
    this.#shown.replace(row);
    this.#held.replace(row);
    this.#changed();
  }

  #changed(): void {
    this.#count.value = this.#shown.length;
    this.#changes.value += 1;
  }

  #place(index: number): { readonly isOlder: boolean; readonly index: number } {
    const shown = this.#shown.length;
    if (this.#options.order === "desc") {
      return index < shown ? { isOlder: false, index: shown - 1 - index } : { isOlder: true, index: index - shown };
    }
    const before = this.#older.peek()?.length.peek() ?? 0;
    return index < before ? { isOlder: true, index: before - 1 - index } : { isOlder: false, index: index - before };
  }
}
