import { performance } from "node:perf_hooks";
import type { Logger } from "pino";
import { LoggiaError } from "../../errors.ts";
import { busyPolled_ms } from "../../scheduling/busy-poll.ts";
import type { Batch, BusRecord, SubscribeOptions, Subscription } from "../bus.ts";
import { ABORT_GRACE_MS, backoff_ms, CLOSE_TIMEOUT_MS, recordBytes } from "../limits.ts";
import { averageLoad, NO_LOAD, throttleLeft_ms, SILENCE_MS, type ThreadLoad } from "./consumer-throttle.ts";
import { isCorruption } from "./errors.ts";
import { pause, settledWithin, turn } from "../wait.ts";

/** The bus as a subscription uses it. */
export type SubscriptionSource = {
  readonly log: Logger;
  /** Resolves when earlier members of the group have left: a partition has one owner. */
  readonly ready: Promise<void>;
  /** The first offset to deliver. @param from the result of the subscriber's `from` */
  position(from: number | null): Promise<number>;
  read(offset: number): Promise<BusRecord[]>;
  /** The clock of appends. */
  now(): number;
  /** Bytes appended since the bus was opened. */
  appended_bytes(): number;
  /** Resolves at the next append, or when `signal` fires. */
  appended(signal: AbortSignal): Promise<void>;
  ack(next: number): Promise<void>;
  ended(): void;
};

export class SqliteSubscription implements Subscription {
  readonly done: Promise<void>;
  readonly #options: SubscribeOptions;
  readonly #handler: (batch: Batch) => Promise<void>;
  readonly #source: SubscriptionSource;
  /** Fires when no further batch may start. */
  readonly #closing = new AbortController();
  /** Fires when the batch in flight must stop: it is every batch's `signal`. */
  readonly #aborting = new AbortController();
  /** The largest offset whose commit was requested, and the largest that is committed. */
  #acking = 0;
  #acked = 0;
  /** Load during rests since the subscription was last idle. */
  #threadLoad: ThreadLoad = NO_LOAD;
  /** The next batch, read while the current one is handled. */
  #prefetched: { readonly offset: number; readonly records: Promise<BusRecord[]> } | null = null;

  constructor(options: SubscribeOptions, handler: (batch: Batch) => Promise<void>, source: SubscriptionSource) {
    this.#options = options;
    this.#handler = handler;
    this.#source = source;
    this.done = this.#run().finally(() => source.ended());
    // Logs the failure, and keeps a process alive in which nothing awaits `done`.
    this.done.catch((error: unknown) => source.log.fatal({ err: error }, "the subscription failed permanently"));
  }

  fault(): null {
    return null;
  }

  async close(timeout_ms: number = CLOSE_TIMEOUT_MS): Promise<void> {
    this.#closing.abort();
    if (await settledWithin(this.done, timeout_ms)) return;
    this.#aborting.abort();
    await settledWithin(this.done, ABORT_GRACE_MS);
    // A handler that ignores its signal is left behind: without `ack` it can do no harm.
    this.#source.ended();
  }

  async #run(): Promise<void> {
    const closing = this.#closing.signal;
    await Promise.race([
      this.#source.ready,
      new Promise((resolve) => closing.addEventListener("abort", resolve, { once: true })),
    ]);
    let next: number | null = null;
    let failures = 0;
    while (!closing.aborted) {
      try {
        next ??= await this.#startOffset();
        next = await this.#deliver(next);
        failures = 0;
      } catch (error) {
        if (isCorruption(error)) throw error;
        failures += 1;
        const wait_ms = backoff_ms(failures);
        this.#source.log.warn(
          { err: error, offset: next, failures, wait_ms: Math.round(wait_ms) },
          "a batch failed and will be delivered again",
        );
        if (next !== null) next = Math.max(next, this.#acked);
        await pause(wait_ms, closing);
      }
    }
  }

  async #startOffset(): Promise<number> {
    return this.#source.position((await this.#options.from?.(0)) ?? null);
  }

  /** Delivers the next batch, or waits for records. @returns the offset after it */
  async #deliver(offset: number): Promise<number> {
    const records = await this.#read(offset);
    const last = records.at(-1);
    if (last === undefined) {
      this.#threadLoad = NO_LOAD;
      await this.#source.appended(this.#closing.signal);
      return offset;
    }
    if (this.#isFull(records)) this.#prefetch(last.position.offset + 1);
    const start_ms = performance.now();
    const before_bytes = this.#source.appended_bytes();
    try {
      await this.#handler(this.#batch(records, last.position.offset + 1));
    } finally {
      if (this.#options.transient === true) freeValues(records);
    }
    // A handler that never leaves the microtask queue must not starve the event loop.
    await turn();
    if (this.#source.appended_bytes() > before_bytes) await this.#throttle(performance.now() - start_ms, last);
    return last.position.offset + 1;
  }

  async #read(offset: number): Promise<BusRecord[]> {
    const ahead = this.#prefetched;
    this.#prefetched = null;
    const early = ahead?.offset === offset ? await ahead.records : [];
    // A short early read may be out of date, and appends since then send no further wake-up.
    return this.#isFull(early) ? early : await this.#source.read(offset);
  }

  /** Starts to read the next batch. */
  #prefetch(offset: number): void {
    const records = this.#source.read(offset);
    // The failure is thrown to the caller that awaits the records.
    records.catch(() => {});
    this.#prefetched = { offset, records };
  }

  /** Whether a batch is full or nearly full, so that more records are likely to follow. */
  #isFull(records: readonly BusRecord[]): boolean {
    const { maxRecords, maxBytes } = this.#options;
    return records.length >= maxRecords || records.reduce((sum, record) => sum + recordBytes(record), 0) > maxBytes / 2;
  }

  async #throttle(worked_ms: number, last: BusRecord): Promise<void> {
    const start_ms = performance.now();
    const start_bytes = this.#source.appended_bytes();
    while (!this.#closing.signal.aborted) {
      const rested_ms = performance.now() - start_ms;
      const behind_ms = this.#source.now() - last.appended;
      const left_ms = throttleLeft_ms({ worked_ms, rested_ms, behind_ms, ...this.#threadLoad });
      if (left_ms === 0) return;
      const before = { ms: performance.now(), bytes: this.#source.appended_bytes() };
      // After a burst, the next batch is ready.
      const isBatch = before.bytes - start_bytes > this.#options.maxBytes;
      if (isBatch && this.#prefetched === null) this.#prefetch(last.position.offset + 1);
      const utilization = performance.eventLoopUtilization();
      const idle_ms = busyPolled_ms();
      // Timers have whole milliseconds, and may fire a fraction of one early.
      await pause(Math.min(Math.ceil(left_ms), SILENCE_MS + 1), this.#closing.signal);
      const over_ms = performance.now() - before.ms;
      const busy = performance.eventLoopUtilization(utilization).utilization - (busyPolled_ms() - idle_ms) / over_ms;
      const appended_bytes_s = ((this.#source.appended_bytes() - before.bytes) / over_ms) * 1000;
      this.#threadLoad = averageLoad(this.#threadLoad, { busy, appended_bytes_s }, over_ms);
    }
  }

  #batch(records: readonly BusRecord[], next: number): Batch {
    const signal = this.#aborting.signal;
    return {
      topic: this.#options.topic,
      partition: 0,
      records,
      signal,
      heartbeat: async () => {},
      ack: async () => {
        if (signal.aborted)
          throw new LoggiaError("bus_unavailable", "The subscription is closed: this batch will be delivered again");
        // A late acknowledgement of an earlier batch does not move the offset back.
        if (next <= this.#acking) return;
        this.#acking = next;
        try {
          await this.#source.ack(next);
        } catch (error) {
          this.#acking = this.#acked;
          throw error;
        }
        this.#acked = Math.max(this.#acked, next);
      },
    };
  }
}

/** Frees the memory of the values. Each value from SQLite has a buffer of its own. */
function freeValues(records: readonly BusRecord[]): void {
  for (const { value } of records) (value.buffer as ArrayBuffer).transfer(0);
}
