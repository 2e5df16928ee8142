import { setTimeout as sleep } from "node:timers/promises";

import { LateAppend, LoggiaError } from "../../errors.ts";
import type { PostClock } from "../../events/clock.ts";
import type { LogKey } from "../../events/event.ts";
import { type EventId, idsFrom } from "../../events/id.ts";
import type { FieldLimits } from "../../events/limits.ts";
import { createSerialQueue } from "../../scheduling/serial-queue.ts";
import { noteRequest } from "../../scheduling/cooperative.ts";
import { postTimesBy } from "../posting/created.ts";
import type { WriteCoalescer } from "../write-coalescer.ts";
import type { Line } from "../posting/lines.ts";
import type { Append, Idempotency } from "../idempotency.ts";
import { CUT_TAG, lineOf } from "./line.ts";
import { PENDING } from "./protocol.ts";
import type { Outcome, ReadEvent, Reading } from "./protocol.ts";
import { nameOfAll, nameOfId } from "./repeats.ts";
import type { RecentIds } from "./repeats.ts";

export type StoreOptions = {
  readonly coalescer: Pick<WriteCoalescer, "submitLines">;
  readonly idempotency: Idempotency;
  readonly recent: RecentIds;
  readonly limits: FieldLimits;
  readonly clock: PostClock;
  /** Default: {@link STORE_TIMES} */
  readonly times?: StoreTimes;
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
  /** Id of the API key. */
  readonly apiKey: string;
  /** Tags of the request, added to each event. */
  readonly tags: readonly string[];
  /** The request's Idempotency-Key, with a hash of the request; null if it has no key. */
  readonly repeat: { readonly key: string; readonly hash: string } | null;
  /** Whether a late append is awaited, as the caller would retry. Default: false */
  readonly awaitsOutcome?: boolean;
};

/** Result of a request, and the number of events of which something was cut. */
export type Stored = Outcome & { readonly cut: number };

/** Bounds of one append. A larger request is stored in several. */
const CHUNK_EVENTS = 10_000;
const CHUNK_BYTES = 12 * 1024 * 1024;
/** Bodies up to this size are read at once, without waiting for larger ones. */
const SMALL_BYTES = 64 * 1024;
/** Events and milliseconds of decoding before the event loop gets a turn. */
const STEP_EVENTS = 100;
const STEP_MS = 1;
/** Time the rest of a request is retried while the queue is full, in milliseconds. */
const RETRY_MS = 20_000;
const PAUSE_MS = 50;
const RETRY_AFTER_S = 2;

const inTurn = createSerialQueue();

/**
 * Stores the events of a body. Resolves once all of them are durable. A body of several appends is
 * decoded twice, first to check that all of it can be read. So a body that is malformed, or refused
 * because the queue is full, leaves no events in the log. If a later append fails, the error says
 * how many events are stored.
 * @param begin starts to decode the body
 * @throws LoggiaError `bad_body`, `overloaded`, `bus_unavailable`
 */
export async function storeEvents(
  producer: Producer,
  size_bytes: number,
  begin: () => Reading,
  options: StoreOptions,
): Promise<{ readonly reading: Reading; readonly stored: Stored }> {
  const start_ms = performance.now();
  const { first_ms, all_ms } = options.times ?? STORE_TIMES;
  const isLate = (most_ms: number): boolean =>
    producer.awaitsOutcome !== true && performance.now() - start_ms > most_ms;
  const turn = size_bytes > SMALL_BYTES ? inTurn : <T>(work: () => Promise<T>) => work();
  const { reading, chunks, first } = await turn(async () => {
    // Other large bodies had their turn first.
    if (isLate(first_ms)) throw tooSlow();
    const reading = begin();
    const chunks = new Chunks(reading, producer, options);
    const first = await chunks.next();
    if (!chunks.isDone) await readThrough(begin());
    return { reading, chunks, first };
  });
  if (isLate(first_ms)) throw tooSlow();
  const appended: AppendedIds[] = [];
  try {
    let append = appendChunk(producer, first, appended, options);
    while (!chunks.isDone) {
      // Awaited below. Until then a rejection must not count as unhandled.
      append.catch(() => {});
      const chunk = await turn(() => chunks.next());
      await append;
      if (isLate(all_ms)) throw tooSlow();
      append = appendChunk(producer, chunk, appended, options);
    }
    await append;
  } catch (error) {
    throw appended.length === 0 ? error : storedInPart(error, appended);
  }
  const { accepted, rejected, fault, cut } = chunks;
  return { reading, stored: { accepted, rejected, fault, cut, ids: () => idsOf(appended) } };
}

/** One append: its first id, from which the others are derived. */
type AppendedIds = { readonly first: EventId; readonly count: number };

/** Lines of one append. `names` are the names of the ids that its events have. */
type Chunk = { readonly lines: readonly Line[]; readonly names: readonly string[] };

async function readThrough({ items }: Reading): Promise<void> {
  const pause = createPauses();
  for (const item of items) if (item === PENDING ? pause.isLate() : pause.isDue()) await pause.take();
}

/** Decodes events in chunks of one append each. */
class Chunks {
  accepted = 0;
  rejected = 0;
  fault: string | null = null;
  cut = 0;
  isDone = false;
  readonly #reading: Reading;
  readonly #events: Iterator<ReadEvent>;
  readonly #producer: Producer;
  readonly #options: StoreOptions;
  /** Names of the ids of all events of the request so far. */
  readonly #own = new Set<string>();
  #read = 0;

  constructor(reading: Reading, producer: Producer, options: StoreOptions) {
    this.#reading = reading;
    this.#events = reading.items[Symbol.iterator]();
    this.#producer = producer;
    this.#options = options;
  }

  async next(): Promise<Chunk> {
    const { limits, clock } = this.#options;
    const lineOptions = { limits, tags: this.#producer.tags, read_ms: postTimesBy(clock).read_ms };
    const pause = createPauses();
    const lines: Line[] = [];
    const names: string[] = [];
    let all_bytes = 0;
    while (lines.length < CHUNK_EVENTS && all_bytes < CHUNK_BYTES) {
      if (pause.isDue()) await pause.take();
      const { done, value } = this.#events.next();
      if (done === true) {
        this.isDone = true;
        break;
      }
      if (value === PENDING) {
        if (pause.isLate()) await pause.take();
        continue;
      }
      const n = this.#read++;
      if ("fault" in value) {
        this.rejected += 1;
        this.fault ??= value.fault;
        continue;
      }
      if (value.id !== undefined && this.#isDuplicate(value.id, names)) {
        this.#reading.onDuplicate?.(n);
        continue;
      }
      const { line, size_bytes, cut } = lineOf(value, lineOptions);
      if (cut || value.tags.includes(CUT_TAG)) this.cut += 1;
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

/** Creates the pauses of long decoding, in which posts are served. */
function createPauses(): { isDue(): boolean; isLate(): boolean; take(): Promise<void> } {
  let steps = 0;
  let began_ms = performance.now();
  const isLate = (): boolean => performance.now() - began_ms > STEP_MS;
  return {
    isDue: () => ++steps % STEP_EVENTS === 0 && isLate(),
    isLate,
    async take() {
      noteRequest();
      await new Promise(setImmediate);
      began_ms = performance.now();
    },
  };
}
