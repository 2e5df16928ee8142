import type { Logger } from "pino";
import { LoggiaError } from "../../errors.ts";
import type { NewRecord } from "../bus.ts";
import { kindOf, reasonOf, refusalOf } from "./client.ts";
import { backoff_ms, sizeOf } from "../limits.ts";
import { pause } from "../wait.ts";

/** One call of `append`: settles when all its records are durable, or at its deadline. */
export class Append {
  readonly #resolve: () => void;
  readonly #reject: (error: LoggiaError) => void;
  readonly #timer: NodeJS.Timeout;
  #left: number;
  /** Why Kafka did not take it so far. */
  reason = "no answer";
  /** What it said to that, in words for callers. */
  refusal: string | null = null;
  settled = false;

  constructor(records: number, deadline_ms: number, resolve: () => void, reject: (error: LoggiaError) => void) {
    this.#left = records;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => {
      this.fail(
        new LoggiaError("bus_unavailable", this.#late(Math.round(deadline_ms)), { cause: new Error(this.reason) }),
      );
    }, deadline_ms);
  }

  /** What the client said is for the log: it may name files and addresses. */
  #late(deadline_ms: number): string {
    const late = `Kafka did not store this within ${deadline_ms} ms`;
    return this.refusal === null ? late : `${late}: ${this.refusal}`;
  }

  recordDone(): void {
    this.#left -= 1;
    if (this.#left > 0 || this.settled) return;
    this.settled = true;
    clearTimeout(this.#timer);
    this.#resolve();
  }

  fail(error: LoggiaError): void {
    if (this.settled) return;
    this.settled = true;
    clearTimeout(this.#timer);
    this.#reject(error);
  }
}

export type Item = { readonly record: NewRecord; readonly append: Append };

export type LaneOptions = {
  readonly topic: string;
  readonly partition: number;
  readonly log: Logger;
  readonly closing: AbortSignal;
  /** Sends records of this lane alone. */
  send(items: readonly Item[]): Promise<void>;
  /** Takes note that items neither wait nor are in flight any more. */
  left(items: readonly Item[]): void;
};

/**
 * A broker's default limit is 1,048,588 bytes for what one request brings to one partition; a
 * record adds up to 40 bytes to its own size.
 */
const REQUEST_BYTES = 1_000_000;
const REQUEST_RECORDS = 5000;
const RECORD_OVERHEAD_BYTES = 40;

/** Refusals that last until an operator does something: callers are told at once. */
const NEVER: ReadonlySet<string> = new Set([
  "TOPIC_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
  "SASL_AUTHENTICATION_FAILED",
  "KafkaJSSASLAuthenticationError",
]);

/** What waits for one partition. At most one request of it is in flight: that keeps its order. */
export class Lane {
  readonly topic: string;
  readonly partition: number;
  readonly #options: LaneOptions;
  #queue: Item[] = [];
  #request_bytes = REQUEST_BYTES;
  /** Whether a request is in flight, or being tried again. */
  isBusy = false;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.topic = options.topic;
    this.partition = options.partition;
  }

  get isIdle(): boolean {
    return !this.isBusy && this.#queue.length === 0;
  }

  push(item: Item): void {
    this.#queue.push(item);
  }

  /**
   * The next request: in order, within its limits, without what its caller has given up. The lane
   * is busy until {@link sent} or {@link sendAlone} is through.
   */
  take(): Item[] {
    const items: Item[] = [];
    const givenUp: Item[] = [];
    let size_bytes = 0;
    for (const item of this.#queue) {
      if (item.append.settled) {
        givenUp.push(item);
        continue;
      }
      size_bytes += sizeOf(item.record) + RECORD_OVERHEAD_BYTES;
      if (items.length > 0 && (size_bytes > this.#request_bytes || items.length === REQUEST_RECORDS)) break;
      items.push(item);
    }
    this.#queue.splice(0, items.length + givenUp.length);
    this.#options.left(givenUp);
    this.isBusy = items.length > 0;
    return items;
  }

  /** All of `items` is durable. */
  sent(items: readonly Item[]): void {
    for (const { append } of items) append.recordDone();
    this.#options.left(items);
    this.isBusy = false;
  }

  /** Sends `items` again and again, by themselves, for as long as somebody waits for them. */
  async sendAlone(items: readonly Item[]): Promise<void> {
    for (let failures = 1; ; failures++) {
      try {
        await this.#options.send(items);
        return this.sent(items);
      } catch (error) {
        if (this.#splits(items, error)) return;
        this.#note(items, error);
        if (items.every(({ append }) => append.settled)) break;
        const fields = { topic: this.topic, partition: this.partition, reason: reasonOf(error), records: items.length };
        this.#options.log.warn({ ...fields, failures }, "Kafka did not take records; trying again");
        await pause(backoff_ms(failures), this.#options.closing);
      }
    }
    this.#options.left(items);
    this.isBusy = false;
  }

  /** Where the broker's limit is lower than its default: smaller requests from now on. */
  #splits(items: readonly Item[], error: unknown): boolean {
    if (kindOf(error) !== "MESSAGE_TOO_LARGE" || items.length === 1) return false;
    const size_bytes = items.reduce((sum, { record }) => sum + sizeOf(record) + RECORD_OVERHEAD_BYTES, 0);
    this.#request_bytes = Math.floor(size_bytes / 2);
    this.#queue.unshift(...items);
    this.isBusy = false;
    return true;
  }

  /** Tells the callers of `items` what their deadline will say, or that there is no hope. */
  #note(items: readonly Item[], error: unknown): void {
    const reason = reasonOf(error);
    const isTooLarge = kindOf(error) === "MESSAGE_TOO_LARGE";
    const isHopeless = this.#options.closing.aborted || NEVER.has(kindOf(error));
    for (const { append } of items) {
      append.reason = reason;
      append.refusal = refusalOf(error);
      if (isTooLarge) {
        append.fail(
          new LoggiaError("body_too_large", "This is larger than what Kafka is configured to take", { cause: error }),
        );
      } else if (isHopeless) {
        const why =
          append.refusal ?? (this.#options.closing.aborted ? "the service is ending" : "it refused the credentials");
        append.fail(new LoggiaError("bus_unavailable", `Kafka did not store this: ${why}`, { cause: error }));
      }
    }
  }
}
