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
import { openFailure } from "./fault.ts";
import { loadProtocol } from "./protocol.ts";
import { KafkaProducer } from "./producer.ts";
import { readRanges, type Range } from "./reader.ts";
import { KafkaSubscription } from "./subscription.ts";
import { APPEND_DEADLINE_MS } from "../limits.ts";
import { settledWithin } from "../wait.ts";

export type KafkaBusOptions = KafkaConnection & {
  /**
   * Prefix of all names. Topics are `<namespace>.events`, `<namespace>.dead-letters` and
   * `<namespace>.alerts`; consumer groups of events are `<namespace>.<group>`.
   */
  readonly namespace: string;
  /** Partitions of the topics of events and alerts, if created here. Dead letters have one. */
  readonly partitions?: number;
  /** Replication factor of topics created here. Default: 3, or the number of brokers if lower. */
  readonly replicationFactor?: number | undefined;
};

const DEFAULT_PARTITIONS = 6;
const OPEN_TIMEOUT_MS = 20_000;
const ADMIN_TIMEOUT_MS = 5000;

/** `copies`: the fewest of a partition. */
type TopicInfo = { readonly name: string; readonly partitions: number; readonly copies: number };

/** Copies of a record with which any one broker may fail while two hold what is acknowledged. */
const SAFE_COPIES = 3;

/**
 * Opens the bus of a cluster and creates missing topics.
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
    throw new StartError(`Kafka at ${options.brokers.join(", ")} cannot be used: ${openFailure(error, options)}`, {
      cause: error,
    });
  }
}

/** Creates missing topics and returns all of them. Several processes may do this at once. */
async function ensureTopics(admin: Admin, options: KafkaBusOptions): Promise<ReadonlyMap<Topic, TopicInfo>> {
  const existing = new Set(await admin.listTopics());
  const missing = TOPICS.filter((topic) => !existing.has(topicName(options, topic)));
  if (missing.length > 0) await createTopics(admin, options, missing);
  // A broker may learn of a new topic a moment after the one that created it.
  const topics = await retryWhileElecting(() => readTopics(admin, options));
  await retryWhileElecting(() => requireLeaders(admin, options, missing)).catch((error: unknown) => {
    // A partition that still has no leader is not waited for; appending retries.
    if (!isElecting(error)) throw error;
  });
  warnOfFewCopies([...topics.values()], options);
  return topics;
}

function warnOfFewCopies(topics: readonly TopicInfo[], { log, replicationFactor }: KafkaBusOptions): void {
  const few = topics.filter(({ copies }) => copies < Math.max(SAFE_COPIES, replicationFactor ?? 0));
  if (few.length === 0) return;
  const copies = Math.min(...few.map((topic) => topic.copies));
  const names = few.map(({ name }) => name).toSorted();
  const found = `${names.join(", ")} keep ${copies} ${copies === 1 ? "copy" : "copies"} of a record`;
  const risk = copies < SAFE_COPIES ? ": an acknowledged event may be lost with a broker" : "";
  log.warn(
    { topics: names, copies },
    `${found}${risk}. KAFKA_REPLICATION sets the copies of new topics, kafka-reassign-partitions those of existing ones`,
  );
}

/**
 * Fails with a retriable error until all new partitions have leaders: only a leader returns
 * offsets. Before that, a broker refuses records for a partition, and the retry of the request
 * appends its records for other partitions twice.
 */
async function requireLeaders(admin: Admin, options: KafkaBusOptions, created: readonly Topic[]): Promise<void> {
  await Promise.all(created.map((topic) => admin.fetchTopicOffsets(topicName(options, topic))));
}

/** Retries for a few seconds while the cluster elects leaders and coordinators. */
async function retryWhileElecting<T>(request: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await request();
    } catch (error) {
      if (attempt === METADATA_ATTEMPTS || !isElecting(error)) throw error;
      await sleep(METADATA_WAIT_MS);
    }
  }
}

function isElecting(error: unknown): boolean {
  return ELECTING.has(kindOf(error));
}

const METADATA_ATTEMPTS = 40;
const METADATA_WAIT_MS = 100;
const ELECTING: ReadonlySet<string> = new Set([
  "UNKNOWN_TOPIC_OR_PARTITION",
  "LEADER_NOT_AVAILABLE",
  "NOT_LEADER_FOR_PARTITION",
  "GROUP_COORDINATOR_NOT_AVAILABLE",
  "GROUP_LOAD_IN_PROGRESS",
  "NOT_COORDINATOR_FOR_GROUP",
  // kafkajs's form of several of these errors. A cluster has no coordinator before the first
  // request for one.
  "KafkaJSGroupCoordinatorNotFound",
]);

async function createTopics(admin: Admin, options: KafkaBusOptions, missing: readonly Topic[]): Promise<void> {
  const { brokers } = await admin.describeCluster();
  const replicationFactor = options.replicationFactor ?? Math.min(SAFE_COPIES, brokers.length);
  if (replicationFactor > brokers.length) {
    const available = `${brokers.length} ${brokers.length === 1 ? "broker" : "brokers"}`;
    throw new StartError(`KAFKA_REPLICATION is ${replicationFactor}, but the cluster has ${available}`);
  }
  // With three copies an acknowledged record is on at least two, so that any one broker may fail.
  const safety = replicationFactor >= SAFE_COPIES ? [{ name: "min.insync.replicas", value: "2" }] : [];
  // Brokers assign the timestamps. A broker refuses records of a host whose clock is ahead, and
  // removes those of a host whose clock is behind too early.
  const configEntries = [...safety, { name: "message.timestamp.type", value: "LogAppendTime" }];
  // Returns false, without throwing, if another process created the topics first.
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
    if (topic === undefined) return [];
    const copies = Math.min(...partitions.map(({ replicas }) => replicas.length));
    return [[topic, { name, partitions: partitions.length, copies }]];
  });
  return new Map(infos);
}

function topicName({ namespace }: { namespace: string }, topic: Topic): string {
  return `${namespace}.${topic}`;
}

/**
 * Returns the id of a consumer group, which differs by topic: kafkajs gives all members the topics
 * of the group's leader, so all must want the same.
 */
function groupId({ namespace }: { namespace: string }, topic: Topic, group: string): string {
  return topic === "events" ? `${namespace}.${group}` : `${namespace}.${group}.${topic}`;
}

/** Returns where reading begins and ends in each partition that has something to read. */
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
  throw new Error(`no response within ${Math.ceil(timeout_ms / 1000)} s`);
}

type Parts = {
  readonly options: KafkaBusOptions;
  readonly admin: Admin;
  /** Drops the connections of `admin`. */
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
    const ranges = await this.#request(() => rangesOf(admin, topicName(options, read.topic), read));
    yield* this.#readRanges(ranges, read);
  }

  async *#readRanges(ranges: readonly Range[], read: ReadOptions): AsyncGenerator<readonly BusRecord[]> {
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
    await this.#parts.producer.close(APPEND_DEADLINE_MS);
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
        throw new LoggiaError("bus_unavailable", `Kafka at ${where} could not be reached: ${reasonOf(error)}`, {
          cause: error,
        });
      }
    }
  }
}
