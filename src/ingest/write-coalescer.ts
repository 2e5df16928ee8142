import { busyPoll } from "../scheduling/busy-poll.ts";
import type { Bus } from "../bus/bus.ts";
import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import type { EventId, IdSource } from "../events/id.ts";
import { encodeFields, encodeVisitFields } from "../events/record.ts";
import type { ValidatedEvent } from "./posting/validated-event.ts";
import { buildRecords, lineOf, sizeOf } from "./posting/lines.ts";
import type { AcceptedLines, Line } from "./posting/lines.ts";
import type { ValidatedVisit } from "./posting/validated-visit.ts";

export type WriteCoalescerOptions = {
  readonly bus: Pick<Bus, "append">;
  readonly ids: IdSource;
  /** A post that the bus has not taken by then is answered 503. */
  readonly deadline_ms: number;
  /**
   * How long one append may take: so long after its id an event may still come to be on the bus
   * (see `src/api/read-watermark.ts`).
   */
  readonly append_ms: number;
  /** The person that posts to a log count for. */
  readonly personOf: (log: LogKey) => string;
  /** Posts beyond these bounds are refused with 503 at once: a full queue would only make all of them late. */
  readonly maxWaitingEvents: number;
  readonly maxWaitingBytes: number;
  /**
   * Whether this thread stays awake for a moment while many wait for an append: for a bus that
   * answers within a millisecond. Default: false
   */
  readonly staysAwake?: boolean;
};

/**
 * So much more may wait, of persons of whom little waits: one whose producers send all that fits
 * leaves room for others.
 */
const RESERVE = 0.25;
const SMALL_SHARE = 0.05;

/**
 * While one append is made durable, the next is gathered: half of those who post are answered and
 * send what comes next, while the other half is written. Without that, all of them would come to
 * wait for the same append, and this thread for nothing but the disk.
 */
const APPENDS_AT_ONCE = 2;
/** How much of a crowd is remembered from one append to the next. */
const CROWD_FADES = 0.9;
/** The longest that posts wait for others that come right behind them. */
const GATHER_MS = 2;
/** Where a crowd is so large, the thread stays awake while an append is under way, but not for long. */
const AWAKE_CROWD = 32;
const AWAKE_MS = 2;
/**
 * Bounds of one append: large enough to be cheap per event, so small that those under way never
 * fill the bus's own queue, which would refuse the second of them.
 */
const APPEND_MAX_EVENTS = 2_000;
const APPEND_MAX_BYTES = 8 * 1024 * 1024;
/** An append that was given up may still reach the bus, for so long. */
const LATE_MS = 500;

/**
 * Called with the first id of lines, and the moment of those without their own, before they are
 * appended. Where it throws they are not, and their poster gets the error.
 */
export type Reserve = (first: EventId, created: number) => Promise<void>;

/**
 * How lines come by their ids: new ones, which may have to be reserved, or those they were given
 * before, of which this is the first.
 */
export type Ids = { readonly reserve: Reserve | null } | { readonly first: EventId; readonly created: number };
const NEW_IDS: Ids = Object.freeze({ reserve: null });

/** Who hears what became of a post. Neither may throw, for others are told right after. */
export type Told = {
  readonly resolve: (first: EventId) => void;
  readonly reject: (error: unknown) => void;
};

type Waiting = {
  readonly log: LogKey;
  /** What waits of the person that it counts for. */
  readonly own: Share;
  readonly lines: readonly Line[];
  readonly ids: Ids;
  readonly size_bytes: number;
  readonly arrived_ms: number;
  readonly told: Told;
};

type Share = { events: number; size_bytes: number };

/** A post that was given its ids. */
type Accepted = AcceptedLines & { readonly post: Waiting };

/**
 * Gathers posts into few appends to the bus: whatever arrives while others are under way, and right
 * behind it, shares the next one. So a lone post waits for nobody, and a flood costs one durable
 * write for hundreds of events.
 *
 * Ids are given when an append starts, so that their order is the order on the bus.
 */
export type WriteCoalescer = {
  /**
   * Resolves with the event's id once the bus holds it durably.
   * @param created in milliseconds since the Unix epoch. Default: null, the moment of acceptance
   * @throws LoggiaError `bus_unavailable`, `overloaded`
   */
  submit(log: LogKey, valid: ValidatedEvent, created?: number | null): Promise<EventId>;
  /** The same, told by one call, at once or later, in place of a promise: for the path that is hit most. */
  submitTelling(log: LogKey, valid: ValidatedEvent, told: Told, created?: number | null): void;
  /** The same of a visit: it shares appends, bounds and ids with the events. */
  submitVisit(log: LogKey, valid: ValidatedVisit): Promise<EventId>;
  /**
   * The same of lines that belong together: they come in one append, and their ids are the first,
   * which is what it resolves with, and those that `nthId` counts from it.
   */
  submitLines(log: LogKey, lines: readonly Line[], ids?: Ids): Promise<EventId>;
  /** The first id of those that may still come to be on the bus; null where there is none. */
  firstUnsettled(): EventId | null;
  /** Resolves when nothing waits any more. */
  drain(): Promise<void>;
};

export function createWriteCoalescer({
  bus,
  ids,
  deadline_ms,
  append_ms,
  maxWaitingEvents,
  maxWaitingBytes,
  personOf,
  staysAwake = false,
}: WriteCoalescerOptions): WriteCoalescer {
  const queue: Waiting[] = [];
  /**
   * What waits, of all and of each person: these are fewer than the logs of the catalog, which are
   * held in memory as well.
   */
  const all: Share = { events: 0, size_bytes: 0 };
  const ofPerson = new Map<string, Share>();
  let running: Promise<void> | null = null;
  /** A list, and no set, whose tables would grow old as it fills and empties: there are two at most. */
  const appends: Promise<void>[] = [];
  /** Appends that may still bring new ids to the bus, in the order of these. */
  const unsettled: { readonly first: EventId; readonly begun_ms: number }[] = [];
  /** Posts that are being appended. */
  let underWay = 0;
  /** How many posts waited or were being appended at once, lately. */
  let crowd = 0;
  let isAwake = false;
  /** When the last append began. */
  let begun_ms = 0;

  async function run(): Promise<void> {
    while (queue.length > 0) {
      await gathered();
      crowd = Math.max(queue.length + underWay, CROWD_FADES * crowd);
      await begin(queue.splice(0, countForAppend(queue)));
      if (appends.length === APPENDS_AT_ONCE) await Promise.race(appends);
    }
    running = null;
  }

  /**
   * Waits for as long as each turn of the event loop brings more posts, but not for long, and only
   * until half of the crowd is here. Where the thread stays awake, many turns bring none: then for
   * as long as the bus is at work.
   */
  async function gathered(): Promise<void> {
    const start_ms = performance.now();
    const mayGrow = (before: number): boolean => queue.length > before || isAwake;
    for (let before = 0; mayGrow(before) && performance.now() - start_ms < GATHER_MS;) {
      before = queue.length;
      if (before >= crowd / 2) return;
      await new Promise(setImmediate);
    }
  }

  /**
   * Resolves once the bus has been given a batch, while it makes it durable: the next one comes
   * behind it. Or once it is sure that it will get nothing of it.
   */
  function begin(batch: readonly Waiting[]): Promise<void> {
    return new Promise((given) => {
      underWay += batch.length;
      begun_ms = performance.now();
      const appended = append(batch, given).finally(() => {
        given();
        underWay -= batch.length;
        void appends.splice(appends.indexOf(appended), 1);
      });
      appends.push(appended);
      if (staysAwake && !isAwake && isWorthIt()) busyPoll(isWorthIt);
    });
  }

  /** Whether to stay awake for what comes next. */
  function isWorthIt(): boolean {
    isAwake = appends.length > 0 && crowd >= AWAKE_CROWD && performance.now() - begun_ms < AWAKE_MS;
    return isAwake;
  }

  async function append(batch: readonly Waiting[], given: () => void): Promise<void> {
    const start_ms = performance.now();
    const live = batch.filter(({ arrived_ms }) => start_ms - arrived_ms < deadline_ms);
    for (const { arrived_ms, told } of batch) if (start_ms - arrived_ms >= deadline_ms) told.reject(late());
    let tell: () => void;
    try {
      const durable = await store(live, start_ms, given);
      tell = () => {
        for (const { post, first } of durable) post.told.resolve(first);
      };
    } catch (error) {
      tell = () => {
        // Whose reservation failed has a promise, and heard of it: this is nothing to them.
        for (const { told } of live) told.reject(error);
      };
    }
    for (const { own, lines, size_bytes } of batch) {
      grow(all, -lines.length, -size_bytes);
      grow(own, -lines.length, -size_bytes);
    }
    tell();
  }

  /** Resolves with those that the bus holds durably: all but those whose reservation failed, who heard of it. */
  async function store(live: readonly Waiting[], start_ms: number, given: () => void): Promise<readonly Accepted[]> {
    const posts = live.map((post) => ({ post, ...accept(post) }));
    const settled = noteUnsettled(posts, start_ms);
    const accepted = await reserveAll(posts);
    if (accepted.length > 0) {
      const now_ms = performance.now();
      const left_ms = Math.min(append_ms - (now_ms - start_ms), deadline_ms - (now_ms - live[0]!.arrived_ms));
      if (left_ms <= 0) throw late();
      const durable = bus.append("events", buildRecords(accepted), { deadline_ms: left_ms });
      given();
      await durable;
    }
    settled();
    return accepted;
  }

  /** Notes the new ids of an append, until the function that it returns is called or it cannot arrive any more. */
  function noteUnsettled(posts: readonly Accepted[], begun_ms: number): () => void {
    forgetLost();
    const first = posts.find(({ post }) => !("first" in post.ids))?.first;
    if (first === undefined) return () => {};
    const append = { first, begun_ms };
    unsettled.push(append);
    return () => {
      const place = unsettled.indexOf(append);
      if (place >= 0) unsettled.splice(place, 1);
    };
  }

  function forgetLost(): void {
    const now_ms = performance.now();
    while (unsettled.length > 0 && now_ms - unsettled[0]!.begun_ms > append_ms + LATE_MS) unsettled.shift();
  }

  function accept({ lines, ids: wanted }: Waiting): { first: EventId; created: number } {
    if ("first" in wanted) return wanted;
    const { id: first, created } = ids(lines.length);
    return { first, created };
  }

  /**
   * Those of which there is nothing to reserve, or whose reservation came in time: others must not
   * wait for it for long.
   */
  async function reserveAll(accepted: readonly Accepted[]): Promise<readonly Accepted[]> {
    if (accepted.every(({ post }) => reserveOf(post) === null)) return accepted;
    const isReserved = await Promise.all(
      accepted.map(async ({ post, first, created }) => {
        const reserve = reserveOf(post);
        if (reserve === null) return true;
        try {
          await inTime(reserve(first, created), append_ms / 2);
          return true;
        } catch (error) {
          post.told.reject(error);
          return false;
        }
      }),
    );
    return accepted.filter((_, i) => isReserved[i]);
  }

  /** What is larger than all that may wait comes alone: this is asked where something waits already. */
  function hasRoom(own: Share, events: number, size_bytes: number): boolean {
    const taken = partOf(all.events + events, all.size_bytes + size_bytes);
    if (taken <= 1) return true;
    return taken <= 1 + RESERVE && partOf(own.events + events, own.size_bytes + size_bytes) <= SMALL_SHARE;
  }

  /** Which part of what may wait this is. */
  function partOf(events: number, size_bytes: number): number {
    return Math.max(events / maxWaitingEvents, size_bytes / maxWaitingBytes);
  }

  function enqueue(log: LogKey, lines: readonly Line[], wanted: Ids, told: Told): void {
    const size_bytes = lines.reduce((sum, line) => sum + sizeOf(line), 0);
    const person = personOf(log);
    let own = ofPerson.get(person);
    if (own === undefined) ofPerson.set(person, (own = { events: 0, size_bytes: 0 }));
    if (all.events > 0 && !hasRoom(own, lines.length, size_bytes)) {
      return told.reject(new LoggiaError("overloaded", "Too many posts are waiting for the bus; try again shortly"));
    }
    grow(all, lines.length, size_bytes);
    grow(own, lines.length, size_bytes);
    queue.push({ log, own, lines, ids: wanted, size_bytes, arrived_ms: performance.now(), told });
    running ??= run();
  }

  function submitLines(log: LogKey, lines: readonly Line[], wanted = NEW_IDS): Promise<EventId> {
    return new Promise((resolve, reject) => enqueue(log, lines, wanted, { resolve, reject }));
  }

  return {
    submit: (log, valid, created) => submitLines(log, [lineOf(encodeFields(valid), created)]),
    submitTelling: (log, valid, told, created) => enqueue(log, [lineOf(encodeFields(valid), created)], NEW_IDS, told),
    submitVisit: (log, valid) => submitLines(log, [lineOf(encodeVisitFields(valid))]),
    submitLines,
    firstUnsettled() {
      forgetLost();
      return unsettled[0]?.first ?? null;
    },
    async drain() {
      while (all.events > 0) await Promise.all([running, ...appends]);
    },
  };
}

function grow(share: Share, events: number, size_bytes: number): void {
  share.events += events;
  share.size_bytes += size_bytes;
}

/** How many posts of a queue share the next append: at least one, whatever its size. */
function countForAppend(queue: readonly Waiting[]): number {
  let events = 0;
  let taken_bytes = 0;
  for (const [i, { lines, size_bytes }] of queue.entries()) {
    events += lines.length;
    taken_bytes += size_bytes;
    if (i > 0 && (events > APPEND_MAX_EVENTS || taken_bytes > APPEND_MAX_BYTES)) return i;
  }
  return queue.length;
}

function reserveOf({ ids }: Waiting): Reserve | null {
  return "reserve" in ids ? ids.reserve : null;
}

function inTime(work: Promise<void>, ms: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(late()), ms);
  work.then(resolve, reject).finally(() => clearTimeout(timer));
  return promise;
}

function late(): LoggiaError {
  return new LoggiaError("bus_unavailable", "What was posted could not be stored in time; try again shortly");
}
