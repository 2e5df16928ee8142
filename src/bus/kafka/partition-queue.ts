import type { Logger } from "pino";
import { LateAppend, LoggiaError } from "../../errors.ts";
import type { NewRecord } from "../bus.ts";
import { kafkaErrorKind, kafkaReason, kafkaRefusal } from "./client.ts";
import { backoff_ms, recordBytes } from "../limits.ts";
import { pause } from "../wait.ts";

/** One call of `append`. Settles when all its records are durable, or at its deadline. */
export class Append {
  readonly #resolve: () => void;
  readonly #reject: (error: LoggiaError) => void;
  readonly #timer: NodeJS.Timeout;
  #remaining: number;
  /** The last reason why Kafka did not store the records. */
  reason = "no response";
  /** Kafka's own message for that reason, which callers may see. */
  refusal: string | null = null;
  settled = false;
  readonly #outcome = Promise.withResolvers<boolean>();
  /** Keys of records that were taken to be sent. */
  readonly #begun = new Set<string>();

  constructor(
    records: readonly NewRecord[],
    deadline_ms: number,
    resolve: () => void,
    reject: (error: LoggiaError) => void,
  ) {
    this.#remaining = records.length;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => {
      if (this.#begun.size === 0) this.#outcome.resolve(false);
      this.#fail(
        new LateAppend(this.#timeoutMessage(Math.round(deadline_ms)), {
          isStored: this.#outcome.promise,
          // Records that are still queued are dropped.
          unsent: new Set(records.map(({ key }) => key)).difference(this.#begun),
          cause: new Error(this.reason),
        }),
      );
    }, deadline_ms);
  }

  /** The client's own messages are only logged: they may name files and addresses. */
  #timeoutMessage(deadline_ms: number): string {
    const message = `Kafka did not store the records within ${deadline_ms} ms`;
    return this.refusal === null ? message : `${message}: ${this.refusal}`;
  }

  /** Called when a record is taken to be sent. */
  begin({ key }: NewRecord): void {
    this.#begun.add(key);
  }

  recordDone(): void {
    this.#remaining -= 1;
    if (this.#remaining === 0) this.#outcome.resolve(true);
    if (this.#remaining > 0 || this.settled) return;
    this.settled = true;
    clearTimeout(this.#timer);
    this.#resolve();
  }

  /** Called when one of its records will not be sent again. */
  fail(error: LoggiaError): void {
    this.#outcome.resolve(false);
    this.#fail(error);
  }

  /** Called when one of its records will not be sent again, after the deadline. */
  abandon(): void {
    this.#outcome.resolve(false);
  }

  #fail(error: LoggiaError): void {
    if (this.settled) return;
    this.settled = true;
    clearTimeout(this.#timer);
    this.#reject(error);
  }
}

export type QueuedRecord = { readonly record: NewRecord; readonly append: Append };

export type PartitionQueueOptions = {
  readonly topic: string;
  readonly partition: number;
  readonly log: Logger;
  readonly closing: AbortSignal;
  /** Sends records of this queue only. */
  send(items: readonly QueuedRecord[]): Promise<void>;
  /** Called when items are no longer queued or in flight. */
  released(items: readonly QueuedRecord[]): void;
};

/**
 * Maximum size of one request for one partition. The default limit of brokers is 1,048,588; a
 * record takes up to 40 bytes more than its own size.
 */
const REQUEST_BYTES = 1_000_000;
const REQUEST_RECORDS = 5000;
const RECORD_OVERHEAD_BYTES = 40;

function sizeOfItems(items: readonly QueuedRecord[]): number {
  return items.reduce((sum, { record }) => sum + recordBytes(record) + RECORD_OVERHEAD_BYTES, 0);
}

/** Errors that last until an operator acts. Appends fail at once. */
const PERMANENT_ERRORS: ReadonlySet<string> = new Set([
  "TOPIC_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
  "SASL_AUTHENTICATION_FAILED",
  "KafkaJSSASLAuthenticationError",
]);

/** Queue of one partition. At most one of its requests is in flight, which preserves the order. */
export class PartitionQueue {
  readonly topic: string;
  readonly partition: number;
  readonly #options: PartitionQueueOptions;
  #queue: QueuedRecord[] = [];
  #request_bytes = REQUEST_BYTES;
  /** Whether a request is in flight or being retried. */
  isBusy = false;

  constructor(options: PartitionQueueOptions) {
    this.#options = options;
    this.topic = options.topic;
    this.partition = options.partition;
  }

  get isIdle(): boolean {
    return !this.isBusy && this.#queue.length === 0;
  }

  /** Whether a request is larger than the broker accepts: one record that has to be compressed. */
  isTooLarge(items: readonly QueuedRecord[]): boolean {
    return sizeOfItems(items) > this.#request_bytes;
  }

  push(item: QueuedRecord): void {
    this.#queue.push(item);
  }

  /**
   * Returns the items of the next request: in order, within its limits, without appends that have
   * timed out. The queue is busy until {@link sent} or {@link sendAlone} is finished.
   */
  take(): QueuedRecord[] {
    const items: QueuedRecord[] = [];
    const timedOut: QueuedRecord[] = [];
    let size_bytes = 0;
    for (const item of this.#queue) {
      if (item.append.settled) {
        item.append.abandon();
        timedOut.push(item);
        continue;
      }
      size_bytes += recordBytes(item.record) + RECORD_OVERHEAD_BYTES;
      if (items.length > 0 && (size_bytes > this.#request_bytes || items.length === REQUEST_RECORDS)) break;
      items.push(item);
    }
    this.#queue.splice(0, items.length + timedOut.length);
    for (const { record, append } of items) append.begin(record);
    this.#options.released(timedOut);
    this.isBusy = items.length > 0;
    return items;
  }

  /** Completes a request: all of `items` are durable. */
  sent(items: readonly QueuedRecord[]): void {
    for (const { append } of items) append.recordDone();
    this.#options.released(items);
    this.isBusy = false;
  }

  /** Sends `items` in requests of their own, with retries, as long as any append waits for them. */
  async sendAlone(items: readonly QueuedRecord[]): Promise<void> {
    // A repeat of a keyed batch relies on nothing being sent after its deadline.
    for (let failures = 1; items.some(({ append }) => !append.settled); failures++) {
      try {
        await this.#options.send(items);
        return this.sent(items);
      } catch (error) {
        if (this.#splitIfTooLarge(items, error)) return;
        this.#noteError(items, error);
        if (items.every(({ append }) => append.settled)) break;
        const fields = {
          topic: this.topic,
          partition: this.partition,
          reason: kafkaReason(error),
          records: items.length,
        };
        this.#options.log.warn({ ...fields, failures }, "Kafka did not accept records; retrying");
        await pause(backoff_ms(failures), this.#options.closing);
      }
    }
    for (const { append } of items) append.abandon();
    this.#options.released(items);
    this.isBusy = false;
  }

  /**
   * Halves the size of requests if the broker's limit is lower than its default. A single record is
   * compressed then.
   */
  #splitIfTooLarge(items: readonly QueuedRecord[], error: unknown): boolean {
    if (kafkaErrorKind(error) !== "MESSAGE_TOO_LARGE" || this.isTooLarge(items)) return false;
    this.#request_bytes = Math.floor(sizeOfItems(items) / 2);
    this.#queue.unshift(...items);
    this.isBusy = false;
    return true;
  }

  /** Notes the error for the deadline's message. Fails appends that cannot succeed. */
  #noteError(items: readonly QueuedRecord[], error: unknown): void {
    const reason = kafkaReason(error);
    const isTooLarge = kafkaErrorKind(error) === "MESSAGE_TOO_LARGE";
    const isPermanent = this.#options.closing.aborted || PERMANENT_ERRORS.has(kafkaErrorKind(error));
    for (const { append } of items) {
      append.reason = reason;
      append.refusal = kafkaRefusal(error);
      if (isTooLarge) {
        append.fail(
          new LoggiaError("body_too_large", "The record is larger than Kafka is configured to accept", {
            cause: error,
          }),
        );
      } else if (isPermanent) {
        const why =
          append.refusal ??
          (this.#options.closing.aborted ? "the service is shutting down" : "it refused the credentials");
        append.fail(new LoggiaError("bus_unavailable", `Kafka did not store the records: ${why}`, { cause: error }));
      }
    }
  }
}
