import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Admin } from "kafkajs";
import { LoggiaError, StartError } from "../../errors.ts";
import {
  TOPICS,
  type Batch,
  type Bus,
  type BusRecord,
  type NewRecord,
  type PartitionLag,
  type ReadOptions,
  type SubscribeOptions,
  type Subscription,
  type Topic,
} from "../bus.ts";
import { createKafkaClient, kindOf, reasonOf, type KafkaConnection } from "./client.ts";
import { whyNotOpened } from "./fault.ts";
import { loadProtocol } from "./protocol.ts";
import { KafkaProducer } from "./producer.ts";
import { readRanges, type Range } from "./reader.ts";
import { KafkaSubscription } from "./subscription.ts";
import { APPEND_DEADLINE_MS } from "../limits.ts";
import { settledWithin } from "../wait.ts";

export type KafkaBusOptions = KafkaConnection & {
  /**
   * Topics are `<namespace>.events`, `<namespace>.dead-letters` and `<namespace>.alerts`, consumer
   * groups `<namespace>.<group>` for events.
   */
  readonly namespace: string;
  /** Of the topics of events and of alerts, where this process creates them. Dead letters have one. */
  readonly partitions?: number;
  /** Where this process creates topics; default: 3, or as many as there are brokers. */
  readonly replicationFactor?: number;
};

const DEFAULT_PARTITIONS = 6;
const OPEN_TIMEOUT_MS = 20_000;
const ASK_TIMEOUT_MS = 5000;

type TopicInfo = { readonly name: string; readonly partitions: number };

/**
 * Opens the bus of a cluster, and creates its topics where they are missing.
 * @throws StartError that names the brokers and says why they could not be used
 */
export async function openKafkaBus(options: KafkaBusOptions): Promise<Bus> {
  loadProtocol();
  const client = createKafkaClient(options);
  const admin = client.kafka.admin();
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
    throw new StartError(`Kafka at ${options.brokers.join(", ")} cannot be used: ${whyNotOpened(error, options)}`, {
      cause: error,
    });
  }
}

/** Topics as they are, after creating those that are missing. Several processes may do this at once. */
async function ensureTopics(admin: Admin, options: KafkaBusOptions): Promise<ReadonlyMap<Topic, TopicInfo>> {
  const existing = new Set(await admin.listTopics());
  const missing = TOPICS.filter((topic) => !existing.has(topicName(options, topic)));
  if (missing.length > 0) await createTopics(admin, options, missing);
  // A broker may hear of a new topic a moment after the one that created it.
  const topics = await askUntilSettled(() => readTopics(admin, options));
  await askUntilSettled(() => askLeaders(admin, options, missing)).catch((error: unknown) => {
    // Who does not lead by now is not waited for: appending tries again.
    if (!isUnsettled(error)) throw error;
  });
  return topics;
}

/**
 * A broker may lead a partition only a moment after it has heard of it. Until then it refuses
 * records for that one, and those of the request for other partitions are appended twice. Only a
 * leader tells offsets.
 */
async function askLeaders(admin: Admin, options: KafkaBusOptions, created: readonly Topic[]): Promise<void> {
  await Promise.all(created.map((topic) => admin.fetchTopicOffsets(topicName(options, topic))));
}

/** Asks again for a few seconds where the cluster is only just finding itself. */
async function askUntilSettled<T>(question: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await question();
    } catch (error) {
      if (attempt === METADATA_ATTEMPTS || !isUnsettled(error)) throw error;
      await sleep(METADATA_WAIT_MS);
    }
  }
}

function isUnsettled(error: unknown): boolean {
  return UNSETTLED.has(kindOf(error));
}

const METADATA_ATTEMPTS = 40;
const METADATA_WAIT_MS = 100;
const UNSETTLED: ReadonlySet<string> = new Set([
  "UNKNOWN_TOPIC_OR_PARTITION",
  "LEADER_NOT_AVAILABLE",
  "NOT_LEADER_FOR_PARTITION",
  "GROUP_COORDINATOR_NOT_AVAILABLE",
  "GROUP_LOAD_IN_PROGRESS",
  "NOT_COORDINATOR_FOR_GROUP",
  // What the client makes of several of these: a cluster has no coordinator before somebody asks for the first.
  "KafkaJSGroupCoordinatorNotFound",
]);

async function createTopics(admin: Admin, options: KafkaBusOptions, missing: readonly Topic[]): Promise<void> {
  const { brokers } = await admin.describeCluster();
  const replicationFactor = options.replicationFactor ?? Math.min(3, brokers.length);
  // With three copies an acknowledged record lies on two at least, so that any one broker may be lost.
  const safety = replicationFactor >= 3 ? [{ name: "min.insync.replicas", value: "2" }] : [];
  // The broker's own time: a broker refuses records of a host whose clock is ahead, and removes
  // those of one behind too early.
  const configEntries = [...safety, { name: "message.timestamp.type", value: "LogAppendTime" }];
  // Answers false, and does not throw, where another process was faster.
  await admin.createTopics({
    waitForLeaders: false,
    topics: missing.map((topic) => ({
      topic: topicName(options, topic),
      numPartitions: topic === "dead-letters" ? 1 : (options.partitions ?? DEFAULT_PARTITIONS),
      replicationFactor,
      configEntries,
    })),
  });
}

async function readTopics(admin: Admin, options: KafkaBusOptions): Promise<ReadonlyMap<Topic, TopicInfo>> {
  const names = new Map(TOPICS.map((topic) => [topicName(options, topic), topic]));
  const { topics } = await admin.fetchTopicMetadata({ topics: [...names.keys()] });
  const infos = topics.flatMap(({ name, partitions }): [Topic, TopicInfo][] => {
    const topic = names.get(name);
    return topic === undefined ? [] : [[topic, { name, partitions: partitions.length }]];
  });
  return new Map(infos);
}

function topicName({ namespace }: { namespace: string }, topic: Topic): string {
  return `${namespace}.${topic}`;
}

/**
 * Members of one Kafka group must want the same topics (kafkajs gives all members the leader's), so
 * a group has an id for each topic.
 */
function groupId({ namespace }: { namespace: string }, topic: Topic, group: string): string {
  return topic === "events" ? `${namespace}.${group}` : `${namespace}.${group}.${topic}`;
}

/** Where reading begins and ends in each partition that has something to read. */
async function rangesOf(admin: Admin, topic: string, { since, from = [] }: ReadOptions): Promise<Range[]> {
  const bounds = await admin.fetchTopicOffsets(topic);
  const times = since === undefined ? [] : await admin.fetchTopicOffsetsByTimestamp(topic, since);
  return bounds
    .map(({ partition, low, high }): Range => {
      const given = from.find((start) => start.partition === partition)?.offset ?? 0;
      const timed = Number(times.find((start) => start.partition === partition)?.offset ?? 0);
      return { partition, next: Math.max(Number(low), given, timed), end: Number(high) };
    })
    .filter(({ next, end }) => next < end);
}

async function withTimeout<T>(work: Promise<T>, timeout_ms: number): Promise<T> {
  if (await settledWithin(work, timeout_ms)) return work;
  work.catch(() => {});
  throw new Error(`no answer in ${Math.ceil(timeout_ms / 1000)} s`);
}

type Parts = {
  readonly options: KafkaBusOptions;
  readonly admin: Admin;
  /** Those of `admin`. */
  readonly dropConnections: () => void;
  readonly producer: KafkaProducer;
  readonly topics: ReadonlyMap<Topic, TopicInfo>;
};

class KafkaBus implements Bus {
  readonly #parts: Parts;
  readonly #subscriptions = new Set<KafkaSubscription>();
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
    const ranges = await this.#ask(() => rangesOf(admin, topicName(options, read.topic), read));
    yield* this.#readRanges(ranges, read);
  }

  async *#readRanges(ranges: readonly Range[], read: ReadOptions): AsyncGenerator<readonly BusRecord[]> {
    if (ranges.length === 0) return;
    const { admin, options } = this.#parts;
    const topic = topicName(options, read.topic);
    const group = `${options.namespace}.reader.${randomBytes(8).toString("hex")}`;
    // The reader itself gives up where the group has no coordinator yet.
    await this.#ask(() => admin.describeGroups([group]));
    try {
      yield* readRanges({ connection: options, topic, group, ranges, read });
    } finally {
      // The broker forgets an empty group by itself, in a week.
      await settledWithin(admin.deleteGroups([group]), 1000);
    }
  }

  async lag(topic: Topic, group: string): Promise<PartitionLag[]> {
    const { admin, options } = this.#parts;
    const name = topicName(options, topic);
    const [ends, committed] = await this.#ask(() =>
      Promise.all([
        admin.fetchTopicOffsets(name),
        admin.fetchOffsets({ groupId: groupId(options, topic, group), topics: [name] }),
      ]),
    );
    const nexts = new Map(committed[0]?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
    return ends
      .map(({ partition, high, low }) => {
        const next = nexts.get(partition) ?? -1;
        // A group that never acknowledged anything here begins at the oldest record; so does one
        // whose next record is already gone.
        return { partition, first: Number(low), end: Number(high), next: Math.max(next, Number(low)) };
      })
      .toSorted((a, b) => a.partition - b.partition);
  }

  async offsetsAt(topic: Topic, moment: number): Promise<ReadonlyMap<number, number>> {
    const { admin, options } = this.#parts;
    const found = await this.#ask(() => admin.fetchTopicOffsetsByTimestamp(topicName(options, topic), moment));
    return new Map(found.map(({ partition, offset }) => [partition, Number(offset)]));
  }

  async last(topic: Topic): Promise<readonly BusRecord[]> {
    const { admin, options } = this.#parts;
    const bounds = await this.#ask(() => admin.fetchTopicOffsets(topicName(options, topic)));
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
    await this.#ask(() => admin.fetchTopicMetadata({ topics: [topicName(options, "events")] }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
    await this.#parts.producer.close(APPEND_DEADLINE_MS);
    if (!(await settledWithin(this.#parts.admin.disconnect(), 1000))) this.#parts.dropConnections();
  }

  /** Asks again for a while where the cluster is only just finding itself; then says that it could not be reached. */
  async #ask<T>(question: () => Promise<T>): Promise<T> {
    const { options, dropConnections } = this.#parts;
    if (this.#closed) throw new LoggiaError("bus_unavailable", "The bus is closed");
    const deadline_ms = performance.now() + ASK_TIMEOUT_MS;
    for (;;) {
      try {
        return await withTimeout(question(), deadline_ms - performance.now());
      } catch (error) {
        if (isUnsettled(error) && performance.now() + METADATA_WAIT_MS < deadline_ms) {
          await sleep(METADATA_WAIT_MS);
          continue;
        }
        // The next question gets new connections, in case that these lead nowhere.
        dropConnections();
        const where = options.brokers.join(", ");
        throw new LoggiaError("bus_unavailable", `Kafka at ${where} could not be reached: ${reasonOf(error)}`, {
          cause: error,
        });
      }
    }
  }
}
