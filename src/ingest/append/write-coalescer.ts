import { busyPoll } from "../../scheduling/busy-poll.ts";
import type { Bus } from "../../bus/bus.ts";
import { LateAppend, LoggiaError } from "../../errors.ts";
import type { LogKey, PostedEvent } from "../../events/event.ts";
import type { EventId, IdSource } from "../../events/id.ts";
import { encodeFields, encodeVisitFields } from "../../events/record.ts";
import { countForAppend } from "./append-size.ts";
import { releaseIds, reserveOf, type Ids } from "../idempotency/post-ids.ts";
import type { ValidatedVisit } from "./validated.ts";
import { buildRecords, lineOf, sizeOf } from "./record-lines.ts";
import type { AcceptedLines, Line } from "./record-lines.ts";

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
   * Whether this thread busy-polls briefly while many posts wait for an append. Meant for a bus
   * that answers within a millisecond. Default: false
   */
  readonly usesBusyPoll?: boolean;
};

/**
 * Extra share of the queue for owners with few queued posts. It keeps room for them when one
 * owner's producers fill the queue.
 */
const RESERVE = 0.25;
const SMALL_SHARE = 0.05;

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
/** Time after the append timeout in which an append may still reach the bus, in milliseconds. */
const LATE_MS = 500;

const NEW_IDS: Ids = Object.freeze({ reserve: null });

/** Callbacks for the outcome of a post. They must not throw, as those of other posts follow. */
export type PostCallbacks = {
  readonly resolve: (first: EventId) => void;
  readonly reject: (error: unknown) => void;
};

type QueuedPost = {
  readonly log: LogKey;
  /** Queued totals of the owner whose quota the post counts against. */
  readonly own: QueueTotals;
  readonly lines: readonly Line[];
  readonly ids: Ids;
  readonly size_bytes: number;
  readonly arrived_ms: number;
  /** See {@link SubmitOptions}. */
  readonly awaitsOutcome: boolean;
  readonly callbacks: PostCallbacks;
};

export type SubmitOptions = {
  /**
   * Whether to wait beyond the deadline if the lines may still become durable, for callers that
   * would retry and so store them twice. Default: false
   */
  readonly awaitsOutcome?: boolean;
};

type QueueTotals = { events: number; size_bytes: number };

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
  submitLines(log: LogKey, lines: readonly Line[], ids?: Ids, options?: SubmitOptions): Promise<EventId>;
  /** Returns the lowest id that may still reach the bus; null if there is none. */
  firstUnsettled(): EventId | null;
  /** Resolves when the queue is empty and no append is running. */
  drain(): Promise<void>;
};

export function createWriteCoalescer({
  bus,
  ids,
  deadline_ms,
  append_ms,
  maxQueuedEvents,
  maxQueuedBytes,
  quotaOwnerOf,
  usesBusyPoll = false,
}: WriteCoalescerOptions): WriteCoalescer {
  const queue: QueuedPost[] = [];
  /**
   * Queued totals, overall and per owner. There are fewer owners than logs in the catalog, which
   * is held in memory as well, so entries are never removed.
   */
  const totals: QueueTotals = { events: 0, size_bytes: 0 };
  const ofOwner = new Map<string, QueueTotals>();
  let running: Promise<void> | null = null;
  /** At most two entries. A Set would promote garbage to the old generation as it churns. */
  const appends: Promise<void>[] = [];
  /** Appends that may still bring new ids to the bus, in the order of their ids. */
  const unsettled: { readonly first: EventId; readonly begun_ms: number }[] = [];
  /** Number of posts that are being appended. */
  let appendingPosts = 0;
  /** Decaying peak of the posts that are queued or being appended at the same time. */
  let peakPosts = 0;
  let isBusyPolling = false;
  /** Start of the latest append. */
  let begun_ms = 0;

  async function run(): Promise<void> {
    while (queue.length > 0) {
      await collectPosts();
      peakPosts = Math.max(queue.length + appendingPosts, PEAK_DECAY * peakPosts);
      await startAppend(queue.splice(0, countForAppend(queue)));
      if (appends.length === MAX_APPENDS) await Promise.race(appends);
    }
    running = null;
  }

  /**
   * Waits while each turn of the event loop brings more posts, at most `COLLECT_MS`, and only until
   * half of the peak number of posts is queued. While the thread busy-polls, many turns bring none;
   * it then waits as long as the busy-poll lasts.
   */
  async function collectPosts(): Promise<void> {
    const start_ms = performance.now();
    const mayGrow = (before: number): boolean => queue.length > before || isBusyPolling;
    for (let before = 0; mayGrow(before) && performance.now() - start_ms < COLLECT_MS;) {
      before = queue.length;
      if (before >= peakPosts / 2) return;
      await new Promise(setImmediate);
    }
  }

  /**
   * Starts an append. Resolves once the bus has the batch and makes it durable, so that the next
   * one can be collected, or once nothing of the batch will be appended.
   */
  function startAppend(batch: readonly QueuedPost[]): Promise<void> {
    return new Promise((onHandedOver) => {
      appendingPosts += batch.length;
      begun_ms = performance.now();
      const appended = append(batch, onHandedOver).finally(() => {
        onHandedOver();
        appendingPosts -= batch.length;
        void appends.splice(appends.indexOf(appended), 1);
      });
      appends.push(appended);
      if (usesBusyPoll && !isBusyPolling && shouldBusyPoll()) busyPoll(shouldBusyPoll);
    });
  }

  /** Returns whether the thread should busy-poll for the running appends. */
  function shouldBusyPoll(): boolean {
    isBusyPolling = appends.length > 0 && peakPosts >= BUSY_POLL_POSTS && performance.now() - begun_ms < BUSY_POLL_MS;
    return isBusyPolling;
  }

  async function append(batch: readonly QueuedPost[], onHandedOver: () => void): Promise<void> {
    const start_ms = performance.now();
    const live = batch.filter(({ arrived_ms }) => start_ms - arrived_ms < deadline_ms);
    for (const { arrived_ms, callbacks } of batch)
      if (start_ms - arrived_ms >= deadline_ms) callbacks.reject(timedOut());
    let settlePosts: () => void;
    try {
      const durable = await store(live, start_ms, onHandedOver);
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
    for (const { own, lines, size_bytes } of batch) {
      addTo(totals, -lines.length, -size_bytes);
      addTo(own, -lines.length, -size_bytes);
    }
    settlePosts();
  }

  /** Resolves with the durably stored posts; a failed reservation has rejected its post before. */
  async function store(
    live: readonly QueuedPost[],
    start_ms: number,
    onHandedOver: () => void,
  ): Promise<readonly Accepted[]> {
    const posts = live.map((post) => ({ post, ...assignIds(post) }));
    const settled = trackUnsettled(posts, start_ms);
    const accepted = await reserveAll(posts);
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

  /** Settles the posts that await the outcome of an append that missed its deadline. */
  async function settleLate(accepted: readonly Accepted[], error: LateAppend): Promise<void> {
    const isStored = await error.isStored;
    for (const { post, first } of accepted) {
      if (!post.awaitsOutcome) continue;
      if (isStored) post.callbacks.resolve(first);
      else post.callbacks.reject(error);
    }
  }

  /** Records new ids as unsettled until the callback is called or they can no longer arrive. */
  function trackUnsettled(posts: readonly Accepted[], begun_ms: number): () => void {
    dropLostAppends();
    const first = posts.find(({ post }) => !("first" in post.ids))?.first;
    if (first === undefined) return () => {};
    const append = { first, begun_ms };
    unsettled.push(append);
    return () => {
      const place = unsettled.indexOf(append);
      if (place >= 0) unsettled.splice(place, 1);
    };
  }

  function dropLostAppends(): void {
    const now_ms = performance.now();
    while (unsettled.length > 0 && now_ms - unsettled[0]!.begun_ms > append_ms + LATE_MS) unsettled.shift();
  }

  function assignIds({ lines, ids: wanted }: QueuedPost): { first: EventId; created: number } {
    if ("first" in wanted) return wanted;
    const { id: first, created } = ids(lines.length);
    return { first, created };
  }

  /**
   * Resolves with the posts that need no reservation or got theirs in time. The timeout keeps a
   * slow reservation from delaying the other posts.
   */
  async function reserveAll(accepted: readonly Accepted[]): Promise<readonly Accepted[]> {
    if (accepted.every(({ post }) => reserveOf(post.ids) === null)) return accepted;
    const isReserved = await Promise.all(
      accepted.map(async ({ post, first, created }) => {
        const reserve = reserveOf(post.ids);
        if (reserve === null) return true;
        try {
          await withTimeout(reserve(first, created), append_ms / 2);
          return true;
        } catch (error) {
          releaseIds(post.ids);
          post.callbacks.reject(error);
          return false;
        }
      }),
    );
    return accepted.filter((_, i) => isReserved[i]);
  }

  /** Returns whether a non-empty queue has room. An empty queue takes a post of any size. */
  function hasRoom(own: QueueTotals, events: number, size_bytes: number): boolean {
    const taken = shareOf(totals.events + events, totals.size_bytes + size_bytes);
    if (taken <= 1) return true;
    return taken <= 1 + RESERVE && shareOf(own.events + events, own.size_bytes + size_bytes) <= SMALL_SHARE;
  }

  /** Returns the share of the queue's bounds that these totals take. */
  function shareOf(events: number, size_bytes: number): number {
    return Math.max(events / maxQueuedEvents, size_bytes / maxQueuedBytes);
  }

  function enqueue(
    log: LogKey,
    lines: readonly Line[],
    wanted: Ids,
    callbacks: PostCallbacks,
    awaitsOutcome = false,
  ): void {
    const size_bytes = lines.reduce((sum, line) => sum + sizeOf(line), 0);
    const owner = quotaOwnerOf(log);
    let own = ofOwner.get(owner);
    if (own === undefined) ofOwner.set(owner, (own = { events: 0, size_bytes: 0 }));
    if (totals.events > 0 && !hasRoom(own, lines.length, size_bytes)) {
      return callbacks.reject(
        new LoggiaError("overloaded", "Too many posts are waiting for the bus; try again shortly"),
      );
    }
    addTo(totals, lines.length, size_bytes);
    addTo(own, lines.length, size_bytes);
    queue.push({ log, own, lines, ids: wanted, size_bytes, arrived_ms: performance.now(), awaitsOutcome, callbacks });
    running ??= run();
  }

  function submitLines(
    log: LogKey,
    lines: readonly Line[],
    wanted = NEW_IDS,
    { awaitsOutcome = false }: SubmitOptions = {},
  ): Promise<EventId> {
    return new Promise((resolve, reject) => enqueue(log, lines, wanted, { resolve, reject }, awaitsOutcome));
  }

  return {
    submit: (log, valid, created) => submitLines(log, [lineOf(encodeFields(valid), created)]),
    submitWithCallbacks: (log, valid, callbacks, created) =>
      enqueue(log, [lineOf(encodeFields(valid), created)], NEW_IDS, callbacks),
    submitVisit: (log, valid) => submitLines(log, [lineOf(encodeVisitFields(valid))]),
    submitLines,
    firstUnsettled() {
      dropLostAppends();
      return unsettled[0]?.first ?? null;
    },
    async drain() {
      while (totals.events > 0) await Promise.all([running, ...appends]);
    },
  };
}

function addTo(share: QueueTotals, events: number, size_bytes: number): void {
  share.events += events;
  share.size_bytes += size_bytes;
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
