import { Partitioners, type Producer } from "kafkajs";
import type { Logger } from "pino";
import { LoggiaError } from "../errors.ts";
import type { NewRecord, Topic } from "./bus.ts";
import {
  CLIENT_RETRY,
  createKafkaClient,
  kindOf,
  reasonOf,
  REQUEST_TIMEOUT_MS,
  type KafkaConnection,
} from "./kafka-client.ts";
import { APPEND_DEADLINE_MS, backoff_ms, QUEUE_BYTES, QUEUE_RECORDS, sizeOf } from "./limits.ts";
import { pause, settledWithin, turn } from "./wait.ts";

/**
 * Appends to Kafka. A lane a partition gathers records while its one request is in flight: so order holds for each key, requests grow with the load, and
 * a partition without a leader holds up nobody else's.
 *
 * The producer is not idempotent on purpose: kafkajs then retries without end, and once its retries are limited a gap in the sequence
 * makes every later request fail. What a retry appended twice, the store keeps once, because events have ids.
 */
export class KafkaProducer {
  readonly #producer: Producer;
  readonly #connection: KafkaConnection;
  readonly #abandon: () => void;
  readonly #lanes = new Map<Topic, readonly Lane[]>();
  readonly #partitionOf = new Map<string, number>();
  readonly #closing = new AbortController();
  #records = 0;
  #size_bytes = 0;

  /** @param partitions how many each topic has; keys keep their partition for the life of the process */
  constructor(connection: KafkaConnection, topics: ReadonlyMap<Topic, { name: string; partitions: number }>) {
    const client = createKafkaClient(connection);
    this.#connection = connection;
    this.#abandon = client.abandon;
    this.#producer = client.kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
      retry: CLIENT_RETRY,
    });
    this.#producer.on(this.#producer.events.REQUEST_TIMEOUT, ({ payload }) => client.dropConnections(payload.broker));
    for (const [topic, { name, partitions }] of topics) {
      const lanes = Array.from({ length: partitions }, (_, partition) => this.#createLane(name, partition));
      this.#lanes.set(topic, lanes);
    }
  }

  connect(): Promise<void> {
    return this.#producer.connect();
  }

  /** See {@link Bus.append}. */
  append(topic: Topic, records: readonly NewRecord[], deadline_ms = APPEND_DEADLINE_MS): Promise<void> {
    if (records.length === 0) return Promise.resolve();
    if (this.#closing.signal.aborted) return Promise.reject(new LoggiaError("bus_unavailable", "The bus is closed"));
    const size_bytes = records.reduce((sum, record) => sum + sizeOf(record), 0);
    const overflows = this.#records + records.length > QUEUE_RECORDS || this.#size_bytes + size_bytes > QUEUE_BYTES;
    // A large append is never refused for its own size: it comes alone.
    if (overflows && this.#records > 0) {
      return Promise.reject(new LoggiaError("overloaded", "Too much is waiting for Kafka; try again in a moment"));
    }
    const lanes = this.#lanes.get(topic) ?? [];
    return new Promise((resolve, reject) => {
      const append = new Append(records.length, deadline_ms, resolve, reject);
      for (const record of records) lanes[this.#partition(topic, record.key, lanes.length)]?.push({ record, append });
    });
  }

  /** Sends what waits, for as long as `timeout_ms`, and disconnects. */
  async close(timeout_ms: number): Promise<void> {
    const idle = Promise.all([...this.#lanes.values()].flat().map((lane) => lane.idle));
    await settledWithin(idle, timeout_ms);
    this.#closing.abort();
    if (!(await settledWithin(this.#producer.disconnect(), 2000))) this.#abandon();
  }

  #createLane(topic: string, partition: number): Lane {
    return new Lane({
      log: this.#connection.log.child({ topic, partition }),
      closing: this.#closing.signal,
      send: async (records) => {
        const messages = records.map(({ key, value }) => ({ key, value, partition }));
        await this.#producer.send({ topic, acks: -1, timeout: REQUEST_TIMEOUT_MS, messages });
      },
      taken: (records, size_bytes) => {
        this.#records += records;
        this.#size_bytes += size_bytes;
      },
    });
  }

  /** The partition that Kafka's own clients would choose. */
  #partition(topic: Topic, key: string, partitions: number): number {
    if (partitions === 1) return 0;
    const name = `${topic} ${key}`;
    let partition = this.#partitionOf.get(name);
    if (partition === undefined) {
      // All that it looks at is how many there are.
      const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
        ...NO_METADATA,
        partitionId,
      }));
      partition = choosePartition({ topic, partitionMetadata, message: { key, value: null } });
      if (this.#partitionOf.size < 10_000) this.#partitionOf.set(name, partition);
    }
    return partition;
  }
}

const choosePartition = Partitioners.DefaultPartitioner();
const NO_METADATA = { partitionErrorCode: 0, leader: 0, replicas: [], isr: [], offlineReplicas: [] };

/** One call of `append`: settles when all its records are durable, or at its deadline. */
class Append {
  readonly #resolve: () => void;
  readonly #reject: (error: LoggiaError) => void;
  readonly #timer: NodeJS.Timeout;
  #left: number;
  /** Why Kafka did not take it so far. */
  reason = "no answer";
  settled = false;

  constructor(records: number, deadline_ms: number, resolve: () => void, reject: (error: LoggiaError) => void) {
    this.#left = records;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => {
      this.fail(
        new LoggiaError("bus_unavailable", `Kafka did not store this within ${deadline_ms} ms: ${this.reason}`),
      );
    }, deadline_ms);
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

type Item = { readonly record: NewRecord; readonly append: Append };

type LaneOptions = {
  readonly log: Logger;
  readonly closing: AbortSignal;
  send(records: readonly NewRecord[]): Promise<void>;
  /** Counts what waits or is in flight, up and down. */
  taken(records: number, size_bytes: number): void;
};

/** A broker's default limit is 1,048,588 bytes for what one request brings to one partition; a record adds up to 40 bytes to its own size. */
const REQUEST_BYTES = 1_000_000;
const REQUEST_RECORDS = 5000;
const RECORD_OVERHEAD_BYTES = 40;

class Lane {
  readonly #options: LaneOptions;
  #queue: Item[] = [];
  #request_bytes = REQUEST_BYTES;
  #running = false;
  /** Resolves when nothing waits and nothing is in flight. */
  idle: Promise<void> = Promise.resolve();

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  push(item: Item): void {
    this.#queue.push(item);
    this.#options.taken(1, sizeOf(item.record));
    if (this.#running) return;
    this.#running = true;
    this.idle = this.#run();
  }

  async #run(): Promise<void> {
    // What comes in the same turn of the event loop goes together.
    await turn();
    for (;;) {
      const items = this.#take();
      if (items.length === 0) break;
      await this.#sendUntilDone(items);
    }
    this.#running = false;
  }

  /** The next request: in order, within its limits, without what its caller has given up. */
  #take(): Item[] {
    const items: Item[] = [];
    let size_bytes = 0;
    let count = 0;
    for (const item of this.#queue) {
      if (!item.append.settled) {
        size_bytes += sizeOf(item.record) + RECORD_OVERHEAD_BYTES;
        if (items.length > 0 && (size_bytes > this.#request_bytes || items.length === REQUEST_RECORDS)) break;
        items.push(item);
      } else {
        this.#options.taken(-1, -sizeOf(item.record));
      }
      count += 1;
    }
    this.#queue.splice(0, count);
    return items;
  }

  async #sendUntilDone(items: Item[]): Promise<void> {
    for (let failures = 1; ; failures++) {
      try {
        await this.#options.send(items.map(({ record }) => record));
        for (const { append } of items) append.recordDone();
        break;
      } catch (error) {
        if (this.#isOver(items, error)) break;
        this.#options.log.warn(
          { reason: reasonOf(error), records: items.length, failures },
          "Kafka did not take records; trying again",
        );
        await pause(backoff_ms(failures), this.#options.closing);
        // Nobody waits for it any more, so nobody can be told that it went well.
        if (items.every(({ append }) => append.settled)) break;
      }
    }
    for (const { record } of items) this.#options.taken(-1, -sizeOf(record));
  }

  /** Whether a failed request is not to be tried again as it is. */
  #isOver(items: Item[], error: unknown): boolean {
    const reason = reasonOf(error);
    for (const { append } of items) append.reason = reason;
    if (kindOf(error) === "MESSAGE_TOO_LARGE") {
      if (items.length === 1) {
        items[0]?.append.fail(
          new LoggiaError("body_too_large", "This is larger than what Kafka is configured to take", { cause: error }),
        );
        return true;
      }
      // The broker's limit is lower than its default: smaller requests from now on.
      this.#request_bytes = Math.max(1, Math.floor(items.reduce((sum, { record }) => sum + sizeOf(record), 0) / 2));
      for (const { record } of items) this.#options.taken(1, sizeOf(record));
      this.#queue.unshift(...items);
      return true;
    }
    if (this.#options.closing.aborted || NEVER.has(kindOf(error))) {
      for (const { append } of items) {
        append.fail(new LoggiaError("bus_unavailable", `Kafka did not store this: ${reason}`, { cause: error }));
      }
      return true;
    }
    return false;
  }
}

/** Refusals that last until an operator does something: callers are told at once. */
const NEVER: ReadonlySet<string> = new Set([
  "TOPIC_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
  "SASL_AUTHENTICATION_FAILED",
  "KafkaJSSASLAuthenticationError",
]);
