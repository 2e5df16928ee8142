import type { LogKey } from "../../events/event.ts";
import type { EventId } from "../../events/id.ts";
import type { Ids } from "../idempotency/post-ids.ts";
import { countForAppend } from "./append-size.ts";
import type { RecordLine } from "./record-lines.ts";

/**
 * Extra share of the queue for owners with few queued posts. It keeps room for them when one
 * owner's producers fill the queue.
 */
const RESERVE = 0.25;
const SMALL_SHARE = 0.05;

/** Callbacks for the outcome of a post. They must not throw, as those of other posts follow. */
export type PostCallbacks = {
  readonly resolve: (first: EventId) => void;
  readonly reject: (error: unknown) => void;
};

/** A post that waits for its append. */
export type QueuedPost = {
  readonly log: LogKey;
  /** Queued totals of the owner whose quota the post counts against. */
  readonly own: QueueTotals;
  readonly lines: readonly RecordLine[];
  readonly ids: Ids;
  readonly size_bytes: number;
  readonly arrived_ms: number;
  /** See `SubmitOptions`. */
  readonly awaitsOutcome: boolean;
  readonly callbacks: PostCallbacks;
};

export type QueueTotals = { events: number; size_bytes: number };

/** Bounds of a queue, in events and in bytes. */
export type QueueBounds = { readonly events: number; readonly size_bytes: number };

/**
 * Posts that wait for an append, in order of arrival. A post counts against the bounds from its
 * arrival until its append has ended.
 */
export class PostQueue {
  readonly #bounds: QueueBounds;
  readonly #posts: QueuedPost[] = [];
  readonly #totals: QueueTotals = { events: 0, size_bytes: 0 };
  /**
   * Totals by owner. There are fewer owners than logs in the catalog, which is held in memory as
   * well, so entries are never removed.
   */
  readonly #totalsByOwner = new Map<string, QueueTotals>();

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  /** Number of posts whose append has not started. */
  get length(): number {
    return this.#posts.length;
  }

  /** Number of events whose append has not ended. */
  get unfinishedEvents(): number {
    return this.#totals.events;
  }

  /** Returns the totals of an owner, which stay the same object. */
  totalsOf(owner: string): QueueTotals {
    let totals = this.#totalsByOwner.get(owner);
    if (totals === undefined) this.#totalsByOwner.set(owner, (totals = { events: 0, size_bytes: 0 }));
    return totals;
  }

  /** Returns whether a post has room. An empty queue takes a post of any size. */
  hasRoom(own: QueueTotals, events: number, size_bytes: number): boolean {
    const { events: queuedEvents, size_bytes: queued_bytes } = this.#totals;
    if (queuedEvents === 0) return true;
    const taken = this.#shareOf(queuedEvents + events, queued_bytes + size_bytes);
    if (taken <= 1) return true;
    return taken <= 1 + RESERVE && this.#shareOf(own.events + events, own.size_bytes + size_bytes) <= SMALL_SHARE;
  }

  /** Returns the share of the bounds that these totals take. */
  #shareOf(events: number, size_bytes: number): number {
    return Math.max(events / this.#bounds.events, size_bytes / this.#bounds.size_bytes);
  }

  push(post: QueuedPost): void {
    addTo(this.#totals, post.lines.length, post.size_bytes);
    addTo(post.own, post.lines.length, post.size_bytes);
    this.#posts.push(post);
  }

  /** Removes the posts of the next append: at least one, if there is any. */
  shiftBatch(): QueuedPost[] {
    return this.#posts.splice(0, countForAppend(this.#posts));
  }

  /** Frees the room of posts whose append has ended. */
  finish(batch: readonly QueuedPost[]): void {
    for (const { own, lines, size_bytes } of batch) {
      addTo(this.#totals, -lines.length, -size_bytes);
      addTo(own, -lines.length, -size_bytes);
    }
  }
}

function addTo(totals: QueueTotals, events: number, size_bytes: number): void {
  totals.events += events;
  totals.size_bytes += size_bytes;
}
