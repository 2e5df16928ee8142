import type { ReadonlySignal } from "@preact/signals";

import type { ListedEvent } from "./row.ts";

/**
 * The rows of a list. The source knows queries, pages and streams; the list does not. Rows keep
 * their ids when others are added before, between or after them, so that the list can keep its
 * position.
 */
export type RowSource = {
  readonly length: ReadonlySignal<number>;
  /** Whether no row follows the last one. */
  readonly isComplete: ReadonlySignal<boolean>;
  /** The error of the last read; null without one. */
  readonly fault: ReadonlySignal<unknown>;
  /** Increases with every change of a row or of its position. */
  readonly version: ReadonlySignal<number>;
  /** Returns a row; undefined if it is not in memory until {@link need} has read it again. */
  at(index: number): ListedEvent | undefined;
  /** Returns the id of a row, also if it is not in memory. */
  idAt(index: number): string | undefined;
  /** Returns the index of a row by id; -1 if absent. */
  indexOf(id: string): number;
  /** Reads rows that are not in memory, and further ones when the end is near. */
  need(from: number, to: number): void;
  /** Retries a failed read. */
  retry(): void;
};

/** Returns the row of an event; undefined if the source does not hold it. */
export function rowById(source: RowSource, id: string): ListedEvent | undefined {
  return source.at(source.indexOf(id));
}
