import type { Logger } from "pino";
import { LoggiaError } from "../../errors.ts";
import { HOST_CLOCK } from "../../events/clock.ts";
import type { RemovalClock } from "../../events/clock.ts";
import {
  type Batch,
  type Bus,
  type BusDisk,
  type BusRecord,
  type NewRecord,
  type PartitionLag,
  type ReadOptions,
  type SubscribeOptions,
  type Subscription,
  type Topic,
} from "../bus.ts";
import { APPEND_DEADLINE_MS, recordBytes } from "../limits.ts";
import { BusFileClient } from "./client.ts";
import { GroupCommit } from "./commit.ts";
import type { CommitRequest } from "./commit.ts";
import { toBusError } from "./errors.ts";
import { ofEachTopic } from "./file.ts";
import type { GroupOffsets } from "./file.ts";
import { type BusReader, Removal, type RemovalBounds, type RemovalOptions } from "./removal.ts";
import { SqliteSubscription } from "./subscription.ts";

export type SqliteBusOptions = {
  readonly file: string;
  readonly log: Logger;
  /** The time of appends, and whether removal by age is allowed. Default: the host's clock */
  readonly clock?: RemovalClock;
  /**
   * Age at which records that every group has acknowledged are removed. Alerts, and dead letters
   * without a group, go by age alone; after a day where this is Infinity. Default: a day
   */
  readonly keep_ms?: number;
  /**
   * Size of all records on disk, see {@link BusDisk.used_bytes}, beyond which the oldest events go
   * that every group has acknowledged. Default: Infinity
   */
  readonly keep_bytes?: number;
  /**
   * Whether the store may lack records that were acknowledged, as after it was lost. Nothing goes by
   * size then. Default: never
   */
  readonly isStoreInDoubt?: () => boolean;
  /**
   * Maximum size of the file in bytes. Beyond it appends fail as on a full disk. 0 (the default):
   * limited by the disk alone.
   */
  readonly maxFile_bytes?: number;
};

/** The embedded bus, which can be copied while it runs. */
export type SqliteBus = Bus &
  Required<Pick<Bus, "disk">> & {
    /**
     * Prepares a copy. Until the hold is disposed of, no record is removed. The copy has the group
     * offsets of this moment, so a store that is copied in between is never ahead of the copied bus.
     */
    hold(): BusHold;
  };

export type BusHold = Disposable & {
  /** @param file missing or empty */
  copyTo(file: string): Promise<void>;
};

/**
 * Opens the embedded bus: one file, one partition (0) per topic, offsets from 1, one process.
 * @throws StartError if the file is locked by another process, is no bus file, or cannot be written
 */
export async function openSqliteBus(options: SqliteBusOptions): Promise<SqliteBus> {
  const file = await BusFileClient.open({ file: options.file, maxFile_bytes: options.maxFile_bytes ?? 0 });
  const { keep_ms = DAY_MS, keep_bytes = Infinity } = options;
  return new FileBus(file, await file.call("groupOffsets"), {
    log: options.log,
    clock: options.clock ?? HOST_CLOCK,
    isStoreInDoubt: options.isStoreInDoubt ?? (() => false),
    keep_ms,
    keep_bytes,
    news_ms: keep_ms === Infinity ? DAY_MS : keep_ms,
    grace_ms: Math.min(GRACE_MS, keep_ms),
  });
}

const DAY_MS = 86_400_000;
/** Minimum time that records stay after every group has acknowledged them. */
const GRACE_MS = DAY_MS;
/** Bounds of one read, which blocks the file's thread. */
const READ_RECORDS = 256;
const READ_BYTES = 1024 * 1024;

type FileBusOptions = RemovalBounds & Pick<RemovalOptions, "log" | "clock" | "isStoreInDoubt">;

type ReadLimits = Pick<ReadOptions, "maxRecords" | "maxBytes">;

/** The embedded bus on its file. A thread of its own reads and writes the file. */
class FileBus implements SqliteBus {
  readonly #file: BusFileClient;
  /** The acknowledged offset of each group, by `<topic> <group>`. */
  readonly #offsets: Map<string, number>;
  /** The first offset of each group that has subscribed, by the same names. */
  readonly #starts = new Map<string, number>();
  readonly #readers = new Set<BusReader>();
  readonly #log: Logger;
  readonly #options: FileBusOptions;
  readonly #subscriptions = new Set<SqliteSubscription>();
  readonly #predecessors = new Map<string, Promise<void>>();
  readonly #appended_bytes = ofEachTopic(() => 0);
  readonly #wakers = ofEachTopic(() => new Set<() => void>());
  #closed = false;
  #holds = 0;
  readonly #removal: Removal;
  readonly #commits: GroupCommit;

  constructor(file: BusFileClient, offsets: GroupOffsets, options: FileBusOptions) {
    this.#file = file;
    this.#offsets = new Map(offsets);
    this.#log = options.log;
    this.#options = options;
    this.#removal = new Removal({
      ...options,
      file,
      offsets: this.#offsets,
      starts: this.#starts,
      readers: this.#readers,
      isHeld: () => this.#holds > 0,
    });
    this.#commits = new GroupCommit({
      file,
      log: options.log,
      now: options.clock.now,
      acknowledged: ({ topic, group, next }) => this.#offsets.set(`${topic} ${group}`, next),
      full: () => this.#removal.soon(),
    });
  }

  append(topic: Topic, records: readonly NewRecord[], options: { deadline_ms?: number } = {}): Promise<void> {
    if (records.length === 0) return Promise.resolve();
    const size_bytes = records.reduce((sum, record) => sum + recordBytes(record), 0);
    if (!this.#commits.hasRoom(records.length, size_bytes)) {
      return Promise.reject(new LoggiaError("overloaded", "Too much is waiting to be stored; try again in a moment"));
    }
    return this.#enqueue({
      records: records.length,
      size_bytes,
      deadline_ms: performance.now() + (options.deadline_ms ?? APPEND_DEADLINE_MS),
      appends: [{ topic, records }],
      acks: [],
      done: () => this.#wake(topic, size_bytes),
    });
  }

  async subscribe(options: SubscribeOptions, handler: (batch: Batch) => Promise<void>): Promise<Subscription> {
    this.#assertOpen();
    const key = `${options.topic} ${options.group}`;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const ready = this.#predecessors.get(key) ?? Promise.resolve();
    this.#predecessors.set(
      key,
      ready.then(() => ended),
    );
    const subscription: SqliteSubscription = new SqliteSubscription(options, handler, {
      log: this.#log.child({ topic: options.topic, group: options.group }),
      ready,
      position: (from) => this.#position(options, from),
      read: (offset) => this.#readFrom(options.topic, offset, options),
      now: this.#options.clock.now,
      appended_bytes: () => this.#appended_bytes[options.topic],
      appended: (signal) => this.#appended(options.topic, signal),
      ack: (next) => this.#saveOffset(options.topic, options.group, next),
      ended: () => {
        this.#subscriptions.delete(subscription);
        end();
      },
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }

  async *read(options: ReadOptions): AsyncGenerator<readonly BusRecord[]> {
    const { topic, since, from, signal } = options;
    this.#assertOpen();
    const reader: BusReader = { topic, next: 0 };
    this.#readers.add(reader);
    try {
      const end = await this.#file.call("end", topic);
      const given = from?.find(({ partition }) => partition === 0)?.offset ?? 0;
      reader.next = Math.max(given, since === undefined ? 0 : await this.#file.call("offsetAt", topic, since));
      for (;;) {
        signal?.throwIfAborted();
        this.#assertOpen();
        const found = await this.#readFrom(topic, reader.next, options);
        const records = found.filter(({ position }) => position.offset < end);
        const last = records.at(-1);
        if (last === undefined) return;
        yield records;
        reader.next = last.position.offset + 1;
      }
    } finally {
      this.#readers.delete(reader);
    }
  }

  async lag(topic: Topic, group: string): Promise<PartitionLag[]> {
    this.#assertOpen();
    const first = await this.#file.call("first", topic);
    const next = this.#offsets.get(`${topic} ${group}`) ?? first;
    return [{ partition: 0, first, end: await this.#file.call("end", topic), next }];
  }

  damage(): string | null {
    return this.#file.damage;
  }

  async disk(): Promise<BusDisk> {
    this.#assertOpen();
    try {
      return await this.#file.call("disk");
    } catch (error) {
      throw toBusError(error);
    }
  }

  async last(topic: Topic): Promise<readonly BusRecord[]> {
    this.#assertOpen();
    const record = await this.#file.last(topic);
    return record === null ? [] : [record];
  }

  hold(): BusHold {
    this.#assertOpen();
    const groups = new Map(this.#offsets);
    this.#holds += 1;
    let isHeld = true;
    return {
      copyTo: async (file) => {
        this.#assertOpen();
        await this.#file.call("copyTo", file, groups);
      },
      [Symbol.dispose]: () => {
        if (isHeld) this.#holds -= 1;
        isHeld = false;
      },
    };
  }

  async ping(): Promise<void> {
    this.#assertOpen();
    try {
      await this.#file.call("check");
    } catch (error) {
      throw toBusError(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
    this.#closed = true;
    await this.#removal.close();
    await this.#commits.settled();
    await this.#file[Symbol.asyncDispose]();
  }

  /** {@link BusFile.read} in steps, so that an append waits for at most one step. */
  async #readFrom(topic: Topic, offset: number, { maxRecords, maxBytes }: ReadLimits): Promise<BusRecord[]> {
    const records: BusRecord[] = [];
    let left_bytes = maxBytes;
    for (let next = offset; ;) {
      const most = Math.min(READ_RECORDS, maxRecords - records.length);
      const most_bytes = Math.min(READ_BYTES, left_bytes);
      const found = await this.#file.read(topic, next, { maxRecords: most, maxBytes: most_bytes });
      const before_bytes = left_bytes;
      for (const record of found) {
        left_bytes -= recordBytes(record);
        if (left_bytes < 0 && records.length > 0) return records;
        records.push(record);
      }
      // Nothing follows, or a record so large that it is left to the next read.
      const isShort = found.length < most && before_bytes - left_bytes < most_bytes / 2;
      if (isShort || records.length >= maxRecords || left_bytes <= 0) return records;
      next = records.at(-1)!.position.offset + 1;
    }
  }

  #enqueue(request: CommitRequest): Promise<void> {
    return this.#closed ? Promise.reject(closedError()) : this.#commits.add(request);
  }

  /**
   * Acknowledgements are few and small: they count against no limit, and share the next commit with
   * appends.
   */
  #saveOffset(topic: Topic, group: string, next: number): Promise<void> {
    return this.#enqueue({
      records: 0,
      size_bytes: 0,
      deadline_ms: Infinity,
      appends: [],
      acks: [{ topic, group, next }],
      done() {},
    });
  }

  /** The first offset of a subscription, which becomes the group's offset. */
  async #position(options: SubscribeOptions, from: number | null): Promise<number> {
    const name = `${options.topic} ${options.group}`;
    const next =
      from === null
        ? (this.#offsets.get(name) ?? (await this.#file.call("first", options.topic)))
        : await this.#moveTo(options, from);
    this.#starts.set(name, next);
    return next;
  }

  /** Moves a group to the offset of its store. */
  async #moveTo({ topic, group }: SubscribeOptions, from: number): Promise<number> {
    let next = Math.max(from, 1);
    const end = await this.#file.call("end", topic);
    if (from > end) {
      // The file is younger than the store: it was lost, or restored from a backup. Its records may
      // be new to the store, and new records must not get offsets that the store has seen.
      this.#log.warn(
        { topic, group, from, end },
        "the store is ahead of the bus file: all that the file holds is delivered again",
      );
      next = await this.#file.call("first", topic);
      const empty = next === end;
      await this.#file.call("raiseEnd", topic, from);
      if (empty) next = from;
    }
    await this.#saveOffset(topic, group, next);
    return next;
  }

  #wake(topic: Topic, size_bytes: number): void {
    this.#appended_bytes[topic] += size_bytes;
    // Called a thousand times a second: copying and clearing an empty set is only garbage.
    if (this.#wakers[topic].size === 0) return;
    const wakers = [...this.#wakers[topic]];
    this.#wakers[topic].clear();
    for (const wake of wakers) wake();
  }

  #appended(topic: Topic, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const wake = () => {
        signal.removeEventListener("abort", wake);
        this.#wakers[topic].delete(wake);
        resolve();
      };
      signal.addEventListener("abort", wake, { once: true });
      this.#wakers[topic].add(wake);
    });
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError();
  }
}

function closedError(): LoggiaError {
  return new LoggiaError("bus_unavailable", "The bus is closed");
}
