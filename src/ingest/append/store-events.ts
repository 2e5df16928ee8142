import { setTimeout as sleep } from "node:timers/promises";

import type { Catalog } from "../../catalog/catalog.ts";
import { ClientGone, LateAppend, LoggiaError } from "../../errors.ts";
import type { PostClock } from "../../events/clock.ts";
import type { LogKey } from "../../events/event.ts";
import { type EventId, idsFrom } from "../../events/id.ts";
import type { FieldLimits } from "../../events/limits.ts";
import type { FairTurns, TurnOptions } from "../../scheduling/fair-turns.ts";
import { needsOwnTurn, ownTurn } from "../../scheduling/yielding.ts";
import { oldestKept, postTimesBy } from "./created.ts";
import type { WriteCoalescer } from "./write-coalescer.ts";
import type { RecordLine } from "./record-lines.ts";
import type { Append, Idempotency } from "../idempotency/idempotency.ts";
import { FREE_EVENTS, maxEvents, SharedParts } from "../kit/amplification.ts";
import type { SharedPart } from "../kit/amplification.ts";
import { fittedLine } from "./fitted-line.ts";
import { CUT_TAG, tagIfCut } from "../kit/cut-tag.ts";
import { isPending } from "../kit/steps.ts";
import type { Outcome, ReadEvent, BodyReading } from "../kit/endpoint.ts";
import { nameOfAll, nameOfId } from "./recent-ids.ts";
import type { RecentIds } from "./recent-ids.ts";
import type { Scheduler } from "../../scheduling/scheduler.ts";

export type StoreOptions = {
  readonly coalescer: Pick<WriteCoalescer, "submitLines">;
  readonly idempotency: Idempotency;
  readonly recent: RecentIds;
  readonly limits: FieldLimits;
  readonly clock: PostClock;
  readonly memory: { readonly turns: FairTurns };
  readonly scheduler: Scheduler;
  /** Retention of logs. Default: logs keep events for ever */
  readonly catalog?: Pick<Catalog, "log">;
  /** Called with the events of a request whose times need attention, once they are stored. */
  readonly onTimes?: (counts: TimeCounts) => void;
  /** Default: {@link STORE_TIMES} */
  readonly times?: StoreTimes;
};

/** Numbers of stored events whose times need attention. */
export type TimeCounts = {
  /** Events with a time that cannot be read. */
  readonly unread: number;
  /** Events that are older than their log keeps, which the store therefore does not hold. */
  readonly expired: number;
};

/** Bounds of the time that storing a request takes. */
export type StoreTimes = {
  /** Time until the first append, after which the request is refused and nothing of it stored. */
  readonly first_ms: number;
  /** Time after which no further append begins. */
  readonly all_ms: number;
};

/**
 * The first is about as long as producers wait for an answer. A request of which a part is stored
 * gets far more time: if the rest were refused, its producer would store that part twice.
 */
const STORE_TIMES: StoreTimes = Object.freeze({ first_ms: 30_000, all_ms: 300_000 });

/** Producer of the events of a request. */
export type Producer = {
  readonly log: LogKey;
  /** Quota owner of the log. */
  readonly owner: string;
  /** Id of the API key. */
  readonly apiKey: string;
  /** Tags of the request, added to each event. */
  readonly tags: readonly string[];
  /** Size of the request's body as sent. It bounds what its events may add to the log. */
  readonly sent_bytes: number;
  /** The request's Idempotency-Key, with a hash of the request; null if it has no key. */
  readonly repeat: { readonly key: string; readonly hash: string } | null;
  /** Whether a late append is awaited, as the caller would retry. Default: false */
  readonly awaitsOutcome?: boolean;
  /** Fires when the client has disconnected. Until something is stored, it ends the request. */
  readonly gone?: AbortSignal | undefined;
};

/** Result of a request, and the number of events of which something was cut. */
export type StoredEvents = Outcome & { readonly cut: number };

/** Bounds of one append. A larger request is stored in several. */
const CHUNK_EVENTS = 4_000;
const CHUNK_BYTES = 4 * 1024 * 1024;
/** Bodies up to this size are read at once, without waiting for larger ones. */
const SMALL_BYTES = 64 * 1024;
/** Time the rest of a request is retried while the queue is full, in milliseconds. */
const RETRY_MS = 20_000;
const PAUSE_MS = 50;
const RETRY_AFTER_S = 2;

/**
 * Stores the events of a body. Resolves once all of them are durable. A body of several appends is
 * decoded twice, first to check that all of it can be read. So a body that is malformed, or refused
 * because the queue is full, leaves no events in the log. If a later append fails, the error says
 * how many events are stored.
 * @param begin starts to decode the body
 * @throws LoggiaError `bad_body`, `body_too_large`, `too_many_requests`, `overloaded`,
 * `bus_unavailable`; ClientGone
 */
export async function storeEvents(
  producer: Producer,
  size_bytes: number,
  begin: () => BodyReading,
  options: StoreOptions,
): Promise<{ readonly reading: BodyReading; readonly stored: StoredEvents }> {
  const start_ms = performance.now();
  const { first_ms, all_ms } = options.times ?? STORE_TIMES;
  const isLate = (most_ms: number): boolean =>
    producer.awaitsOutcome !== true && performance.now() - start_ms > most_ms;
  const { owner, gone } = producer;
  const turn = <T>(work: () => Promise<T>, limits: TurnOptions): Promise<T> =>
    size_bytes > SMALL_BYTES ? options.memory.turns.run(owner, work, limits) : work();
  let hasStored = false;
  const isUnwanted = (): boolean => !hasStored && gone?.aborted === true;
  const read = async () => {
    // Other large bodies had their turn first.
    if (isLate(first_ms)) throw tooSlow();
    // Of many requests that arrive at once, each holds the thread in a turn of its own.
    if (needsOwnTurn(size_bytes)) await ownTurn(options.scheduler.decoding);
    const reading = begin();
    const items = whileWanted(reading.items, isUnwanted);
    const chunks = new Chunks({ ...reading, items }, producer, options);
    const first = await chunks.next();
    if (!chunks.isDone)
      await readThrough({ ...reading, items: whileWanted(begin().items, isUnwanted) }, producer, options);
    return { reading, chunks, first };
  };
  const { reading, chunks, first } = await turn(read, { gone });
  if (isLate(first_ms)) throw tooSlow();
  hasStored = true;
  const appended: AppendedIds[] = [];
  try {
    let append = appendChunk(producer, first, appended, options);
    while (!chunks.isDone) {
      // Awaited below. Until then a rejection must not count as unhandled.
      append.catch(() => {});
      const chunk = await turn(() => chunks.next(), { wait_ms: Infinity });
      await append;
      if (isLate(all_ms)) throw tooSlow();
      append = appendChunk(producer, chunk, appended, options);
    }
    await append;
  } catch (error) {
    throw appended.length === 0 ? error : storedInPart(error, appended);
  }
  const { accepted, rejected, fault, cut, unread, expired } = chunks;
  if (unread + expired > 0) options.onTimes?.({ unread, expired });
  return { reading, stored: { accepted, rejected, fault, cut, ids: () => idsOf(appended) } };
}

/** Yields items until they are unwanted. @throws ClientGone */
function whileWanted(items: BodyReading["items"], isUnwanted: () => boolean): BodyReading["items"] {
  return {
    [Symbol.iterator]() {
      const iterator = items[Symbol.iterator]();
      return {
        next() {
          if (isUnwanted()) throw new ClientGone();
          return iterator.next();
        },
      };
    },
  };
}

/** One append: its first id, from which the others are derived. */
type AppendedIds = { readonly first: EventId; readonly count: number };

/** Lines of one append. `names` are the names of the ids that its events have. */
type Chunk = { readonly lines: readonly RecordLine[]; readonly names: readonly string[] };

async function readThrough({ items }: BodyReading, producer: Producer, { scheduler }: StoreOptions): Promise<void> {
  const yielder = scheduler.beginDecoding();
  let read = 0;
  for (const item of items) {
    if (!isPending(item)) requireRoom(++read, producer);
    if (yielder.isDue) await yielder.turn();
  }
}

/** @throws LoggiaError `body_too_large` */
function requireRoom(events: number, { sent_bytes }: Producer): void {
  const most = maxEvents(sent_bytes);
  if (events <= most) return;
  const rule = `${FREE_EVENTS}, and one for each byte`;
  const message = `The ${sent_bytes} bytes sent may hold at most ${most} events (${rule})`;
  throw new LoggiaError("body_too_large", message);
}

/** Decodes events in chunks of one append each. */
class Chunks {
  accepted = 0;
  rejected = 0;
  fault: string | null = null;
  cut = 0;
  unread = 0;
  expired = 0;
  isDone = false;
  readonly #reading: BodyReading;
  readonly #events: Iterator<ReadEvent>;
  readonly #producer: Producer;
  readonly #options: StoreOptions;
  /** Names of the ids of all events of the request so far. */
  readonly #own = new Set<string>();
  readonly #shared: SharedParts;
  /** Tags of the request. */
  readonly #tags: SharedPart;
  #read = 0;

  constructor(reading: BodyReading, producer: Producer, options: StoreOptions) {
    this.#reading = reading;
    this.#events = reading.items[Symbol.iterator]();
    this.#producer = producer;
    this.#options = options;
    this.#shared = new SharedParts({ sent_bytes: producer.sent_bytes, limits: options.limits });
    this.#tags = this.#shared.part(new Map(), producer.tags);
  }

  async next(): Promise<Chunk> {
    const { limits, clock, scheduler } = this.#options;
    const { read_ms } = postTimesBy(clock);
    const keptFrom_ms = keptFrom(this.#producer.log, this.#options);
    const yielder = scheduler.beginDecoding();
    const lines: RecordLine[] = [];
    const names: string[] = [];
    let all_bytes = 0;
    while (lines.length < CHUNK_EVENTS && all_bytes < CHUNK_BYTES) {
      if (yielder.isDue) await yielder.turn();
      const { done, value } = this.#events.next();
      if (done === true) {
        this.isDone = true;
        break;
      }
      if (isPending(value)) continue;
      const n = this.#read++;
      requireRoom(this.#read, this.#producer);
      if ("fault" in value) {
        this.rejected += 1;
        this.fault ??= value.fault;
        continue;
      }
      if (value.id !== undefined && this.#isDuplicate(value.id, names)) {
        this.#reading.onDuplicate?.(n);
        continue;
      }
      const shared = this.#shared.take(this.#tags);
      const { line, size_bytes, cut } = fittedLine(tagIfCut(shared.isCut, value), {
        limits,
        read_ms,
        tags: shared.tags,
      });
      if (cut || shared.isCut || value.tags.includes(CUT_TAG)) this.cut += 1;
      if (value.isTimeUnread === true) this.unread += 1;
      if (isExpired(line, keptFrom_ms)) this.expired += 1;
      lines.push(line);
      all_bytes += size_bytes;
    }
    this.accepted += lines.length;
    return { lines, names };
  }

  /** @throws LoggiaError `bus_unavailable` if another request is storing it */
  #isDuplicate(id: string, names: string[]): boolean {
    const name = nameOfId(this.#producer.log, id);
    const state = this.#own.has(name) ? "stored" : this.#options.recent.stateOf(name);
    if (state === "stored") return true;
    if (state === "under way") throw underWay();
    this.#own.add(name);
    names.push(name);
    return false;
  }
}

async function appendChunk(
  producer: Producer,
  chunk: Chunk,
  appended: AppendedIds[],
  options: StoreOptions,
): Promise<void> {
  const { lines, names } = chunk;
  if (lines.length === 0) return;
  const { recent } = options;
  // Another request may have started to store them since they were decoded.
  if (names.some((name) => recent.stateOf(name) !== null)) throw underWay();
  recent.begin(names);
  let isStored = false;
  try {
    const first = await appendLines(producer, chunk, appended.length, options);
    isStored = true;
    appended.push({ first, count: lines.length });
  } finally {
    recent.end(names, isStored);
  }
}

/**
 * Appends a chunk. The first append of a request is refused if the queue is full; later ones wait.
 * @param n number of earlier appends of the request
 */
async function appendLines(producer: Producer, chunk: Chunk, n: number, options: StoreOptions): Promise<EventId> {
  const start_ms = performance.now();
  for (;;) {
    try {
      return await appendOnce(producer, chunk, n, options);
    } catch (error) {
      const isFull = error instanceof LoggiaError && error.code === "overloaded";
      if (!isFull || n === 0 || performance.now() - start_ms > RETRY_MS) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

/**
 * Appends a chunk once. A request with an Idempotency-Key is stored once within a day, across
 * restarts and processes; so is a chunk whose events all have ids, if the same ids come together
 * again.
 */
async function appendOnce(
  { log, apiKey, repeat, awaitsOutcome = false }: Producer,
  { lines, names }: Chunk,
  n: number,
  { coalescer, idempotency, clock }: StoreOptions,
): Promise<EventId> {
  const keyed = { log, apiKey, count: lines.length, ...postTimesBy(clock) };
  const append: Append = (ids) => coalescer.submitLines(log, lines, ids);
  if (repeat !== null)
    return (await idempotency.post({ ...keyed, key: `${repeat.key} ${n}`, hash: repeat.hash }, append)).first;
  if (names.length < lines.length) return await coalescer.submitLines(log, lines, undefined, { awaitsOutcome });
  const hash = nameOfAll(names);
  return (await idempotency.post({ ...keyed, key: `ids ${hash}`, hash }, append)).first;
}

/** Returns the time before which a log keeps no events, in milliseconds since the Unix epoch. */
export function keptFrom(log: LogKey, { catalog, clock }: Pick<StoreOptions, "catalog" | "clock">): number {
  const retentionDays = catalog?.log(log)?.retentionDays ?? null;
  return oldestKept({ trusted_ms: clock.now(), retentionDays });
}

/** Returns whether the event of a line is older than its log keeps. */
export function isExpired({ created }: RecordLine, keptFrom_ms: number): boolean {
  return created !== null && Number(created) < keptFrom_ms;
}

function tooSlow(): LoggiaError {
  const message = "The request could not be stored in time, as others are being stored; try again shortly";
  return new LoggiaError("overloaded", message, { retryAfter_s: RETRY_AFTER_S });
}

/** Returns the error of a request of which some events are stored. */
function storedInPart(error: unknown, appended: readonly AppendedIds[]): unknown {
  if (!(error instanceof LoggiaError)) return error;
  const count = appended.reduce((sum, { count }) => sum + count, 0);
  const rest = error instanceof LateAppend ? "some of the next may be" : "the rest is not";
  const message = `${error.message}. The first ${count} events of the request are stored, ${rest}; `;
  const remedy = "send the rest alone, or with an Idempotency-Key the whole request";
  const { code, retryAfter_s } = error;
  return new LoggiaError(code, message + remedy, { cause: error, ...(retryAfter_s !== null && { retryAfter_s }) });
}

function underWay(): LoggiaError {
  const message = "An earlier request with the same ids may still be in progress; try again in a few seconds";
  return new LoggiaError("bus_unavailable", message, { retryAfter_s: RETRY_AFTER_S });
}

function* idsOf(appended: readonly AppendedIds[]): Generator<EventId> {
  for (const { first, count } of appended) {
    const nthId = idsFrom(first);
    for (let n = 0; n < count; n++) yield nthId(n);
  }
}
