import type { Consumer, EachBatchPayload } from "kafkajs";
import { LoggiaError } from "../../errors.ts";
import type { BusRecord, ReadOptions } from "../bus.ts";
import { CLIENT_RETRY, createKafkaClient, kafkaReason, type KafkaConnection } from "./client.ts";
import { recordBytes } from "../limits.ts";
import { settledWithin } from "../wait.ts";

/** Offsets to read of one partition: from `next` up to, but not including, `end`. */
export type OffsetRange = { readonly partition: number; readonly next: number; readonly end: number };

export type RangesOptions = {
  readonly connection: KafkaConnection;
  readonly topic: string;
  /** A group used for this read only, because kafkajs reads only as a member of a group. */
  readonly group: string;
  readonly ranges: readonly OffsetRange[];
  readonly read: ReadOptions;
};

const SESSION_TIMEOUT_MS = 30_000;
const HEARTBEAT_MS = 3000;
const FETCH_BYTES = 1024 * 1024;
/** Silence after which the cluster counts as unavailable. */
const SILENCE_MS = 30_000;
const DISCONNECT_TIMEOUT_MS = 3000;

/**
 * Reads ranges of a topic's partitions once. Nothing is committed. If the group must rejoin,
 * records that are fetched twice are skipped.
 * @throws LoggiaError `bus_unavailable`
 */
export async function* readRanges(options: RangesOptions): AsyncGenerator<readonly BusRecord[]> {
  const { connection, topic, group, ranges, read } = options;
  const client = createKafkaClient(connection);
  const consumer = client.kafka.consumer({
    groupId: group,
    sessionTimeout: SESSION_TIMEOUT_MS,
    heartbeatInterval: HEARTBEAT_MS,
    maxWaitTimeInMs: 100,
    maxBytesPerPartition: FETCH_BYTES,
    allowAutoTopicCreation: false,
    retry: { ...CLIENT_RETRY, retries: 8, restartOnFailure: async () => false },
  });
  const remaining: Remaining = new Map(ranges.map(({ partition, next, end }) => [partition, { next, end }]));
  const handover = new Handover();
  const abort = () => handover.fail(read.signal?.reason);
  read.signal?.addEventListener("abort", abort, { once: true });
  consumer.on(consumer.events.CRASH, ({ payload }) => handover.fail(unavailable(connection, payload.error)));
  consumer.on(consumer.events.REQUEST_TIMEOUT, ({ payload }) => client.dropConnections(payload.broker));
  try {
    read.signal?.throwIfAborted();
    await begin(consumer, topic, remaining, (payload) => pass(payload, remaining, read, handover));
    while (remaining.size > 0) {
      const part = await handover.take(SILENCE_MS);
      if (part === null) throw unavailable(connection, new Error(`no records arrived for ${SILENCE_MS / 1000} s`));
      if (part.next >= remaining.get(part.partition)!.end) remaining.delete(part.partition);
      if (part.records.length > 0) yield part.records;
    }
  } finally {
    read.signal?.removeEventListener("abort", abort);
    handover.close();
    if (!(await settledWithin(consumer.disconnect(), DISCONNECT_TIMEOUT_MS))) client.dropAllConnections();
  }
}

/** The ranges still to be read, by partition. */
type Remaining = Map<number, { next: number; readonly end: number }>;

async function begin(
  consumer: Consumer,
  topic: string,
  remaining: Remaining,
  eachBatch: (payload: EachBatchPayload) => Promise<void>,
): Promise<void> {
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  // Each generation starts at the committed offsets, and there are none.
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    const others = (payload.memberAssignment[topic] ?? []).filter((partition) => !remaining.has(partition));
    if (others.length > 0) consumer.pause([{ topic, partitions: others }]);
    for (const [partition, { next }] of remaining) consumer.seek({ topic, partition, offset: String(next) });
  });
  await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch });
}

/**
 * Passes the new records of a fetched batch to the reader, within its bounds, and waits until it
 * has taken them.
 */
async function pass(
  payload: EachBatchPayload,
  remaining: Remaining,
  read: ReadOptions,
  handover: Handover,
): Promise<void> {
  const { partition } = payload.batch;
  const lastOffset = Number(payload.batch.lastOffset());
  const range = remaining.get(partition);
  if (range !== undefined) {
    const fresh = payload.batch.messages
      .map((message) => toRecord(read, partition, message))
      .filter(({ position }) => position.offset >= range.next && position.offset < range.end);
    const heartbeat = setInterval(() => void payload.heartbeat().catch(() => {}), HEARTBEAT_MS);
    try {
      for (const records of batchesOf(fresh, read)) {
        range.next = records.at(-1)!.position.offset + 1;
        if (!(await handover.give({ partition, records, next: range.next }))) return;
      }
      // The last offsets of a range may hold no records any more.
      if (range.next < range.end && lastOffset + 1 >= range.end) {
        range.next = lastOffset + 1;
        if (!(await handover.give({ partition, records: [], next: range.next }))) return;
      }
    } finally {
      clearInterval(heartbeat);
    }
  }
  payload.resolveOffset(payload.batch.lastOffset());
}

function toRecord(
  { topic }: ReadOptions,
  partition: number,
  { key, value, offset, timestamp }: EachBatchPayload["batch"]["messages"][number],
): BusRecord {
  return {
    key: key?.toString("utf8") ?? "",
    value: value ?? Buffer.alloc(0),
    position: { topic, partition, offset: Number(offset) },
    appended: Number(timestamp),
  };
}

function* batchesOf(
  records: readonly BusRecord[],
  { maxRecords, maxBytes }: ReadOptions,
): Generator<readonly BusRecord[]> {
  let batch: BusRecord[] = [];
  let size_bytes = 0;
  for (const record of records) {
    const size = recordBytes(record);
    if (batch.length > 0 && (batch.length >= maxRecords || size_bytes + size > maxBytes)) {
      yield batch;
      batch = [];
      size_bytes = 0;
    }
    batch.push(record);
    size_bytes += size;
  }
  if (batch.length > 0) yield batch;
}

function unavailable({ brokers }: KafkaConnection, error: Error): LoggiaError {
  return new LoggiaError("bus_unavailable", `Kafka at ${brokers.join(", ")} could not be read: ${kafkaReason(error)}`, {
    cause: error,
  });
}

/** Part of a range: records of one partition, and the offset after them. */
type Part = { readonly partition: number; readonly records: readonly BusRecord[]; readonly next: number };

/**
 * Passes parts from the consumer's loop to one reader. The loop continues when a part was taken.
 */
class Handover {
  readonly #waiting: { part: Part; taken: (taken: boolean) => void }[] = [];
  #wake: () => void = () => {};
  #failure: { readonly reason: unknown } | null = null;
  #closed = false;

  /** Returns whether the reader took the part; false after `close`. */
  give(part: Part): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false);
    return new Promise((taken) => {
      this.#waiting.push({ part, taken });
      this.#wake();
    });
  }

  fail(reason: unknown): void {
    this.#failure ??= { reason };
    this.#wake();
  }

  /** Returns the next part, or null if none arrived in time. */
  async take(timeout_ms: number): Promise<Part | null> {
    const deadline_ms = performance.now() + timeout_ms;
    while (this.#waiting.length === 0 && this.#failure === null) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      if (!(await settledWithin(promise, deadline_ms - performance.now()))) return null;
    }
    if (this.#failure !== null) throw this.#failure.reason;
    const next = this.#waiting.shift()!;
    next.taken(true);
    return next.part;
  }

  close(): void {
    this.#closed = true;
    for (const { taken } of this.#waiting.splice(0)) taken(false);
  }
}
