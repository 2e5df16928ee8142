import { effect, signal } from "@preact/signals";
import type { Signal } from "@preact/signals";

import { textWithoutClauses } from "../../parts/query/clauses.ts";
import type { Run } from "../search.ts";
import type { Tail } from "./tail.ts";

export type LiveCountsOptions = {
  readonly run: Run;
  readonly tail: Pick<Tail, "arrived" | "pause">;
  /** Whether the reader is using the counts; they are then not updated. */
  readonly isInUse: () => boolean;
  readonly now?: () => number;
  readonly later?: (task: () => void, delay_ms: number) => () => void;
};

/** Least pause between two counts, in milliseconds and as a multiple of the last duration. */
const REST_MS = 5_000;
const REST_RATIO = 4;
/** Interval at which the conditions of a new count are checked, in milliseconds. */
const LOOK_MS = 500;

/**
 * The run that heading, bars and fields count during a live tail. It begins with the tail's range
 * and ends now. The next one begins when events have arrived, the last is counted, and the reader
 * is not using the counts.
 */
export class LiveCounts {
  readonly run: Signal<Run>;
  /** Whether new events are not counted yet because the reader is using the counts. */
  readonly isHeld: Signal<boolean> = signal(false);
  readonly #options: Required<LiveCountsOptions>;
  readonly #stops: readonly (() => void)[];
  #cancelLook: (() => void) | null = null;
  #hasNews = false;
  /** Latest `created` of the events that arrived; producers' clocks may be ahead. */
  #latest_ms = 0;
  #began_ms = 0;
  #next_ms = 0;

  constructor({ now = Date.now, later = afterDelay, ...options }: LiveCountsOptions) {
    this.#options = { now, later, ...options };
    const { run, tail } = this.#options;
    // A tail has no end and follows all matching events, so these clauses do not apply.
    const query = textWithoutClauses(run.query, ["sort", "take", "skip", "columns", "occurs"]);
    this.run = signal(query === run.query ? run : { ...run, query });
    this.#stops = [
      effect(() => {
        for (const { created } of tail.arrived.value) this.#latest_ms = Math.max(this.#latest_ms, created);
        this.#hasNews ||= tail.arrived.value.length > 0;
        if (tail.pause.value === null) this.#look();
      }),
      effect(() => {
        if (this.run.value.reading.value > 0 || this.#began_ms === 0) return;
        const ended_ms = now();
        this.#next_ms = ended_ms + Math.max(REST_MS, REST_RATIO * (ended_ms - this.#began_ms));
      }),
    ];
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.#cancelLook?.();
    this.#cancelLook = null;
    this.#hasNews = false;
  }

  #look(): void {
    if (!this.#hasNews || this.#cancelLook !== null) return;
    const isDue = this.#isDue();
    this.isHeld.value = isDue && this.#options.isInUse();
    if (isDue && !this.isHeld.peek()) this.#begin();
    else {
      this.#cancelLook = this.#options.later(() => {
        this.#cancelLook = null;
        // Events held back by a pause are counted when it ends.
        if (this.#options.tail.pause.peek() === null) this.#look();
      }, LOOK_MS);
    }
  }

  #isDue(): boolean {
    const { reading } = this.run.peek();
    return this.#options.now() >= this.#next_ms && reading.peek() === 0;
  }

  #begin(): void {
    const run = this.run.peek();
    this.#hasNews = false;
    this.#began_ms = this.#options.now();
    this.#next_ms = this.#began_ms + REST_MS;
    const to = Math.max(this.#began_ms, this.#latest_ms + 1);
    // It counts its own parts: those of the search itself can be cancelled.
    this.run.value = { ...run, moments: { from: run.moments.from, to }, reading: signal(0) };
  }
}

function afterDelay(task: () => void, delay_ms: number): () => void {
  const timer = setTimeout(task, delay_ms);
  return () => clearTimeout(timer);
}
