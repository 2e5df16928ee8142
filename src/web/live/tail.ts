import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";

import type { EventRow } from "../list/row.ts";
import type { LiveRows, Skipped } from "./live-rows.ts";

/** What a stream tells. `ended` comes once, last, also where it ends without a fault. */
export type StreamEvents = {
  readonly opened: () => void;
  readonly event: (row: EventRow) => void;
  readonly skipped: (count: number) => void;
  readonly ended: (fault: unknown) => void;
};

/** Where a stream begins: with the last events, or behind one. */
export type StreamStart = { readonly last: number } | { readonly after: string };

/** Opens the stream of a query. @returns what ends it; nothing is told after that */
export type OpenStream = (start: StreamStart, events: StreamEvents) => () => void;

export type Connection =
  | { readonly kind: "connecting" }
  | { readonly kind: "open" }
  /** It is tried again at a moment, in milliseconds since the Unix epoch. */
  | { readonly kind: "waiting"; readonly at_ms: number; readonly fault: unknown }
  /** It is not tried again: the log is gone, or the query is not one that can be followed. */
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

/** An event that has arrived, for those who count. */
export type Arrival = { readonly created: number; readonly class: string | null };

export type TailOptions = {
  readonly rows: LiveRows;
  readonly open: OpenStream;
  /** Whether a fault stays for as long as the question does. */
  readonly isFinal: (fault: unknown) => boolean;
  readonly now?: () => number;
  readonly later?: (task: () => void, delay_ms: number) => () => void;
};

/** Events that are there at once when a tail begins. */
const LAST = 500;
/** Rows join the list so often at most. */
const BATCH_MS = 250;
const DELAYS_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000] as const;

/** Follows a query, with pauses and lost connections, and loses and repeats nothing. */
export class Tail {
  readonly connection: Signal<Connection> = signal({ kind: "connecting" });
  readonly pause: Signal<Pause | null> = signal(null);
  /** What has arrived with the last batch, held back or not. */
  readonly arrived: Signal<readonly Arrival[]> = signal([]);
  readonly #rows: LiveRows;
  readonly #open: OpenStream;
  readonly #isFinal: (fault: unknown) => boolean;
  readonly #now: () => number;
  readonly #later: (task: () => void, delay_ms: number) => () => void;
  #close: (() => void) | null = null;
  #cancelRetry: (() => void) | null = null;
  #cancelFlush: (() => void) | null = null;
  #batch: EventRow[] = [];
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

  /** Opens the stream, at once where it was to be tried again later. */
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

  /** Ends the tail for good. */
  stop(): void {
    this.#isStopped = true;
    this.#close?.();
    this.#close = null;
    this.#cancelRetry?.();
    this.#flush();
  }

  /** Nothing moves from here on. A pause that is on keeps its reason, unless it ends with the pointer's press. */
  hold(reason: Pause): void {
    if (this.pause.peek() === "pressed") this.pause.value = reason;
    if (this.pause.peek() !== null) return;
    this.#flush();
    this.pause.value = reason;
    this.#rows.pause();
  }

  /** The pointer is up: goes on, where its press was all that held. */
  release(): void {
    if (this.pause.peek() === "pressed") this.resume();
  }

  resume(): void {
    if (this.pause.peek() === null) return;
    this.#flush();
    this.pause.value = null;
    this.#rows.resume();
  }

  /** Reads events that were left out, by a stream of their own that ends where the gap does. */
  async fill(gap: Skipped): Promise<void> {
    const rows: EventRow[] = [];
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

  #take(row: EventRow): void {
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

/** How long the service asks to wait, where it says so. */
function waitAsked(fault: unknown): number {
  const wait = typeof fault === "object" && fault !== null && "retryAfter_s" in fault ? fault.retryAfter_s : 0;
  return typeof wait === "number" && Number.isFinite(wait) ? wait * 1_000 : 0;
}

function afterDelay(task: () => void, delay_ms: number): () => void {
  const timer = setTimeout(task, delay_ms);
  return () => clearTimeout(timer);
}
