import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";

import type { ListedEvent } from "../rows/row.ts";

/** State of a value that is read when an event is opened. */
export type LoadState<Value> =
  | { readonly kind: "none" | "reading" }
  | { readonly kind: "read"; readonly value: Value }
  | { readonly kind: "failed"; readonly fault: unknown };

/**
 * Data and display state of an open event. It outlives the elements, which are removed when
 * scrolled away.
 */
export type OpenState = {
  readonly data: Signal<LoadState<string>>;
  readonly isUnfolded: Signal<boolean>;
  /** Whether the whole message of a cut text is shown, from the data. */
  readonly isWhole: Signal<boolean>;
  /** Whether its data is shown as a page. */
  readonly isPage: Signal<boolean>;
  /** Number of events in the range with its pattern. */
  readonly alike: Signal<LoadState<number>>;
};

const KEPT = 300;

export class OpenStates {
  readonly #states = new Map<string, OpenState>();

  of({ id }: Pick<ListedEvent, "id">): OpenState {
    const known = this.#states.get(id);
    if (known !== undefined) return known;
    const state: OpenState = {
      data: signal({ kind: "none" }),
      isUnfolded: signal(false),
      isWhole: signal(false),
      isPage: signal(false),
      alike: signal({ kind: "none" }),
    };
    const oldest = this.#states.keys().next();
    if (this.#states.size >= KEPT && !oldest.done) this.#states.delete(oldest.value);
    this.#states.set(id, state);
    return state;
  }
}

/** Reads a value once into a signal; reads again after a failure. */
export async function readInto<Value>(target: Signal<LoadState<Value>>, read: () => Promise<Value>): Promise<void> {
  if (target.peek().kind === "reading" || target.peek().kind === "read") return;
  target.value = { kind: "reading" };
  try {
    target.value = { kind: "read", value: await read() };
  } catch (fault) {
    target.value = { kind: "failed", fault };
  }
}
