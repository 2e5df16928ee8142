import { setTimeout as sleep } from "node:timers/promises";

import { JournalCut, type Journal, type JournalRecord } from "../../../bus/bus.ts";
import { LoggiaError } from "../../../errors.ts";
import type { EventId } from "../../../events/id.ts";
import { Yielder } from "../../../scheduling/yielding.ts";
import { decodeKeyRecord, encodeKeyRecord, type Claim, type KeyHash } from "../key-record.ts";
import { KEPT_HOURS, KeyTable, type ClaimVerdict } from "./key-table.ts";
import { SummaryWriter, type SummaryWriterOptions } from "./summary-writer.ts";
import { baseOfSummary, decodeSummary } from "./key-summary.ts";
import type { Scheduler } from "../../../scheduling/scheduler.ts";

export type KeyLogOptions = SummaryWriterOptions & {
  readonly keys: Journal;
  readonly scheduler: Scheduler;
  /** Memory of the keys. Default: 64 MB with all that comes on top */
  readonly most_bytes?: number;
};

/** What a process holds of the keys. */
export type KeyCounts = { readonly keys: number; readonly size_bytes: number; readonly forgotten: number };

const HOUR_MS = 3_600_000;
/** Bytes of one read, whose records are decoded in one step. */
const READ_BYTES = 256 * 1024;
const INDEX_READ_BYTES = 1024 * 1024;
const FOLLOW_WAIT_MS = 500;
/** Records between two looks at the clock. */
const CHECK_RECORDS = 16;
/** Pauses after a failed read: the first, and the longest, as they double. */
const RETRY_FIRST_MS = 50;
const RETRY_LAST_MS = 1_000;
/** Time for which a claim of an abandoned attempt is waited for: the retries of Kafka's client. */
const ABANDONED_MS = 60_000;
const MOST_ABANDONED = 10_000;
/** Most outcomes that wait to be written. A claim without one is searched by its ids. */
const MOST_OUTCOMES = 10_000;
const OUTCOME_DEADLINE_MS = 2_000;
/** Time in which a claim has to be read, as a producer waits for it. */
const READ_DEADLINE_MS = 2_000;
/** Outcomes of one record, which is applied in one step. */
const RECORD_OUTCOMES = 1_000;
const CLOSE_WAIT_MS = 1_000;
const FORGOTTEN_AGAIN_MS = 3_600_000;

type Waiter = { readonly resolve: (verdict: ClaimVerdict) => void; readonly reject: (error: unknown) => void };

/**
 * The journal of keys as this process follows it. A claim stands once it is read back, so the order
 * of the journal decides between processes.
 */
export class KeyLog implements AsyncDisposable {
  readonly #options: KeyLogOptions;
  readonly #closing = new AbortController();
  readonly #loaded = Promise.withResolvers<void>();
  readonly #summaries: SummaryWriter;
  readonly #claims = new Map<EventId, Waiter>();
  /** Claims that nobody waits for any more, with the end of the time in which they may arrive. */
  readonly #abandoned = new Map<EventId, number>();
  readonly #outcomeWaiters = new Set<{ readonly offset: number; readonly resolve: () => void }>();
  #outcomes: Record<"done" | "void", number[]> = { done: [], void: [] };
  #writing: Promise<void> | null = null;
  #table: KeyTable;
  /** The next offset to read. */
  #next = 0;
  #isLoaded = false;
  /** Whether the last read failed, which is logged once. */
  #isFailing = false;
  /** When it was last logged that keys are forgotten. */
  #warned_ms = -Infinity;
  readonly #running: Promise<void>;

  constructor(options: KeyLogOptions) {
    this.#options = options;
    this.#summaries = new SummaryWriter(options);
    this.#table = this.#createTable();
    this.#running = this.#run();
  }

  /** Resolves once the keys of the last day are known. */
  get loaded(): Promise<void> {
    return this.#loaded.promise;
  }

  counts(): KeyCounts {
    const { keys, size_bytes, forgotten } = this.#table;
    return { keys, size_bytes, forgotten };
  }

  /**
   * Returns the offset of the claim that stands for a key; null if there is none.
   * @throws LoggiaError `bus_unavailable` until the keys are known
   */
  standing(hash: KeyHash): number | null {
    if (!this.#isLoaded) {
      throw new LoggiaError("bus_unavailable", "The keys of earlier batches are still being read; try again shortly");
    }
    return this.#table.standing(hash);
  }

  /** Appends a claim. Resolves with the verdict once it is read back. */
  claim(claim: Claim, deadline_ms: number): Promise<ClaimVerdict> {
    return new Promise((resolve, reject) => {
      this.#claims.set(claim.reservation.first, { resolve, reject });
      this.#options.keys.append([encodeKeyRecord(claim)], { deadline_ms }).catch(reject);
    });
  }

  /** Ends the wait for a claim. If it arrives all the same, it is declared void. */
  abandon(first: EventId): void {
    this.#claims.get(first)?.reject(new LoggiaError("bus_unavailable", "The key could not be claimed in time"));
    this.#claims.delete(first);
    const now_ms = performance.now();
    for (const [oldest, end_ms] of this.#abandoned) {
      if (end_ms > now_ms && this.#abandoned.size < MOST_ABANDONED) break;
      this.#abandoned.delete(oldest);
    }
    this.#abandoned.set(first, now_ms + ABANDONED_MS);
  }

  /** Appends the outcome of a claim, soon. */
  settle(kind: "done" | "void", offset: number): void {
    if (this.#outcomes[kind].length < MOST_OUTCOMES) this.#outcomes[kind].push(offset);
    this.#writing ??= this.#writeOutcomes();
  }

  /** Returns the outcome of a claim, or waits for it. */
  async outcome(offset: number, wait_ms: number): Promise<"done" | "void" | "open"> {
    const known = this.#table.outcome(offset);
    if (known !== "open" || wait_ms <= 0) return known;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { offset, resolve };
    this.#outcomeWaiters.add(waiter);
    const timer = setTimeout(resolve, wait_ms);
    await promise;
    clearTimeout(timer);
    this.#outcomeWaiters.delete(waiter);
    return this.#table.outcome(offset);
  }

  /**
   * Reads the claim of a key at an offset; null if it has been removed.
   * @throws LoggiaError `bus_unavailable`
   */
  async read(offset: number, { high, low }: KeyHash): Promise<Claim | null> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const error = new LoggiaError("bus_unavailable", "Kafka did not return the key in time; try again shortly");
    const timer = setTimeout(reject, READ_DEADLINE_MS, error);
    const record = await Promise.race([this.#recordAt(offset), late]).finally(() => clearTimeout(timer));
    const claim = record === null ? null : decodeKeyRecord(record.value);
    return claim?.kind === "claim" && claim.hash.high === high && claim.hash.low === low ? claim : null;
  }

  /** Returns the record at an offset; null if it has been removed. */
  async #recordAt(offset: number): Promise<JournalRecord | null> {
    const { keys } = this.#options;
    try {
      const [record] = await keys.read({ from: offset, maxBytes: 1 });
      if (record !== undefined) return record.offset === offset ? record : null;
    } catch (error) {
      if (!(error instanceof JournalCut)) throw error;
      throw new LoggiaError("bus_unavailable", "The keys of earlier batches are being read anew; try again shortly");
    }
    if ((await keys.bounds()).first > offset) return null;
    throw nothingReturned();
  }

  async #run(): Promise<void> {
    for (let wait_ms = RETRY_FIRST_MS; !this.#closing.signal.aborted; wait_ms = Math.min(2 * wait_ms, RETRY_LAST_MS)) {
      try {
        if (!this.#isLoaded) await this.#load();
        while (!this.#closing.signal.aborted) {
          await this.#apply(await this.#read(FOLLOW_WAIT_MS));
          wait_ms = RETRY_FIRST_MS;
          this.#isFailing = false;
        }
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        if (error instanceof JournalCut) this.#isLoaded = false;
        this.#noteFailure(error);
        await sleep(wait_ms, undefined, { signal: this.#closing.signal }).catch(() => {});
      }
    }
  }

  #noteFailure(error: unknown): void {
    if (!this.#isFailing) {
      const message = "the idempotency keys cannot be read; posts with a key are refused until they can";
      this.#options.log.warn({ err: error }, message);
    }
    this.#isFailing = true;
  }

  #noteForgotten(): void {
    const { forgotten } = this.#table;
    const now_ms = performance.now();
    if (forgotten === 0 || now_ms - this.#warned_ms < FORGOTTEN_AGAIN_MS) return;
    this.#warned_ms = now_ms;
    const message = "idempotency keys are forgotten before they are a day old, as there are too many for their memory";
    this.#options.log.warn({ forgotten, keys: this.#table.keys }, message);
  }

  #createTable(): KeyTable {
    const { most_bytes } = this.#options;
    return new KeyTable({
      ...(most_bytes !== undefined && { most_bytes }),
      onSealed: (summary) => this.#summaries.add(summary),
    });
  }

  /** Reads the keys of a day: older ones from their summaries, the others from the journal. */
  async #load(): Promise<void> {
    const { keys } = this.#options;
    const start_ms = performance.now();
    this.#table = this.#createTable();
    const { first, end } = await keys.bounds();
    const [newest] = end > first ? await keys.read({ from: end - 1, maxBytes: 1 }) : [];
    if (end > first && newest === undefined) throw nothingReturned();
    this.#next = end;
    if (newest !== undefined) {
      // The first record of an hour begins a segment.
      const from_ms = (Math.floor(newest.appended / HOUR_MS) - KEPT_HOURS) * HOUR_MS;
      this.#next = await keys.offsetAt(from_ms);
      await this.#loadSummaries(from_ms, end);
      await this.#readTo(end);
    }
    this.#isLoaded = true;
    this.#loaded.resolve();
    const took_ms = Math.round(performance.now() - start_ms);
    this.#options.log.debug({ ...this.counts(), took_ms }, "the idempotency keys are read");
  }

  async #loadSummaries(from_ms: number, end: number): Promise<void> {
    const { index } = this.#options;
    const bounds = await index.bounds();
    for (let at = await index.offsetAt(from_ms); at < bounds.end;) {
      const records = await index.read({ from: at, maxBytes: INDEX_READ_BYTES });
      if (records.length === 0) return;
      for (const { offset, value } of records) {
        at = offset + 1;
        await this.#loadSummary(value, end);
      }
    }
  }

  /** Applies a summary, after the records before it. Several processes may have written it. */
  async #loadSummary(value: Buffer, end: number): Promise<void> {
    const base = baseOfSummary(value);
    if (base === null || base < this.#next || base >= end) return;
    await this.#readTo(base);
    const summary = decodeSummary(value);
    if (summary === null || base !== this.#next || summary.segment.parts.end > end) return;
    this.#table.load(summary);
    this.#next = summary.segment.parts.end;
  }

  async #readTo(limit: number): Promise<void> {
    while (this.#next < limit) {
      const records = await this.#read(0);
      if (records.length === 0 && (await this.#options.keys.bounds()).first < limit) {
        await sleep(RETRY_FIRST_MS, undefined, { signal: this.#closing.signal });
        continue;
      }
      await this.#apply(records.filter(({ offset }) => offset < limit));
      // Records that were removed meanwhile are too old to matter.
      if ((records.at(-1)?.offset ?? limit) >= limit) this.#next = limit;
    }
  }

  #read(wait_ms: number): Promise<readonly JournalRecord[]> {
    return this.#options.keys.read({ from: this.#next, maxBytes: READ_BYTES, wait_ms });
  }

  async #apply(records: readonly JournalRecord[]): Promise<void> {
    const yielder = new Yielder(this.#options.scheduler.decoding);
    for (const [i, record] of records.entries()) {
      if (i % CHECK_RECORDS === 0 && yielder.isDue) await yielder.turn();
      const verdict = this.#table.apply(record);
      this.#next = record.offset + 1;
      if (verdict !== null) this.#conclude(verdict);
    }
    this.#noteForgotten();
    for (const { offset, resolve } of this.#outcomeWaiters) if (this.#table.outcome(offset) !== "open") resolve();
  }

  #conclude(verdict: ClaimVerdict): void {
    const { first } = verdict.claim.reservation;
    const waiter = this.#claims.get(first);
    this.#claims.delete(first);
    waiter?.resolve(verdict);
    if (this.#abandoned.has(first) && verdict.standing === verdict.offset) this.settle("void", verdict.offset);
  }

  /** Writes outcomes, those of one turn of the event loop together, until there are none. */
  async #writeOutcomes(): Promise<void> {
    await new Promise(setImmediate);
    while (this.#outcomes.done.length + this.#outcomes.void.length > 0) {
      const taken = this.#outcomes;
      this.#outcomes = { done: [], void: [] };
      const kinds = (["void", "done"] as const).filter((kind) => taken[kind].length > 0);
      try {
        const records = kinds.flatMap((kind) => recordsOf(kind, taken[kind]));
        await this.#options.keys.append(records, { deadline_ms: OUTCOME_DEADLINE_MS });
      } catch (error) {
        this.#options.log.debug({ err: error }, "the outcomes of keys could not be written; retrying");
        if (this.#closing.signal.aborted) break;
        for (const kind of kinds)
          this.#outcomes[kind] = [...taken[kind], ...this.#outcomes[kind]].slice(0, MOST_OUTCOMES);
        await sleep(RETRY_LAST_MS, undefined, { ref: false });
      }
    }
    this.#writing = null;
  }

  /** Writes the outcomes that wait, and stops. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#writing;
    this.#summaries.close();
    // A read that Kafka does not answer is left behind.
    await Promise.race([this.#running, sleep(CLOSE_WAIT_MS, undefined, { ref: false })]);
  }
}

/** Kafka returns no records while it throttles a client, or a new leader lags behind what was read. */
function nothingReturned(): LoggiaError {
  return new LoggiaError("bus_unavailable", "Kafka returned none of the keys that it holds; try again shortly");
}

function recordsOf(kind: "done" | "void", offsets: readonly number[]): Buffer[] {
  const count = Math.ceil(offsets.length / RECORD_OUTCOMES);
  return Array.from({ length: count }, (_, i) =>
    encodeKeyRecord({ kind, offsets: offsets.slice(i * RECORD_OUTCOMES, (i + 1) * RECORD_OUTCOMES) }),
  );
}
