import { setTimeout as sleep } from "node:timers/promises";

import { LoggiaError } from "../../errors.ts";
import type { JournalReadOptions, JournalRecord } from "../bus.ts";
import {
  createKafkaClient,
  createKafkaCluster,
  kafkaErrorKind,
  kafkaReason,
  type KafkaBroker,
  type KafkaCluster,
  type KafkaConnection,
} from "./client.ts";
import { settledWithin } from "../wait.ts";

/** The partition of every journal. */
const PARTITION = 0;
const DISCONNECT_TIMEOUT_MS = 1000;
const RETRY_WAIT_MS = 100;
const RETRIES_MS = 3000;
/** Only committed records of transactions; Loggia uses none. */
const READ_COMMITTED = 1;

/** Errors after which the partition has, or soon gets, another leader. */
const ELECTING: ReadonlySet<string> = new Set([
  "UNKNOWN_TOPIC_OR_PARTITION",
  "LEADER_NOT_AVAILABLE",
  "NOT_LEADER_FOR_PARTITION",
  "REPLICA_NOT_AVAILABLE",
  "FENCED_LEADER_EPOCH",
  "UNKNOWN_LEADER_EPOCH",
  "OFFSET_NOT_AVAILABLE",
]);

/**
 * Fetches records by offset, without a group. Requests of one fetcher are answered one after the
 * other, so those that wait for records have a fetcher of their own.
 */
export class KafkaFetcher implements AsyncDisposable {
  readonly #connection: KafkaConnection;
  readonly #cluster: KafkaCluster;
  readonly #dropConnections: () => void;
  #isClosed = false;

  constructor(connection: KafkaConnection) {
    this.#connection = connection;
    const client = createKafkaClient(connection);
    this.#cluster = createKafkaCluster(client);
    this.#dropConnections = client.dropAllConnections;
  }

  /** @throws LoggiaError `bus_unavailable`; Kafka's error if the offset is out of range */
  async fetch(topic: string, { from, maxBytes, wait_ms = 0 }: JournalReadOptions): Promise<readonly JournalRecord[]> {
    const deadline_ms = performance.now() + RETRIES_MS;
    for (;;) {
      try {
        return await fetchRecords(await this.#leader(topic), topic, { from, maxBytes, wait_ms });
      } catch (error) {
        if (isOutOfRange(error)) throw error;
        if (ELECTING.has(kafkaErrorKind(error)) && performance.now() + RETRY_WAIT_MS < deadline_ms) {
          await sleep(RETRY_WAIT_MS);
          await this.#cluster.refreshMetadata().catch(() => {});
          continue;
        }
        // The next request uses new connections and asks for the leader, in case these are dead.
        this.#dropConnections();
        throw unavailable(this.#connection, error);
      }
    }
  }

  async #leader(topic: string): Promise<KafkaBroker> {
    if (this.#isClosed) throw new LoggiaError("bus_unavailable", "The bus is closed");
    await this.#cluster.connect();
    await this.#cluster.addTargetTopic(topic);
    await this.#cluster.refreshMetadataIfNecessary();
    // A fetch that was connecting when this was closed must leave no connection.
    if (this.#isClosed) throw new LoggiaError("bus_unavailable", "The bus is closed");
    const [nodeId] = Object.keys(this.#cluster.findLeaderForPartitions(topic, [PARTITION]));
    if (nodeId !== undefined) return await this.#cluster.findBroker({ nodeId });
    await this.#cluster.refreshMetadata();
    throw new Error(`${topic} has no partition ${PARTITION}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await settledWithin(this.#cluster.disconnect(), DISCONNECT_TIMEOUT_MS);
    this.#dropConnections();
  }
}

async function fetchRecords(
  broker: KafkaBroker,
  topic: string,
  { from, maxBytes, wait_ms }: Required<JournalReadOptions>,
): Promise<readonly JournalRecord[]> {
  const { responses } = await broker.fetch({
    maxWaitTime: wait_ms,
    minBytes: 1,
    maxBytes,
    isolationLevel: READ_COMMITTED,
    topics: [{ topic, partitions: [{ partition: PARTITION, fetchOffset: from, maxBytes }] }],
  });
  // Kafka returns whole batches, which may begin before the offset.
  return responses
    .flatMap(({ partitions }) => partitions)
    .flatMap(({ messages }) => messages)
    .filter(({ offset, isControlRecord }) => isControlRecord !== true && Number(offset) >= from)
    .map(({ offset, timestamp, value }) => ({
      offset: Number(offset),
      value: value ?? Buffer.alloc(0),
      appended: Number(timestamp),
    }));
}

/** Whether a fetch began before the oldest record or behind the end. */
export function isOutOfRange(error: unknown): boolean {
  return kafkaErrorKind(error) === "OFFSET_OUT_OF_RANGE";
}

function unavailable({ brokers }: KafkaConnection, error: unknown): LoggiaError {
  return new LoggiaError("bus_unavailable", `Kafka at ${brokers.join(", ")} could not be read: ${kafkaReason(error)}`, {
    cause: error,
  });
}
