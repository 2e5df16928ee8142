import type { ReadonlySignal } from "@preact/signals";

import type { EventRow } from "./row.ts";

/**
 * The rows of a list. It knows of queries, pages and streams; the list does not. Rows keep their ids
 * whatever is added before, between or behind them, so that the list can keep its place by them.
 */
export type RowSource = {
  readonly length: ReadonlySignal<number>;
  /** Whether no row follows the last one. */
  readonly isComplete: ReadonlySignal<boolean>;
  /** What kept the next rows from being read; null where nothing did. */
  readonly fault: ReadonlySignal<unknown>;
  /** Rises with every change of a row or of its place. */
  readonly version: ReadonlySignal<number>;
  /** A row; undefined where it is not held in memory, until {@link need} has read it again. */
  at(index: number): EventRow | undefined;
  /** The id of a row, also of one that is not held in memory. */
  idAt(index: number): string | undefined;
  /** Where the row with an id stands; -1 where there is none. */
  indexOf(id: string): number;
  /** Reads rows that are not held in memory, and those behind the last one where it is near. */
  need(from: number, to: number): void;
  /** Tries again what failed. */
  retry(): void;
};
