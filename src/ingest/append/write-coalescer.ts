import type { Bus } from "../../bus/bus.ts";
import { LateAppend, LoggiaError } from "../../errors.ts";
import type { LogKey, PostedEvent } from "../../events/event.ts";
import type { EventId, IdSource } from "../../events/id.ts";
import { encodeFields, encodeVisitFields } from "../../events/record.ts";
import { releaseIds, idReserve, type Ids } from "../idempotency/post-ids.ts";
import { PostQueue } from "./post-queue.ts";
import type { PostCallbacks, QueuedPost } from "./post-queue.ts";
import { UnsettledAppends } from "./unsettled-appends.ts";
import type { ValidatedVisit } from "./validated.ts";
import { buildRecords, recordLine, lineBytes } from "./record-lines.ts";
import type { AcceptedLines, RecordLine } from "./record-lines.ts";
import type { Scheduler } from "../../scheduling/scheduler.ts";

export type WriteCoalescerOptions = {
  readonly bus: Pick<Bus, "append">;
  readonly ids: IdSource;
  /** Time after which a post that the bus has not stored is answered 503, in milliseconds. */
  readonly deadline_ms: number;
  /**
   * Longest time one append may take, in milliseconds. Until then an event with an assigned id may
   * still reach the bus (see `src/api/read-watermark.ts`).
   */
  readonly append_ms: number;
  /** Returns the account whose quota the posts to a log count against. */
  readonly quotaOwnerOf: (log: LogKey) => string;
  /** Bounds of the queue. Posts beyond them are refused with 503: waiting would delay all posts. */
  readonly maxQueuedEvents: number;
  readonly maxQueuedBytes: number;
  /**
   * Busy-polls while many posts wait for an append, briefly. Meant for a bus that answers within a
   * millisecond. Default: the thread sleeps
   */
  readonly busyPoll?: Scheduler["busyPoll"] | undefined;
};

/**
 * Maximum number of concurrent appends. While one is made durable, the next is collected: half of
 * the clients are answered and post again while the other half's posts are written. With one
 * append, all clients would wait for the same write, and this thread for the disk.
 */
const MAX_APPENDS = 2;
/** Factor by which the peak of concurrent posts decays from one append to the next. */
const PEAK_DECAY = 0.9;
/** Longest time an append is delayed to collect further posts, in milliseconds. */
const COLLECT_MS = 2;
/** Concurrent posts from which the thread busy-polls during an append, and for how long at most. */
const BUSY_POLL_POSTS = 32;
const BUSY_POLL_MS = 2;

const NEW_IDS: Ids = Object.freeze({ reserve: null });

export type SubmitOptions = {
  /**
   * Whether to wait beyond the deadline if the lines may still become durable, for callers that
   * would retry and so store them twice. Default: false
   */
  readonly awaitsOutcome?: boolean;
};

/** A post whose ids are assigned. */
type Accepted = AcceptedLines & { readonly post: QueuedPost };

/**
 * Groups posts into few appends to the bus. Posts that arrive during running appends, or right
 * after each other, share the next one. A lone post is not delayed, and under load one durable
 * write covers hundreds of events.
 *
 * Ids are assigned when an append starts, so their order is the order on the bus.
 */
export type WriteCoalescer = {
  /**
   * Resolves with the event's id once the bus holds the event durably.
   * @param created in milliseconds since the Unix epoch. Default: null, the moment of acceptance
   * @throws LoggiaError `bus_unavailable`, `overloaded`
   */
  submit(log: LogKey, valid: PostedEvent, created?: number | null): Promise<EventId>;
  /** Like {@link submit}, but calls back, at once or later: it saves a promise on the hot path. */
  submitWithCallbacks(log: LogKey, valid: PostedEvent, callbacks: PostCallbacks, created?: number | null): void;
  /** Submits a visit. Visits share appends, bounds and ids with events. */
  submitVisit(log: LogKey, valid: ValidatedVisit): Promise<EventId>;
  /**
   * Submits lines that belong together. They share one append and have consecutive ids: it resolves
   * with the first, and `nthId` derives the others.
   */
  submitLines(log: LogKey, lines: readonly RecordLine[], ids?: Ids, options?: SubmitOptions): Promise<EventId>;
  /** Returns the lowest id that may still reach the bus; null if there is none. */
  firstUnsettled(): EventId | null;
  /** Resolves when the queue is empty and no append is running. */
  drain(): Promise<void>;
};

export function createWriteCoalescer(options: WriteCoalescerOptions): WriteCoalescer {
  return new Coalescer(options);
}

class Coalescer implements WriteCoalescer {
  readonly #options: WriteCoalescerOptions;
  readonly #queue: PostQueue;
  readonly #unsettled: UnsettledAppends;
  #running: Promise<void> | null = null;
  /** At most two entries. A Set would promote garbage to the old generation as it churns. */
  readonly #appends: Promise<void>[] = [];
  /** Number of posts that are being appended. */
  #appendingPosts = 0;
  /** Decaying peak of the posts that are queued or being appended at the same time. */
  #peakPosts = 0;
  #isBusyPolling = false;
  /** Start of the latest append. */
  #begun_ms = 0;

  constructor(options: WriteCoalescerOptions) {
    this.#options = options;
    this.#queue = new PostQueue({ events: options.maxQueuedEvents, size_bytes: options.maxQueuedBytes });
    this.#unsettled = new UnsettledAppends(options.append_ms);
  }

  submit(log: LogKey, valid: PostedEvent, created?: number | null): Promise<EventId> {
    return this.submitLines(log, [recordLine(encodeFields(valid), created)]);
  }

  submitWithCallbacks(log: LogKey, valid: PostedEvent, callbacks: PostCallbacks, created?: number | null): void {
    this.#enqueue(log, [recordLine(encodeFields(valid), created)], NEW_IDS, callbacks);
  }

  submitVisit(log: LogKey, valid: ValidatedVisit): Promise<EventId> {
    return this.submitLines(log, [recordLine(encodeVisitFields(valid))]);
  }

  submitLines(
    log: LogKey,
    lines: readonly RecordLine[],
    ids = NEW_IDS,
    { awaitsOutcome = false }: SubmitOptions = {},
  ): Promise<EventId> {
    return new Promise((resolve, reject) => this.#enqueue(log, lines, ids, { resolve, reject }, awaitsOutcome));
  }

  firstUnsettled(): EventId | null {
    return this.#unsettled.firstId;
  }

  async drain(): Promise<void> {
    while (this.#queue.unfinishedEvents > 0) await Promise.all([this.#running, ...this.#appends]);
  }

  #enqueue(log: LogKey, lines: readonly RecordLine[], ids: Ids, callbacks: PostCallbacks, awaitsOutcome = false): void {
    const size_bytes = lines.reduce((sum, line) => sum + lineBytes(line), 0);
    const own = this.#queue.totalsOf(this.#options.quotaOwnerOf(log));
    if (!this.#queue.hasRoom(own, lines.length, size_bytes)) {
      return callbacks.reject(
        new LoggiaError("overloaded", "Too many posts are waiting for the bus; try again shortly"),
      );
    }
    this.#queue.push({ log, own, lines, ids, size_bytes, arrived_ms: performance.now(), awaitsOutcome, callbacks });
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#collectPosts();
      this.#peakPosts = Math.max(this.#queue.length + this.#appendingPosts, PEAK_DECAY * this.#peakPosts);
      await this.#startAppend(this.#queue.shiftBatch());
      if (this.#appends.length === MAX_APPENDS) await Promise.race(this.#appends);
    }
    this.#running = null;
  }

  /**
   * Waits while each turn of the event loop brings more posts, at most `COLLECT_MS`, and only until
   * half of the peak number of posts is queued. While the thread busy-polls, many turns bring none;
   * it then waits as long as the busy-poll lasts.
   */
  async #collectPosts(): Promise<void> {
    const start_ms = performance.now();
    const mayGrow = (before: number): boolean => this.#queue.length > before || this.#isBusyPolling;
    for (let before = 0; mayGrow(before) && performance.now() - start_ms < COLLECT_MS;) {
      before = this.#queue.length;
      if (before >= this.#peakPosts / 2) return;
      await new Promise(setImmediate);
    }
  }

  /**
   * Starts an append. Resolves once the bus has the batch and makes it durable, so that the next
   * one can be collected, or once nothing of the batch will be appended.
   */
  #startAppend(batch: readonly QueuedPost[]): Promise<void> {
    return new Promise((onHandedOver) => {
      this.#appendingPosts += batch.length;
      this.#begun_ms = performance.now();
      const appended = this.#append(batch, onHandedOver).finally(() => {
        onHandedOver();
        this.#appendingPosts -= batch.length;
        void this.#appends.splice(this.#appends.indexOf(appended), 1);
      });
      this.#appends.push(appended);
      const { busyPoll } = this.#options;
      if (busyPoll !== undefined && !this.#isBusyPolling && this.#shouldBusyPoll())
        busyPoll(() => this.#shouldBusyPoll());
    });
  }

  /** Returns whether the thread should busy-poll for the running appends. */
  #shouldBusyPoll(): boolean {
    const isRecent = performance.now() - this.#begun_ms < BUSY_POLL_MS;
    this.#isBusyPolling = this.#appends.length > 0 && this.#peakPosts >= BUSY_POLL_POSTS && isRecent;
    return this.#isBusyPolling;
  }

  async #append(batch: readonly QueuedPost[], onHandedOver: () => void): Promise<void> {
    const { deadline_ms } = this.#options;
    const start_ms = performance.now();
    const live = batch.filter(({ arrived_ms }) => start_ms - arrived_ms < deadline_ms);
    for (const { arrived_ms, callbacks } of batch)
      if (start_ms - arrived_ms >= deadline_ms) callbacks.reject(timedOut());
    let settlePosts: () => void;
    try {
      const durable = await this.#store(live, start_ms, onHandedOver);
      settlePosts = () => {
        for (const { post, first } of durable) post.callbacks.resolve(first);
      };
    } catch (error) {
      settlePosts = () => {
        // Promises of posts whose reservation failed are rejected already; this has no effect.
        for (const { callbacks, awaitsOutcome } of live)
          if (!awaitsOutcome || !(error instanceof LateAppend)) callbacks.reject(error);
      };
    }
    this.#queue.finish(batch);
    settlePosts();
  }

  /** Resolves with the durably stored posts; a failed reservation has rejected its post before. */
  async #store(live: readonly QueuedPost[], start_ms: number, onHandedOver: () => void): Promise<readonly Accepted[]> {
    const { bus, append_ms, deadline_ms } = this.#options;
    const posts = live.map((post) => ({ post, ...this.#assignIds(post) }));
    const settled = this.#trackUnsettled(posts, start_ms);
    const accepted = await reserveAll(posts, append_ms / 2);
    if (accepted.length > 0) {
      const now_ms = performance.now();
      const left_ms = Math.min(append_ms - (now_ms - start_ms), deadline_ms - (now_ms - live[0]!.arrived_ms));
      if (left_ms <= 0) {
        releaseAll(accepted);
        throw timedOut();
      }
      const durable = bus.append("events", buildRecords(accepted), { deadline_ms: left_ms });
      onHandedOver();
      await durable.catch((error: unknown) => {
        if (error instanceof LateAppend) {
          releaseAll(accepted.filter(({ post }) => error.unsent.has(post.log)));
          void settleLate(accepted, error);
        }
        // A full queue of the bus has taken none of them.
        if (error instanceof LoggiaError && error.code === "overloaded") releaseAll(accepted);
        throw error;
      });
    }
    settled();
    return accepted;
  }

  #assignIds({ lines, ids }: QueuedPost): { first: EventId; created: number } {
    if ("first" in ids) return ids;
    const { id: first, created } = this.#options.ids(lines.length);
    return { first, created };
  }

  /** Records new ids as unsettled until the returned function is called. */
  #trackUnsettled(posts: readonly Accepted[], begun_ms: number): () => void {
    const first = posts.find(({ post }) => !("first" in post.ids))?.first;
    return first === undefined ? () => {} : this.#unsettled.add(first, begun_ms);
  }
}

/**
 * Resolves with the posts that need no reservation or got theirs in time. The timeout keeps a slow
 * reservation from delaying the other posts.
 */
async function reserveAll(posts: readonly Accepted[], timeout_ms: number): Promise<readonly Accepted[]> {
  if (posts.every(({ post }) => idReserve(post.ids) === null)) return posts;
  const isReserved = await Promise.all(
    posts.map(async ({ post, first, created }) => {
      const reserve = idReserve(post.ids);
      if (reserve === null) return true;
      try {
        await withTimeout(reserve(first, created), timeout_ms);
        return true;
      } catch (error) {
        releaseIds(post.ids);
        post.callbacks.reject(error);
        return false;
      }
    }),
  );
  return posts.filter((_, i) => isReserved[i]);
}

/** Settles the posts that await the outcome of an append that missed its deadline. */
async function settleLate(accepted: readonly Accepted[], error: LateAppend): Promise<void> {
  const isStored = await error.isStored;
  for (const { post, first } of accepted) {
    if (!post.awaitsOutcome) continue;
    if (isStored) post.callbacks.resolve(first);
    else post.callbacks.reject(error);
  }
}

function releaseAll(posts: readonly Accepted[]): void {
  for (const { post } of posts) releaseIds(post.ids);
}

function withTimeout(work: Promise<void>, ms: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(timedOut()), ms);
  work.then(resolve, reject).finally(() => clearTimeout(timer));
  return promise;
}

function timedOut(): LoggiaError {
  return new LoggiaError("bus_unavailable", "The post could not be stored in time; try again shortly");
}
