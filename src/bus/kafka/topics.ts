import { setTimeout as sleep } from "node:timers/promises";
import type { Admin } from "kafkajs";
import { StartError } from "../../errors.ts";
import { JOURNALS, TOPICS, type JournalName, type Topic } from "../bus.ts";
import { kafkaErrorKind, type KafkaConnection } from "./client.ts";

type TopicOrJournal = Topic | JournalName;
/** All topics and journals, with their names on the cluster. */
export type KafkaTopics = ReadonlyMap<TopicOrJournal, TopicInfo>;

const ALL: readonly TopicOrJournal[] = [...TOPICS, ...JOURNALS];

export type KafkaBusOptions = KafkaConnection & {
  /**
   * Prefix of all names. Topics are `<namespace>.events`, `<namespace>.dead-letters`,
   * `<namespace>.alerts`, `<namespace>.keys` and `<namespace>.keys-index`; consumer groups of
   * events are `<namespace>.<group>`.
   */
  readonly namespace: string;
  /** Partitions of the topics of events and alerts, if created here. The others have one. */
  readonly partitions?: number;
  /** Replication factor of topics created here. Default: 3, or the number of brokers if lower. */
  readonly replicationFactor?: number | undefined;
};

/** `copies`: the fewest of a partition. */
export type TopicInfo = { readonly name: string; readonly partitions: number; readonly copies: number };

/** Copies of a record with which any one broker may fail while two hold what is acknowledged. */
const SAFE_COPIES = 3;
const DEFAULT_PARTITIONS = 6;
const HOUR_MS = 3_600_000;
/**
 * Keys live a day, counted from the end of the hour in which they were used. Kafka removes whole
 * segments, so these are short.
 */
const JOURNAL_ENTRIES = [
  { name: "cleanup.policy", value: "delete" },
  { name: "retention.ms", value: String(26 * HOUR_MS) },
  { name: "retention.bytes", value: "-1" },
  { name: "segment.ms", value: String(HOUR_MS) },
];

function isJournal(topic: TopicOrJournal): topic is JournalName {
  return (JOURNALS as readonly string[]).includes(topic);
}

function hasOnePartition(topic: TopicOrJournal): boolean {
  return topic === "dead-letters" || isJournal(topic);
}

/**
 * Creates missing topics and returns those of all topics and journals. Several processes may do
 * this at once.
 */
export async function ensureTopics(admin: Admin, options: KafkaBusOptions): Promise<KafkaTopics> {
  const existing = new Set(await admin.listTopics());
  const missing = ALL.filter((topic) => !existing.has(topicName(options, topic)));
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
  const remedy = "KAFKA_REPLICATION sets the copies of new topics, kafka-reassign-partitions those of existing ones";
  log.warn({ topics: names, copies }, `${found}${risk}. ${remedy}`);
}

/**
 * Fails with a retriable error until all new partitions have leaders: only a leader returns
 * offsets. Before that, a broker refuses records for a partition, and the retry of the request
 * appends its records for other partitions twice.
 */
async function requireLeaders(
  admin: Admin,
  options: KafkaBusOptions,
  created: readonly TopicOrJournal[],
): Promise<void> {
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

/** Whether an error ends by itself once the cluster has elected leaders and coordinators. */
export function isElecting(error: unknown): boolean {
  return ELECTING.has(kafkaErrorKind(error));
}

const METADATA_ATTEMPTS = 40;
/** Pause between requests while the cluster elects. */
export const METADATA_WAIT_MS = 100;
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

async function createTopics(admin: Admin, options: KafkaBusOptions, missing: readonly TopicOrJournal[]): Promise<void> {
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
  const creating = admin.createTopics({
    waitForLeaders: false,
    topics: missing.map((topic) => ({
      topic: topicName(options, topic),
      numPartitions: hasOnePartition(topic) ? 1 : (options.partitions ?? DEFAULT_PARTITIONS),
      replicationFactor,
      configEntries: isJournal(topic) ? [...configEntries, ...JOURNAL_ENTRIES] : configEntries,
    })),
  });
  await creating.catch(throwRefusals);
}

/**
 * Throws why topics could not be created, which kafkajs's own message leaves out, unless another
 * process created them first.
 */
function throwRefusals(error: unknown): void {
  const { errors } = error as { errors?: readonly { topic?: string; type?: string; message: string }[] };
  if (errors === undefined) throw error;
  const refused = errors.filter(({ type }) => type !== "TOPIC_ALREADY_EXISTS");
  if (refused.length === 0) return;
  const reasons = refused.map(({ topic = "a topic", message }) => `${topic}: ${message}`);
  throw new StartError(`Kafka does not create topics; create them before the start. ${reasons.join("; ")}`);
}

async function readTopics(admin: Admin, options: KafkaBusOptions): Promise<KafkaTopics> {
  const names = new Map(ALL.map((topic) => [topicName(options, topic), topic]));
  const { topics } = await admin.fetchTopicMetadata({ topics: [...names.keys()] });
  const infos = topics.flatMap(({ name, partitions }): [TopicOrJournal, TopicInfo][] => {
    const topic = names.get(name);
    if (topic === undefined) return [];
    const copies = Math.min(...partitions.map(({ replicas }) => replicas.length));
    return [[topic, { name, partitions: partitions.length, copies }]];
  });
  return new Map(infos);
}

/** Returns the name of a topic or journal on the cluster. */
export function topicName({ namespace }: { namespace: string }, topic: TopicOrJournal): string {
  return `${namespace}.${topic}`;
}
