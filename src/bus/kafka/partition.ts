import type { Logger } from "pino";
import { LoggiaError } from "../../errors.ts";
import type { Batch, BusRecord, SubscribeOptions } from "../bus.ts";
import { ABORT_GRACE_MS, backoff_ms, recordBytes } from "../limits.ts";
import { pause, settledWithin } from "../wait.ts";

export type PartitionOptions = {
  readonly partition: number;
  readonly subscription: SubscribeOptions;
  readonly handler: (batch: Batch) => Promise<void>;
  readonly log: Logger;
  /** Resolves when the partition's previous holder in this process has released it. */
  readonly after: Promise<void>;
  commit(next: number): Promise<void>;
};

const COMMIT_ATTEMPTS = 8;

/**
 * One assigned partition: its fetched records and the one running handler. It is independent of the
 * consumer's fetch loop, so that a slow or retrying handler delays neither heartbeats nor other
 * partitions.
 */
export class KafkaPartition {
  readonly #options: PartitionOptions;
  readonly #closing = new AbortController();
  readonly #aborting = new AbortController();
  #queue: BusRecord[] = [];
  #acked = -1;
  #arrived: PromiseWithResolvers<void> = Promise.withResolvers();
  #drained: PromiseWithResolvers<void> = Promise.withResolvers();
  /** The next offset to fetch, once it is known. */
  position: number | null = null;
  /** Resolves when the last handler has returned. */
  readonly ended: Promise<void>;

  constructor(options: PartitionOptions) {
    this.#options = options;
    this.#drained.resolve();
    this.ended = this.#run();
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Accepts fetched records. Resolves when all of them are delivered and more may be fetched. */
  offer(records: readonly BusRecord[]): Promise<void> {
    if (this.isClosed) return Promise.resolve();
    const { position } = this;
    // After a rebalance the same records may be fetched again.
    const fresh = position === null ? records : records.filter((record) => record.position.offset >= position);
    const last = fresh.at(-1);
    if (last === undefined) return this.#drained.promise;
    this.position = last.position.offset + 1;
    if (this.#queue.length === 0) this.#drained = Promise.withResolvers();
    this.#queue = this.#queue.concat(fresh);
    this.#arrived.resolve();
    return this.#drained.promise;
  }

  /**
   * Called when the partition is assigned to another member: drops the queue, aborts the handler,
   * refuses its `ack`.
   */
  revoke(): void {
    this.#stop();
    this.#aborting.abort();
  }

  /** Lets the handler finish within `timeout_ms`, then aborts it. */
  async close(timeout_ms: number): Promise<void> {
    this.#stop();
    if (await settledWithin(this.ended, timeout_ms)) return;
    this.#aborting.abort();
    await settledWithin(this.ended, ABORT_GRACE_MS);
  }

  #stop(): void {
    this.#closing.abort();
    this.#queue = [];
    this.#drained.resolve();
    this.#arrived.resolve();
  }

  async #run(): Promise<void> {
    await this.#options.after;
    while (!this.isClosed) {
      const records = this.#take();
      if (records.length > 0) {
        await this.#deliver(records);
      } else {
        this.#arrived = Promise.withResolvers();
        await this.#arrived.promise;
      }
    }
  }

  #take(): BusRecord[] {
    const { maxRecords, maxBytes } = this.#options.subscription;
    let count = 0;
    let size_bytes = 0;
    for (const record of this.#queue) {
      size_bytes += recordBytes(record);
      if (count === maxRecords || (count > 0 && size_bytes > maxBytes)) break;
      count += 1;
    }
    const records = this.#queue.slice(0, count);
    this.#queue = this.#queue.slice(count);
    if (this.#queue.length === 0) this.#drained.resolve();
    return records;
  }

  /** Delivers `records` until the handler returns, has acknowledged them, or must stop. */
  async #deliver(records: readonly BusRecord[]): Promise<void> {
    const { handler, log } = this.#options;
    const next = (records.at(-1)?.position.offset ?? -1) + 1;
    for (let failures = 1; !this.isClosed; failures++) {
      try {
        return await handler(this.#batch(records, next));
      } catch (error) {
        if (this.#acked >= next || this.isClosed) return;
        const wait_ms = backoff_ms(failures);
        const offset = records[0]?.position.offset;
        log.warn(
          { err: error, offset, failures, wait_ms: Math.round(wait_ms) },
          "a batch failed and will be delivered again",
        );
        await pause(wait_ms, this.#closing.signal);
      }
    }
  }

  #batch(records: readonly BusRecord[], next: number): Batch {
    return {
      topic: this.#options.subscription.topic,
      partition: this.#options.partition,
      records,
      signal: this.#aborting.signal,
      // The consumer's own loop sends heartbeats, independently of handlers.
      heartbeat: async () => {},
      ack: () => this.#ack(next),
    };
  }

  async #ack(next: number): Promise<void> {
    for (let failures = 1; ; failures++) {
      if (this.#aborting.signal.aborted) {
        throw new LoggiaError("bus_unavailable", "The partition was revoked: this batch will be delivered again");
      }
      // A late acknowledgement of an earlier batch moves nothing back.
      if (next <= this.#acked) return;
      try {
        await this.#options.commit(next);
        this.#acked = Math.max(this.#acked, next);
        return;
      } catch (error) {
        if (failures === COMMIT_ATTEMPTS) throw error;
        this.#options.log.warn({ err: error, next, failures }, "an acknowledgement failed; retrying");
        await pause(backoff_ms(failures), this.#aborting.signal);
      }
    }
  }
}
