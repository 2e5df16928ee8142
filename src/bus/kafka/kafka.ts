import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Admin } from "kafkajs";
import { LoggiaError, StartError } from "../../errors.ts";
import type {
  Batch,
  Bus,
  BusRecord,
  Journal,
  JournalName,
  NewRecord,
  PartitionLag,
  ReadOptions,
  SubscribeOptions,
  Subscription,
  Topic,
} from "../bus.ts";
import { createKafkaAdmin, createKafkaClient, kafkaReason } from "./client.ts";
import { openFailure } from "./fault.ts";
import { KafkaJournals } from "./journals.ts";
import { loadProtocol } from "./protocol.ts";
import { KafkaProducer } from "./producer.ts";
import { readRanges, type OffsetRange } from "./reader.ts";
import { KafkaSubscription } from "./subscription.ts";
import {
  ensureTopics,
  isElecting,
  METADATA_WAIT_MS,
  topicName,
  type KafkaBusOptions,
  type KafkaTopics,
} from "./topics.ts";
import { APPEND_DEADLINE_MS } from "../limits.ts";
import { settledWithin } from "../wait.ts";

const OPEN_TIMEOUT_MS = 20_000;
const ADMIN_TIMEOUT_MS = 5000;

/**
 * Opens the bus of a cluster and creates missing topics.
 * @throws StartError that names the brokers and says why they could not be used
 */
export async function openKafkaBus(options: KafkaBusOptions): Promise<Bus> {
  loadProtocol();
  const client = createKafkaClient(options);
  const admin = createKafkaAdmin(client);
  admin.on(admin.events.REQUEST_TIMEOUT, ({ payload }) => client.dropConnections(payload.broker));
  let producer: KafkaProducer | null = null;
  const open = async () => {
    await admin.connect();
    const topics = await ensureTopics(admin, options);
    producer = new KafkaProducer(options, topics);
    await producer.connect();
    return new KafkaBus({ options, admin, dropConnections: client.dropAllConnections, producer, topics });
  };
  try {
    return await withTimeout(open(), OPEN_TIMEOUT_MS);
  } catch (error) {
    await settledWithin(admin.disconnect(), 1000);
    await (producer as KafkaProducer | null)?.close(0);
    client.dropAllConnections();
    throw new StartError(`Kafka at ${options.brokers.join(", ")} cannot be used: ${openFailure(error, options)}`, {
      cause: error,
    });
  }
}

/**
 * Returns the id of a consumer group, which differs by topic: kafkajs gives all members the topics
 * of the group's leader, so all must want the same.
 */
function groupId({ namespace }: { namespace: string }, topic: Topic, group: string): string {
  return topic === "events" ? `${namespace}.${group}` : `${namespace}.${group}.${topic}`;
}

/** Returns where reading begins and ends in each partition that has something to read. */
async function rangesOf(admin: Admin, topic: string, { since, from = [] }: ReadOptions): Promise<OffsetRange[]> {
  const bounds = await admin.fetchTopicOffsets(topic);
  const times = since === undefined ? [] : await admin.fetchTopicOffsetsByTimestamp(topic, since);
  return bounds
    .map(({ partition, low, high }): OffsetRange => {
      const given = from.find((start) => start.partition === partition)?.offset ?? 0;
      const timed = Number(times.find((start) => start.partition === partition)?.offset ?? 0);
      return { partition, next: Math.max(Number(low), given, timed), end: Number(high) };
    })
    .filter(({ next, end }) => next < end);
}

async function withTimeout<T>(work: Promise<T>, timeout_ms: number): Promise<T> {
  if (await settledWithin(work, timeout_ms)) return work;
  work.catch(() => {});
  throw new Error(`no response within ${Math.ceil(timeout_ms / 1000)} s`);
}

type Parts = {
  readonly options: KafkaBusOptions;
  readonly admin: Admin;
  /** Drops the connections of `admin`. */
  readonly dropConnections: () => void;
  readonly producer: KafkaProducer;
  readonly topics: KafkaTopics;
};

/** Returns what belongs to the partition of a journal. Partitions are listed by their leaders. */
function firstPartition<T extends { readonly partition: number }>(found: readonly T[], topic: string): T {
  const first = found.find(({ partition }) => partition === 0);
  if (first === undefined) throw new LoggiaError("bus_unavailable", `The topic ${topic} has no partition 0`);
  return first;
}

class KafkaBus implements Bus {
  readonly #parts: Parts;
  readonly #subscriptions = new Set<KafkaSubscription>();
  /** Connected when the first journal is used, as only posting processes use them. */
  #journals: KafkaJournals | null = null;
  #closed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  append(topic: Topic, records: readonly NewRecord[], options: { deadline_ms?: number } = {}): Promise<void> {
    return this.#parts.producer.append(topic, records, options.deadline_ms);
  }

  async subscribe(subscription: SubscribeOptions, handler: (batch: Batch) => Promise<void>): Promise<Subscription> {
    if (this.#closed) throw new LoggiaError("bus_unavailable", "The bus is closed");
    const { options } = this.#parts;
    const member: KafkaSubscription = new KafkaSubscription({
      connection: options,
      topic: topicName(options, subscription.topic),
      group: groupId(options, subscription.topic, subscription.group),
      subscription,
      handler,
      ended: () => this.#subscriptions.delete(member),
    });
    this.#subscriptions.add(member);
    await member.started;
    return member;
  }

  async *read(read: ReadOptions): AsyncGenerator<readonly BusRecord[]> {
    const { admin, options } = this.#parts;
    const ranges = await this.#request(() => rangesOf(admin, topicName(options, read.topic), read));
    yield* this.#readRanges(ranges, read);
  }

  async *#readRanges(ranges: readonly OffsetRange[], read: ReadOptions): AsyncGenerator<readonly BusRecord[]> {
    if (ranges.length === 0) return;
    const { admin, options } = this.#parts;
    const topic = topicName(options, read.topic);
    const group = `${options.namespace}.reader.${randomBytes(8).toString("hex")}`;
    // The reader itself does not retry while the group has no coordinator.
    await this.#request(() => admin.describeGroups([group]));
    try {
      yield* readRanges({ connection: options, topic, group, ranges, read });
    } finally {
      // If this fails, the broker removes the empty group after a week.
      await settledWithin(admin.deleteGroups([group]), 1000);
    }
  }

  async lag(topic: Topic, group: string): Promise<PartitionLag[]> {
    const { admin, options } = this.#parts;
    const name = topicName(options, topic);
    const [ends, committed] = await this.#request(() =>
      Promise.all([
        admin.fetchTopicOffsets(name),
        admin.fetchOffsets({ groupId: groupId(options, topic, group), topics: [name] }),
      ]),
    );
    const nexts = new Map(committed[0]?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
    return ends
      .map(({ partition, high, low }) => {
        const next = nexts.get(partition) ?? -1;
        // A group without a committed offset begins at the oldest record, as does a group whose
        // next record has been removed.
        return { partition, first: Number(low), end: Number(high), next: Math.max(next, Number(low)) };
      })
      .toSorted((a, b) => a.partition - b.partition);
  }

  async offsetsAt(topic: Topic, moment: number): Promise<ReadonlyMap<number, number>> {
    const { admin, options } = this.#parts;
    const found = await this.#request(() => admin.fetchTopicOffsetsByTimestamp(topicName(options, topic), moment));
    return new Map(found.map(({ partition, offset }) => [partition, Number(offset)]));
  }

  journal(name: JournalName): Journal {
    const { admin, options, topics } = this.#parts;
    const topic = topicName(options, name);
    this.#journals ??= new KafkaJournals(options, topics);
    return this.#journals.open(topic, {
      bounds: async () => {
        const { low, high } = firstPartition(await this.#request(() => admin.fetchTopicOffsets(topic)), topic);
        return { first: Number(low), end: Number(high) };
      },
      offsetAt: async (moment) => {
        const found = await this.#request(() => admin.fetchTopicOffsetsByTimestamp(topic, moment));
        return Number(firstPartition(found, topic).offset);
      },
    });
  }

  async last(topic: Topic): Promise<readonly BusRecord[]> {
    const { admin, options } = this.#parts;
    const bounds = await this.#request(() => admin.fetchTopicOffsets(topicName(options, topic)));
    const ranges = bounds
      .map(({ partition, low, high }) => ({
        partition,
        next: Math.max(Number(low), Number(high) - 1),
        end: Number(high),
      }))
      .filter(({ next, end }) => next < end);
    const last: BusRecord[] = [];
    for await (const records of this.#readRanges(ranges, { topic, maxRecords: 1, maxBytes: 1 })) last.push(...records);
    return last;
  }

  async ping(): Promise<void> {
    const { admin, options } = this.#parts;
    await this.#request(() => admin.fetchTopicMetadata({ topics: [topicName(options, "events")] }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
    await Promise.all([this.#parts.producer.close(APPEND_DEADLINE_MS), this.#journals?.[Symbol.asyncDispose]()]);
    if (!(await settledWithin(this.#parts.admin.disconnect(), 1000))) this.#parts.dropConnections();
  }

  /** Retries for a while if the cluster is electing leaders; then fails with `bus_unavailable`. */
  async #request<T>(send: () => Promise<T>): Promise<T> {
    const { options, dropConnections } = this.#parts;
    if (this.#closed) throw new LoggiaError("bus_unavailable", "The bus is closed");
    const deadline_ms = performance.now() + ADMIN_TIMEOUT_MS;
    for (;;) {
      try {
        return await withTimeout(send(), deadline_ms - performance.now());
      } catch (error) {
        if (isElecting(error) && performance.now() + METADATA_WAIT_MS < deadline_ms) {
          await sleep(METADATA_WAIT_MS);
          continue;
        }
        // The next request uses new connections, in case these are dead.
        dropConnections();
        const where = options.brokers.join(", ");
        throw new LoggiaError("bus_unavailable", `Kafka at ${where} could not be reached: ${kafkaReason(error)}`, {
          cause: error,
        });
      }
    }
  }
}
