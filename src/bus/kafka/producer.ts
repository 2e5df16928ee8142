import { Partitioners, type Producer } from "kafkajs";
import { LoggiaError } from "../../errors.ts";
import type { NewRecord, Topic } from "../bus.ts";
import { CLIENT_RETRY, createKafkaClient, REQUEST_TIMEOUT_MS, type KafkaConnection } from "./client.ts";
import { Append, Lane, type Item } from "./lane.ts";
import { APPEND_DEADLINE_MS, QUEUE_BYTES, QUEUE_RECORDS, sizeOf } from "../limits.ts";
import { settledWithin } from "../wait.ts";

/**
 * Maximum number of shared requests in flight, each with different partitions. The second one
 * serves appends that arrive just after the first was sent.
 */
const SHARED_REQUESTS = 2;
const SHARED_REQUEST_BYTES = 8 * 1024 * 1024;
const DISCONNECT_TIMEOUT_MS = 2000;

/** The items that a {@link Lane} contributes to a request. */
type Load = { readonly lane: Lane; readonly items: readonly Item[] };

/**
 * Appends to Kafka. Each partition has a lane with at most one request in flight, which preserves
 * the order of each key. Lanes share requests, because the client's cost is per request: records
 * that arrive meanwhile are batched, so requests grow with the load. If a shared request fails,
 * each of its lanes retries alone, so that a partition without a leader does not block the others.
 *
 * The producer is deliberately not idempotent: kafkajs would then retry without end, and with
 * limited retries a gap in the sequence makes every later request fail. The store removes
 * duplicates of retries by the ids of events.
 */
export class KafkaProducer {
  readonly #producer: Producer;
  readonly #dropConnections: () => void;
  readonly #lanes = new Map<Topic, readonly Lane[]>();
  readonly #allLanes: readonly Lane[];
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
  constructor(connection: KafkaConnection, topics: ReadonlyMap<Topic, { name: string; partitions: number }>) {
    const client = createKafkaClient(connection);
    this.#dropConnections = client.dropAllConnections;
    this.#producer = client.kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
      retry: CLIENT_RETRY,
    });
    this.#producer.on(this.#producer.events.REQUEST_TIMEOUT, ({ payload }) => client.dropConnections(payload.broker));
    for (const [topic, { name, partitions }] of topics) {
      this.#lanes.set(
        topic,
        Array.from({ length: partitions }, (_, partition) => this.#createLane(connection, name, partition)),
      );
    }
    this.#allLanes = [...this.#lanes.values()].flat();
  }

  connect(): Promise<void> {
    return this.#producer.connect();
  }

  /** See {@link Bus.append}. */
  append(topic: Topic, records: readonly NewRecord[], deadline_ms = APPEND_DEADLINE_MS): Promise<void> {
    if (records.length === 0) return Promise.resolve();
    if (this.#isClosed) return Promise.reject(new LoggiaError("bus_unavailable", "The bus is closed"));
    const size_bytes = records.reduce((sum, record) => sum + sizeOf(record), 0);
    const overflows = this.#records + records.length > QUEUE_RECORDS || this.#size_bytes + size_bytes > QUEUE_BYTES;
    // A large append is never refused for its own size: with an empty queue it is accepted alone.
    if (overflows && this.#records > 0) {
      return Promise.reject(
        new LoggiaError("overloaded", "Too many records are waiting for Kafka; try again in a moment"),
      );
    }
    this.#records += records.length;
    this.#size_bytes += size_bytes;
    const lanes = this.#lanes.get(topic) ?? [];
    return new Promise((resolve, reject) => {
      const append = new Append(records.length, deadline_ms, resolve, reject);
      for (const record of records) lanes[this.#partition(topic, record.key, lanes.length)]?.push({ record, append });
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

  #createLane(connection: KafkaConnection, topic: string, partition: number): Lane {
    const lane: Lane = new Lane({
      topic,
      partition,
      log: connection.log,
      closing: this.#closing.signal,
      send: (items) => this.#send([{ lane, items }]),
      left: (items) => {
        this.#records -= items.length;
        for (const { record } of items) this.#size_bytes -= sizeOf(record);
      },
    });
    return lane;
  }

  /** Batches the appends of one turn of the event loop. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#depart();
    });
  }

  #depart(): void {
    while (this.#requests < SHARED_REQUESTS) {
      const loads = this.#load();
      if (loads.length === 0) break;
      this.#requests += 1;
      void this.#sendTogether(loads);
    }
    if (this.#idle !== null && this.#allLanes.every((lane) => lane.isIdle)) this.#idle();
  }

  #load(): Load[] {
    const loads: Load[] = [];
    let size_bytes = 0;
    for (const lane of this.#allLanes) {
      if (size_bytes > SHARED_REQUEST_BYTES) break;
      if (lane.isBusy || lane.isIdle) continue;
      const items = lane.take();
      if (items.length > 0) loads.push({ lane, items });
      for (const { record } of items) size_bytes += sizeOf(record);
    }
    return loads;
  }

  async #sendTogether(loads: readonly Load[]): Promise<void> {
    try {
      await this.#send(loads);
      for (const { lane, items } of loads) lane.sent(items);
    } catch {
      for (const { lane, items } of loads) void lane.sendAlone(items).finally(() => this.#schedule());
    }
    this.#requests -= 1;
    this.#depart();
  }

  async #send(loads: readonly Load[]): Promise<void> {
    const topicMessages = loads.map(({ lane: { topic, partition }, items }) => ({
      topic,
      messages: items.map(({ record: { key, value } }) => ({ key, value, partition })),
    }));
    await this.#producer.sendBatch({ acks: -1, timeout: REQUEST_TIMEOUT_MS, topicMessages });
  }

  /** Returns the partition that Kafka's own clients would choose. */
  #partition(topic: Topic, key: string, partitions: number): number {
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
