import { Partitioners, type Producer } from "kafkajs";
import { LoggiaError } from "../../errors.ts";
import type { NewRecord, Topic } from "../bus.ts";
import { CLIENT_RETRY, createKafkaClient, REQUEST_TIMEOUT_MS, type KafkaConnection } from "./client.ts";
import { Append, Lane, type Item } from "./lane.ts";
import { APPEND_DEADLINE_MS, QUEUE_BYTES, QUEUE_RECORDS, sizeOf } from "../limits.ts";
import { settledWithin } from "../wait.ts";

/**
 * How many shared requests may be in flight, each with partitions of its own. A second one is for
 * those that come just after the first has gone.
 */
const SHARED_REQUESTS = 2;
const SHARED_REQUEST_BYTES = 8 * 1024 * 1024;
const DISCONNECT_TIMEOUT_MS = 2000;

/** What a {@link Lane} sends at a time. */
type Load = { readonly lane: Lane; readonly items: readonly Item[] };

/**
 * Appends to Kafka. There is a lane a partition, with one request in flight at most: so order holds
 * for each key. The lanes that have something to send share a request, since the client's work is
 * by request: what arrives meanwhile gathers, and requests grow with the load. Where a shared
 * request fails, each of its lanes goes on alone until it got through, so that a partition without
 * a leader holds up nobody else's.
 *
 * The producer is not idempotent on purpose: kafkajs then retries without end, and once its retries
 * are limited a gap in the sequence makes every later request fail. What a retry appended twice,
 * the store keeps once, because events have ids.
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

  /** @param topics keys keep their partition for the life of the process, also where an operator adds some */
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
    // A large append is never refused for its own size: it comes alone.
    if (overflows && this.#records > 0) {
      return Promise.reject(new LoggiaError("overloaded", "Too much is waiting for Kafka; try again in a moment"));
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

  /** Sends what waits, for as long as `timeout_ms`, and disconnects. */
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

  /** What comes in the same turn of the event loop goes together. */
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
