import type { Consumer, EachBatchPayload, KafkaMessage, Offsets } from "kafkajs";
import type { Logger } from "pino";
import { LoggiaError } from "../../errors.ts";
import type { Batch, BusRecord, SubscribeOptions, Subscription } from "../bus.ts";
import { CLIENT_RETRY, createKafkaClient, kafkaReason, type KafkaClient, type KafkaConnection } from "./client.ts";
import { KafkaMembership } from "./membership.ts";
import { KafkaPartition } from "./partition.ts";
import { backoff_ms, CLOSE_TIMEOUT_MS } from "../limits.ts";
import { pause, settledWithin } from "../wait.ts";

/**
 * Session timeout. Heartbeats are independent of handlers, so only a dead or frozen process exceeds
 * it, and the other members wait that long. It is above the brokers' minimum of 6 s: the client
 * sends no heartbeat before its current fetch is answered, which may hold 16 MB and be late on a
 * busy machine. An expired session makes all members rejoin.
 */
const SESSION_TIMEOUT_MS = 10_000;
const HEARTBEAT_MS = 3000;
const REBALANCE_TIMEOUT_MS = 30_000;
/** Longest wait of a fetch without records, so that a resumed partition is soon fetched again. */
const FETCH_WAIT_MS = 100;
/**
 * How long the fetch loop itself waits for handlers. The partitions of slower handlers are paused,
 * and the others continue.
 */
const INLINE_MS = 50;
const FETCH_MIN_BYTES = 256 * 1024;
const FETCH_MAX_BYTES = 4 * 1024 * 1024;
/** Longest wait before a consumer is rebuilt, so that a returning broker is noticed soon. */
const REBUILD_WAIT_MAX_MS = 1_000;
/** Silence without heartbeats after which the consumer's loop counts as hung. */
const SILENCE_MS = 6 * SESSION_TIMEOUT_MS;
const WATCH_MS = 5000;
const DISCONNECT_TIMEOUT_MS = 3000;
/** How long joining the group may fail before the subscription fails permanently. */
const GIVE_UP_MS = 10 * 60_000;

export type KafkaSubscriptionOptions = {
  readonly connection: KafkaConnection;
  readonly topic: string;
  readonly group: string;
  readonly subscription: SubscribeOptions;
  readonly handler: (batch: Batch) => Promise<void>;
  ended(): void;
};

/**
 * A member of a consumer group that outlives its consumers. kafkajs does not recover from every
 * crash, and its loop can hang in a rebalance; the consumer is then discarded and rebuilt.
 *
 * kafkajs fetches from a broker again only when every batch of its last fetch is done. So its loop
 * only feeds {@link KafkaPartition}s, and pauses those that cannot keep up.
 */
export class KafkaSubscription implements Subscription {
  readonly done: Promise<void>;
  /** Resolves when the first consumer has joined or failed to join. */
  readonly started: Promise<void>;
  readonly #options: KafkaSubscriptionOptions;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  readonly #partitions = new Map<number, KafkaPartition>();
  /** Resolves, by partition, when its last holder in this process has released it. */
  readonly #endings = new Map<number, Promise<void>>();
  readonly #leave: PromiseWithResolvers<void> = Promise.withResolvers();
  #closeTimeout_ms = CLOSE_TIMEOUT_MS;
  /**
   * Commits through the current consumer, without kafkajs's retries, which do not check whether the
   * partition is still assigned.
   */
  #commit: ((offsets: Offsets) => Promise<void>) | null = null;
  #joined_ms = 0;
  readonly #membership: KafkaMembership;

  constructor(options: KafkaSubscriptionOptions) {
    this.#options = options;
    this.#log = options.connection.log.child({ group: options.group, topic: options.topic });
    this.#membership = new KafkaMembership(options.group, this.#log);
    const started = Promise.withResolvers<void>();
    this.started = started.promise;
    this.done = this.#run(started.resolve).finally(() => {
      started.resolve();
      options.ended();
    });
    this.done.catch((error: unknown) => this.#log.fatal({ err: error }, "the subscription failed permanently"));
  }

  fault(): string | null {
    return this.#membership.fault();
  }

  async close(timeout_ms: number = CLOSE_TIMEOUT_MS): Promise<void> {
    this.#closeTimeout_ms = timeout_ms;
    this.#closing.abort();
    this.#leave.resolve();
    await settledWithin(this.done, timeout_ms + 2 * DISCONNECT_TIMEOUT_MS);
  }

  async #run(started: () => void): Promise<void> {
    this.#joined_ms = performance.now();
    for (let failures = 1; !this.#closing.signal.aborted; failures++) {
      const before_ms = this.#joined_ms;
      const reason = await this.#runConsumer(started);
      started();
      if (this.#closing.signal.aborted) return;
      if (this.#joined_ms > before_ms) failures = 1;
      if (performance.now() - this.#joined_ms > GIVE_UP_MS) {
        throw new LoggiaError(
          "bus_unavailable",
          `The group could not be joined for ${GIVE_UP_MS / 60_000} minutes: ${kafkaReason(reason)}`,
          { cause: reason },
        );
      }
      this.#log.warn({ reason: kafkaReason(reason), failures }, "the consumer ended; creating a new one");
      await pause(Math.min(backoff_ms(failures), REBUILD_WAIT_MAX_MS), this.#closing.signal);
    }
  }

  /**
   * Runs one consumer until it ends. Returns the reason, or null if the subscription was closed.
   */
  async #runConsumer(started: () => void): Promise<unknown> {
    const { connection, group, topic, subscription } = this.#options;
    const client = createKafkaClient({ ...connection, log: this.#log });
    const perPartition = Math.min(Math.max(subscription.maxBytes, FETCH_MIN_BYTES), FETCH_MAX_BYTES);
    const consumer = client.kafka.consumer({
      groupId: group,
      sessionTimeout: SESSION_TIMEOUT_MS,
      heartbeatInterval: HEARTBEAT_MS,
      rebalanceTimeout: REBALANCE_TIMEOUT_MS,
      partitionAssigners: [this.#membership.assigner],
      maxWaitTimeInMs: FETCH_WAIT_MS,
      maxBytesPerPartition: perPartition,
      maxBytes: 4 * perPartition,
      allowAutoTopicCreation: false,
      // Enough to survive the restart of a broker: a new member must wait for the session of the
      // old one to expire.
      retry: { ...CLIENT_RETRY, retries: 8, restartOnFailure: async () => false },
    });
    const watched = this.#watch(consumer, client);
    try {
      await consumer.connect();
      await this.#membership.removePrevious(SESSION_TIMEOUT_MS, this.#closing.signal);
      await consumer.subscribe({ topic, fromBeginning: true });
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: 64,
        eachBatch: (payload) => this.#take(payload),
      });
      started();
      const reason = await Promise.race([watched.reason, this.#leave.promise]);
      if (this.#closing.signal.aborted) {
        await Promise.all([...this.#partitions.values()].map((partition) => partition.close(this.#closeTimeout_ms)));
        return null;
      }
      return reason;
    } catch (error) {
      return error;
    } finally {
      watched.stop();
      this.#membership.lost();
      this.#assign(consumer, []);
      this.#commit = null;
      if (!(await settledWithin(consumer.disconnect(), DISCONNECT_TIMEOUT_MS))) client.dropAllConnections();
    }
  }

  /**
   * Follows the events of a consumer. `reason` resolves with an error once it has crashed or hung.
   */
  #watch(consumer: Consumer, client: KafkaClient): { reason: Promise<unknown>; stop(): void } {
    const { promise: reason, resolve: fail } = Promise.withResolvers<unknown>();
    const { events } = consumer;
    let heartbeat_ms = performance.now();
    this.#membership.follow(consumer);
    consumer.on(events.HEARTBEAT, () => {
      heartbeat_ms = performance.now();
    });
    consumer.on(events.GROUP_JOIN, ({ payload }) => {
      heartbeat_ms = performance.now();
      this.#joined_ms = heartbeat_ms;
      this.#assign(consumer, payload.memberAssignment[this.#options.topic] ?? []);
    });
    consumer.on(events.CRASH, ({ payload }) => fail(payload.error));
    consumer.on(events.REQUEST_TIMEOUT, ({ payload }) => client.dropConnections(payload.broker));
    const timer = setInterval(() => {
      if (performance.now() - heartbeat_ms > SILENCE_MS) fail(new Error(`no heartbeat for ${SILENCE_MS / 1000} s`));
    }, WATCH_MS);
    return { reason, stop: () => clearInterval(timer) };
  }

  /** Applies the group's assignment. Runs before the first fetch of that generation. */
  #assign(consumer: Consumer, assigned: readonly number[]): void {
    const { topic } = this.#options;
    for (const [number, partition] of this.#partitions) {
      if (assigned.includes(number)) continue;
      partition.revoke();
      this.#partitions.delete(number);
      this.#endings.set(number, partition.ended);
    }
    if (this.#closing.signal.aborted) return;
    for (const number of assigned) {
      const kept = this.#partitions.get(number);
      if (kept === undefined) {
        this.#startPartition(consumer, number);
      } else if (kept.position !== null) {
        // Each generation starts at the committed offsets, before the records already fetched.
        consumer.seek({ topic, partition: number, offset: String(kept.position) });
      }
    }
  }

  #startPartition(consumer: Consumer, number: number): void {
    const { topic, subscription, handler } = this.#options;
    const partition = new KafkaPartition({
      partition: number,
      subscription,
      handler,
      log: this.#log.child({ partition: number }),
      after: this.#endings.get(number) ?? Promise.resolve(),
      commit: async (next) => {
        if (this.#commit === null) throw new LoggiaError("bus_unavailable", "The consumer has ended");
        await this.#commit({ topics: [{ topic, partitions: [{ partition: number, offset: String(next) }] }] });
      },
    });
    this.#partitions.set(number, partition);
    const place = [{ topic, partitions: [number] }];
    // kafkajs keeps a pause from an earlier assignment of the partition.
    consumer.resume(place);
    if (subscription.from === undefined) return;
    consumer.pause(place);
    void this.#seek(consumer, number, partition);
  }

  /** Calls `from`, with retries, and then resumes the partition at its offset. */
  async #seek(consumer: Consumer, number: number, partition: KafkaPartition): Promise<void> {
    const { topic, subscription } = this.#options;
    for (let failures = 1; !partition.isClosed; failures++) {
      try {
        const offset = (await subscription.from?.(number)) ?? null;
        if (partition.isClosed) return;
        if (offset !== null) {
          partition.position = offset;
          consumer.seek({ topic, partition: number, offset: String(offset) });
        }
        consumer.resume([{ topic, partitions: [number] }]);
        return;
      } catch (error) {
        this.#log.warn(
          { err: error, partition: number, failures },
          "the first offset to deliver could not be determined; retrying",
        );
        await pause(backoff_ms(failures), this.#closing.signal);
      }
    }
  }

  async #take(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    this.#commit = (offsets) => payload.commitOffsetsIfNecessary(offsets);
    const partition = this.#partitions.get(batch.partition);
    if (partition === undefined || partition.isClosed) return;
    payload.resolveOffset(batch.lastOffset());
    const drained = partition.offer(batch.messages.map((message) => this.#toRecord(batch.partition, message)));
    if (await settledWithin(drained, INLINE_MS)) return;
    const resume = payload.pause();
    const resumeWhenDrained = async () => {
      await drained;
      if (!partition.isClosed) resume();
    };
    void resumeWhenDrained();
  }

  #toRecord(partition: number, { key, value, offset, timestamp }: KafkaMessage): BusRecord {
    return {
      key: key?.toString("utf8") ?? "",
      value: value ?? Buffer.alloc(0),
      position: { topic: this.#options.subscription.topic, partition, offset: Number(offset) },
      appended: Number(timestamp),
    };
  }
}
