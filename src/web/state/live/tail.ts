import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";

import type { ListedEvent } from "../../parts/rows/row.ts";
import type { LiveRows, SkippedEvents } from "./live-rows.ts";

/** Callbacks of a stream. `ended` comes once, as the last; its fault is null at a regular end. */
export type StreamEvents = {
  readonly opened: () => void;
  readonly event: (row: ListedEvent) => void;
  readonly skipped: (count: number) => void;
  readonly ended: (fault: unknown) => void;
};

/** Start of a stream: the last events, or those after an event. */
export type StreamStart = { readonly last: number } | { readonly after: string };

/** Opens the stream of a query; returns a function that closes it and stops all callbacks. */
export type OpenStream = (start: StreamStart, events: StreamEvents) => () => void;

export type TailConnection =
  | { readonly kind: "connecting" }
  | { readonly kind: "open" }
  /** Reconnects at a moment, in milliseconds since the Unix epoch. */
  | { readonly kind: "waiting"; readonly at_ms: number; readonly fault: unknown }
  /** Does not reconnect: the log is gone, or the query can't be followed. */
  | { readonly kind: "refused"; readonly fault: unknown };

export const PAUSES = {
  scrolled: "You scrolled.",
  opened: "An event is open.",
  selected: "You selected text.",
  focused: "A row is in focus.",
  pressed: "You hold the pointer down.",
  menu: "A menu is open.",
  asked: "You paused.",
} as const;
export type Pause = keyof typeof PAUSES;

/** An event that has arrived, reduced to what is counted. */
export type Arrival = { readonly created: number; readonly class: string | null };

export type TailOptions = {
  readonly rows: LiveRows;
  readonly open: OpenStream;
  /** Whether a fault is permanent for this query. */
  readonly isFinal: (fault: unknown) => boolean;
  readonly now?: () => number;
  readonly later?: (task: () => void, delay_ms: number) => () => void;
};

/** Number of recent events that a tail begins with. */
const LAST = 500;
/** Least time between additions to the list, in milliseconds. */
const BATCH_MS = 250;
const DELAYS_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000] as const;

/** Follows a query across pauses and reconnects, without losing or repeating events. */
export class Tail {
  readonly connection: Signal<TailConnection> = signal({ kind: "connecting" });
  readonly pause: Signal<Pause | null> = signal(null);
  /** The last batch of events, held back or not. */
  readonly arrived: Signal<readonly Arrival[]> = signal([]);
  readonly #rows: LiveRows;
  readonly #open: OpenStream;
  readonly #isFinal: (fault: unknown) => boolean;
  readonly #now: () => number;
  readonly #later: (task: () => void, delay_ms: number) => () => void;
  #close: (() => void) | null = null;
  #cancelRetry: (() => void) | null = null;
  #cancelFlush: (() => void) | null = null;
  #batch: ListedEvent[] = [];
  #lastId: string | null = null;
  #skipped = 0;
  #failures = 0;
  #isStopped = false;

  constructor({ rows, open, isFinal, now = Date.now, later = afterDelay }: TailOptions) {
    this.#rows = rows;
    this.#open = open;
    this.#isFinal = isFinal;
    this.#now = now;
    this.#later = later;
    this.connect();
  }

  /** Opens the stream, or reconnects without waiting for the next retry. */
  connect(): void {
    if (this.#isStopped || this.#close !== null) return;
    this.#cancelRetry?.();
    this.#cancelRetry = null;
    this.connection.value = { kind: "connecting" };
    const start: StreamStart = this.#lastId === null ? { last: LAST } : { after: this.#lastId };
    this.#close = this.#open(start, {
      opened: () => {
        this.connection.value = { kind: "open" };
      },
      event: (row) => this.#take(row),
      skipped: (count) => {
        this.#skipped += count;
      },
      ended: (fault) => this.#ended(fault),
    });
  }

  /** Stops the tail permanently. */
  stop(): void {
    this.#isStopped = true;
    this.#close?.();
    this.#close = null;
    this.#cancelRetry?.();
    this.#flush();
  }

  /** Pauses the list. An active pause keeps its reason, unless it is `pressed`. */
  hold(reason: Pause): void {
    if (this.pause.peek() === "pressed") this.pause.value = reason;
    if (this.pause.peek() !== null) return;
    this.#flush();
    this.pause.value = reason;
    this.#rows.pause();
  }

  /** Called when the pointer is released: resumes if the press was the only reason to pause. */
  release(): void {
    if (this.pause.peek() === "pressed") this.resume();
  }

  resume(): void {
    if (this.pause.peek() === null) return;
    this.#flush();
    this.pause.value = null;
    this.#rows.resume();
  }

  /** Reads the events of a gap with a separate stream that closes at the end of the gap. */
  async fill(gap: SkippedEvents): Promise<void> {
    const rows: ListedEvent[] = [];
    await new Promise<void>((resolve, reject) => {
      const close = this.#open(
        { after: gap.after },
        {
          opened: () => undefined,
          event: (row) => {
            if (row.id < gap.before) rows.push(row);
            else {
              close();
              resolve();
            }
          },
          skipped: () => undefined,
          ended: (fault) => reject(fault instanceof Error ? fault : new Error("The stream ended")),
        },
      );
    });
    this.#rows.putBack(gap, rows);
  }

  #take(row: ListedEvent): void {
    this.#failures = 0;
    if (this.#skipped > 0 && this.#lastId !== null) {
      this.#flush();
      this.#rows.skip({ after: this.#lastId, before: row.id, count: this.#skipped });
    }
    this.#skipped = 0;
    this.#lastId = row.id;
    this.#batch.push(row);
    this.#cancelFlush ??= this.#later(() => this.#flush(), BATCH_MS);
  }

  #flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = null;
    if (this.#batch.length === 0) return;
    const fresh = this.#rows.arrive(this.#batch);
    this.#batch = [];
    this.arrived.value = fresh.map((row) => ({ created: row.created, class: row.class }));
  }

  #ended(fault: unknown): void {
    this.#close = null;
    if (this.#isStopped) return;
    if (fault !== null && this.#isFinal(fault)) {
      this.connection.value = { kind: "refused", fault };
      return;
    }
    const delay_ms = Math.max(waitAsked(fault), DELAYS_MS[Math.min(this.#failures, DELAYS_MS.length - 1)]!);
    this.#failures += 1;
    this.connection.value = { kind: "waiting", at_ms: this.#now() + delay_ms, fault };
    this.#cancelRetry = this.#later(() => this.connect(), delay_ms);
  }
}

/** Returns the wait that the service asks for, in milliseconds; 0 without one. */
function waitAsked(fault: unknown): number {
  const wait = typeof fault === "object" && fault !== null && "retryAfter_s" in fault ? fault.retryAfter_s : 0;
  return typeof wait === "number" && Number.isFinite(wait) ? wait * 1_000 : 0;
}

function afterDelay(task: () => void, delay_ms: number): () => void {
  const timer = setTimeout(task, delay_ms);
  return () => clearTimeout(timer);
}
