import { CompressionTypes, Partitioners, type Producer } from "kafkajs";
import { LoggiaError } from "../../errors.ts";
import type { NewRecord } from "../bus.ts";
import { CLIENT_RETRY, createKafkaClient, REQUEST_TIMEOUT_MS, type KafkaConnection } from "./client.ts";
import { Append, PartitionQueue, type QueuedRecord } from "./partition-queue.ts";
import { APPEND_DEADLINE_MS, QUEUE_BYTES, QUEUE_RECORDS, recordBytes } from "../limits.ts";
import { settledWithin } from "../wait.ts";

/**
 * Maximum number of shared requests in flight, each with different partitions. The second one
 * serves appends that arrive just after the first was sent.
 */
const SHARED_REQUESTS = 2;
const SHARED_REQUEST_BYTES = 8 * 1024 * 1024;
const DISCONNECT_TIMEOUT_MS = 2000;

/** The items that a {@link PartitionQueue} contributes to a request. */
type QueueItems = { readonly queue: PartitionQueue; readonly items: readonly QueuedRecord[] };

/**
 * Appends to Kafka. Each partition has a queue with at most one request in flight, which preserves
 * the order of each key. Queues share requests, because the client's cost is per request: records
 * that arrive meanwhile are batched, so requests grow with the load. If a shared request fails,
 * each of its queues retries alone, so that a partition without a leader does not block the others.
 *
 * The producer is deliberately not idempotent: kafkajs would then retry without end, and with
 * limited retries a gap in the sequence makes every later request fail. The store removes
 * duplicates of retries by the ids of events.
 */
export class KafkaProducer {
  readonly #producer: Producer;
  readonly #dropConnections: () => void;
  readonly #queues = new Map<string, readonly PartitionQueue[]>();
  readonly #allQueues: readonly PartitionQueue[];
  readonly #partitionOf = new Map<string, number>();
  readonly #closing = new AbortController();
  #records = 0;
  #size_bytes = 0;
  #requests = 0;
  #scheduled = false;
  #isClosed = false;
  #idle: (() => void) | null = null;

  /**
   * @param topics a key keeps its partition for the life of the process, even if an operator adds
   *   partitions
   */
  constructor(connection: KafkaConnection, topics: ReadonlyMap<string, { name: string; partitions: number }>) {
    const client = createKafkaClient(connection);
    this.#dropConnections = client.dropAllConnections;
    this.#producer = client.kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
      retry: CLIENT_RETRY,
    });
    this.#producer.on(this.#producer.events.REQUEST_TIMEOUT, ({ payload }) => client.dropConnections(payload.broker));
    for (const [topic, { name, partitions }] of topics) {
      this.#queues.set(
        topic,
        Array.from({ length: partitions }, (_, partition) => this.#createQueue(connection, name, partition)),
      );
    }
    this.#allQueues = [...this.#queues.values()].flat();
  }

  connect(): Promise<void> {
    return this.#producer.connect();
  }

  /** See {@link Bus.append}. */
  append(topic: string, records: readonly NewRecord[], deadline_ms = APPEND_DEADLINE_MS): Promise<void> {
    if (records.length === 0) return Promise.resolve();
    if (this.#isClosed) return Promise.reject(new LoggiaError("bus_unavailable", "The bus is closed"));
    const size_bytes = records.reduce((sum, record) => sum + recordBytes(record), 0);
    const overflows = this.#records + records.length > QUEUE_RECORDS || this.#size_bytes + size_bytes > QUEUE_BYTES;
    // A large append is never refused for its own size: with an empty queue it is accepted alone.
    if (overflows && this.#records > 0) {
      return Promise.reject(
        new LoggiaError("overloaded", "Too many records are waiting for Kafka; try again in a moment"),
      );
    }
    this.#records += records.length;
    this.#size_bytes += size_bytes;
    const queues = this.#queues.get(topic) ?? [];
    return new Promise((resolve, reject) => {
      const append = new Append(records, deadline_ms, resolve, reject);
      for (const record of records) queues[this.#partition(topic, record.key, queues.length)]?.push({ record, append });
      this.#schedule();
    });
  }

  /** Sends queued records for up to `timeout_ms`, then disconnects. */
  async close(timeout_ms: number): Promise<void> {
    this.#isClosed = true;
    const { promise: idle, resolve } = Promise.withResolvers<void>();
    this.#idle = resolve;
    this.#schedule();
    await settledWithin(idle, timeout_ms);
    this.#closing.abort();
    if (!(await settledWithin(this.#producer.disconnect(), DISCONNECT_TIMEOUT_MS))) this.#dropConnections();
  }

  #createQueue(connection: KafkaConnection, topic: string, partition: number): PartitionQueue {
    const queue: PartitionQueue = new PartitionQueue({
      topic,
      partition,
      log: connection.log,
      closing: this.#closing.signal,
      send: (items) => this.#send([{ queue, items }]),
      released: (items) => {
        this.#records -= items.length;
        for (const { record } of items) this.#size_bytes -= recordBytes(record);
      },
    });
    return queue;
  }

  /** Batches the appends of one turn of the event loop. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#sendQueued();
    });
  }

  #sendQueued(): void {
    while (this.#requests < SHARED_REQUESTS) {
      const taken = this.#takeItems();
      if (taken.length === 0) break;
      this.#requests += 1;
      void this.#sendTogether(taken);
    }
    if (this.#idle !== null && this.#allQueues.every((queue) => queue.isIdle)) this.#idle();
  }

  #takeItems(): QueueItems[] {
    const taken: QueueItems[] = [];
    let size_bytes = 0;
    for (const queue of this.#allQueues) {
      if (size_bytes > SHARED_REQUEST_BYTES) break;
      if (queue.isBusy || queue.isIdle) continue;
      const items = queue.take();
      if (items.length > 0) taken.push({ queue, items });
      for (const { record } of items) size_bytes += recordBytes(record);
    }
    return taken;
  }

  async #sendTogether(taken: readonly QueueItems[]): Promise<void> {
    try {
      await this.#send(taken);
      for (const { queue, items } of taken) queue.sent(items);
    } catch {
      for (const { queue, items } of taken) void queue.sendAlone(items).finally(() => this.#schedule());
    }
    this.#requests -= 1;
    this.#sendQueued();
  }

  async #send(taken: readonly QueueItems[]): Promise<void> {
    const topicMessages = taken.map(({ queue: { topic, partition }, items }) => ({
      topic,
      messages: items.map(({ record: { key, value } }) => ({ key, value, partition })),
    }));
    // JSON's escapes make an event at its limits larger than the broker accepts. Others would cost
    // more to compress than to send.
    const compresses = taken.some(({ queue, items }) => queue.isTooLarge(items));
    const compression = compresses ? CompressionTypes.GZIP : CompressionTypes.None;
    await this.#producer.sendBatch({ acks: -1, timeout: REQUEST_TIMEOUT_MS, compression, topicMessages });
  }

  /** Returns the partition that Kafka's own clients would choose. */
  #partition(topic: string, key: string, partitions: number): number {
    if (partitions === 1) return 0;
    const name = `${topic} ${key}`;
    let partition = this.#partitionOf.get(name);
    if (partition === undefined) {
      // The partitioner uses only their number.
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
