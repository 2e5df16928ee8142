import type { Logger } from "pino";
import type { Batch, Bus, PartitionLag } from "../src/bus/bus.ts";
import type { Catalog } from "../src/catalog/catalog.ts";
import type { OpenLines } from "../src/events/lines.ts";
import type { Store } from "../src/store/store.ts";
import { deadLetter } from "./deadletters/append.ts";
import type { RecordFailure, StageName } from "./deadletters/codec.ts";
import { intoChunks } from "./decode/chunks.ts";
import type { Chunk } from "./decode/chunks.ts";
import { carryOutDeletions } from "./delete/delete.ts";
import type { Locate } from "./enrich/enrich.ts";
import { ConcurrencyLimit, InFlightWrites } from "./in-flight-writes.ts";
import { retryForever } from "./retry.ts";
import type { RetryPolicy } from "./retry.ts";
import { Refused, transformEach } from "./stage.ts";
import type { DeletionItem, PendingWrite, VisitItem, WriteContext } from "./stage.ts";
import { createStages } from "./stages.ts";
import type { Stages } from "./stages.ts";
import { createStats } from "./stats.ts";
import type { PipelineStats, StatsKeeper } from "./stats.ts";
import { track } from "./track/track.ts";
import type { Scheduler } from "../src/scheduling/scheduler.ts";

export type PipelineOptions = {
  readonly bus: Bus;
  readonly store: Store;
  readonly catalog: Catalog;
  /** Shares the thread with requests. */
  readonly scheduler: Scheduler;
  readonly log: Logger;
  /** Consumer group; processes of one group share the work. */
  readonly group?: string;
  /** GeoIP database; without one, events keep their addresses unresolved. */
  readonly locate?: Locate;
  /** Whether events to be mailed also go to topic `alerts` (see `notify/`). Default: false. */
  readonly notices?: boolean;
  /** Trusted clock. Default: the host's. */
  readonly now?: () => number;
  /** Reader of the lines of records. Default: `scanLines` */
  readonly openLines?: OpenLines;
  /** Bounds of a write batch. Defaults: 5,000 events and 5 MB. */
  readonly maxEvents?: number;
  readonly maxBytes?: number;
  /**
   * Maximum number of writes in flight, in all partitions together. Default: 4. Each partition may
   * always have one.
   */
  readonly maxInFlight?: number;
  /**
   * Whether the writes of a partition are made in order, with the position in the last one: for
   * stores that keep offsets and readers that rely on the order. Otherwise several writes of a
   * partition are in flight at a time. Default: true.
   */
  readonly inOrder?: boolean;
  /** Wait after the first failed write; it doubles up to the last. */
  readonly retryFirst_ms?: number;
  readonly retryLast_ms?: number;
};

export type Pipeline = {
  /**
   * Waits for the batches in flight to finish, at most `timeout_ms`; a write waiting for a retry is
   * abandoned at once. Unfinished batches are delivered again at the next start.
   */
  close(timeout_ms?: number): Promise<void>;
  /** Resolves when the pipeline has closed; rejects on a failure that it cannot recover from. */
  readonly done: Promise<void>;
  /** Returns why nothing arrives from the bus at the moment, or null if it works. */
  fault(): string | null;
  stats(): PipelineStats;
  /** Returns the lag behind the bus for each partition. */
  lag(): Promise<PartitionLag[]>;
};

const GROUP = "pipeline";
const MAX_EVENTS = 5_000;
const MAX_BYTES = 5_000_000;
const MAX_IN_FLIGHT = 4;
const RETRY_FIRST_MS = 100;
const RETRY_LAST_MS = 10_000;
/** The bus expects a heartbeat every 3 s. */
const HEARTBEAT_MS = 1_000;

/**
 * Starts a pipeline that takes accepted events from the bus through all stages into the store.
 *
 * Invariant: a batch is acknowledged only when each of its events, with everything derived from it,
 * is durable in the store or a durable dead letter. After any failure before that, the batch is
 * delivered again; as all writes are create-only, repeating them changes nothing.
 *
 * @throws LoggiaError `bus_unavailable` if the subscription to the bus fails
 */
export async function startPipeline(options: PipelineOptions): Promise<Pipeline> {
  const { bus, store, group = GROUP, maxEvents = MAX_EVENTS, maxBytes = MAX_BYTES } = options;
  const closing = new AbortController();
  const stats = createStats();
  const context: Context = {
    ...options,
    stages: createStages({
      ...options,
      locate: options.locate ?? null,
      notices: options.notices ?? false,
      maxEvents,
      maxBytes,
    }),
    maxEvents,
    maxBytes,
    concurrencyLimit: new ConcurrencyLimit(options.maxInFlight ?? MAX_IN_FLIGHT),
    inOrder: options.inOrder ?? true,
    stats,
    closing: closing.signal,
  };
  const subscription = await bus.subscribe(
    {
      topic: "events",
      group,
      maxRecords: maxEvents,
      maxBytes,
      from: (partition) => store.nextOffset("events", partition),
      transient: true,
    },
    (batch) => handle(batch, context),
  );
  return {
    close: (timeout_ms) => {
      closing.abort(new Error("the pipeline is closing"));
      return subscription.close(timeout_ms);
    },
    done: subscription.done,
    fault: () => subscription.fault(),
    stats: () => stats.read(),
    lag: () => bus.lag("events", group),
  };
}

type Context = PipelineOptions & {
  readonly stages: Stages;
  readonly maxEvents: number;
  readonly maxBytes: number;
  readonly concurrencyLimit: ConcurrencyLimit;
  readonly inOrder: boolean;
  readonly stats: StatsKeeper;
  readonly closing: AbortSignal;
};

/**
 * Processes one batch, from its records to its acknowledgement.
 * @throws whatever prevents the acknowledgement, so that the bus delivers the batch again
 */
async function handle(batch: Batch, context: Context): Promise<void> {
  const { stats } = context;
  stats.batch("started");
  stats.records(batch.records.length);
  using heartbeats = keepAlive(batch);
  const retryPolicy: RetryPolicy = {
    signal: AbortSignal.any([batch.signal, heartbeats.lost]),
    closing: context.closing,
    first_ms: context.retryFirst_ms ?? RETRY_FIRST_MS,
    last_ms: context.retryLast_ms ?? RETRY_LAST_MS,
    log: context.log,
    retried: (count) => stats.retried(count),
  };
  try {
    await processBatch(batch, retryPolicy, context);
    await batch.ack();
  } catch (error) {
    stats.batch("failed");
    throw error;
  }
  stats.batch("acked");
}

/** Makes a batch durable, with several writes in flight, and then its position. */
async function processBatch(batch: Batch, retryPolicy: RetryPolicy, context: Context): Promise<void> {
  const end = batch.records.at(-1)!.position;
  let isPositionCommitted = false;
  const chunks = intoChunks(batch.records, context);
  await using inFlight = new InFlightWrites(context.concurrencyLimit, retryPolicy.signal);
  for (let isLast = false; !isLast;) {
    await inFlight.waitForRoom();
    const writeBatch = await collectWriteBatch(chunks, inFlight.signal, context);
    isLast = writeBatch.isLast;
    const { earlier, signal } = inFlight;
    const work: WriteContext = {
      retryPolicy: { ...retryPolicy, signal },
      position: context.inOrder && isLast ? end : null,
      turn: context.inOrder ? earlier : null,
      positionCommitted: () => void (isPositionCommitted = true),
      alerted: (count) => context.stats.alerted(count),
    };
    inFlight.launch(writeToStore(writeBatch, work, context));
  }
  await inFlight.earlier;
  if (!isPositionCommitted)
    await retryForever(
      "move the offset",
      () => context.store.writeEvents(context.store.prepareEvents(), end),
      retryPolicy,
    );
}

/** The records of a batch that are written together. */
type WriteBatch = {
  readonly visits: readonly VisitItem[];
  readonly deletions: readonly DeletionItem[];
  /** Lines that yield nothing to write, by the stage that refused them. */
  readonly refused: ReadonlyMap<StageName, readonly RecordFailure[]>;
  readonly pendingWrites: readonly { readonly name: StageName; readonly pendingWrite: PendingWrite }[];
  /** Number of events in `pendingWrites`. */
  readonly events: number;
  readonly isLast: boolean;
};

/** Takes the events of a write batch through all stages up to the writes, a chunk at a time. */
async function collectWriteBatch(
  chunks: AsyncGenerator<Chunk, void>,
  signal: AbortSignal,
  context: Context,
): Promise<WriteBatch> {
  const { stats, stages } = context;
  const visits: VisitItem[] = [];
  const deletions: DeletionItem[] = [];
  const refused = new Map<StageName, RecordFailure[]>();
  const refuse = (stage: StageName, failures: readonly RecordFailure[]): void => {
    if (failures.length > 0) refused.set(stage, (refused.get(stage) ?? []).concat(failures));
  };
  const pendingWrites = stages.writers.map((writer) => ({ name: writer.name, pendingWrite: writer.begin() }));
  let decoded = 0;
  let events = 0;
  for (;;) {
    const next = await timed("decode", stats, () => chunks.next());
    // The loop ends with the chunk that ends the batch, so there always is a next chunk.
    const chunk = next.value!;
    signal.throwIfAborted();
    visits.push(...chunk.visits);
    deletions.push(...chunk.deletions);
    refuse("decode", chunk.malformed);
    decoded += chunk.items.length;
    let items = chunk.items;
    for (const { name, change } of stages.transforms) {
      const changed = await timed(name, stats, () => transformEach(items, change, context.scheduler));
      refuse(name, changed.refused);
      items = changed.passed;
    }
    events += items.length;
    if (items.length > 0) {
      for (const { name, pendingWrite } of pendingWrites) {
        const failures = await timed(name, stats, () => pendingWrite.take(items));
        refuse(name, failures);
        events -= failures.length;
      }
    }
    if (chunk.ends === "nothing") continue;
    stats.writeBatch(decoded);
    return { visits, deletions, refused, pendingWrites, events, isLast: chunk.ends === "batch" };
  }
}

async function writeToStore(writeBatch: WriteBatch, work: WriteContext, context: Context): Promise<void> {
  const { stats, bus, store } = context;
  const without = new Refused();
  let left = writeBatch.events;

  async function refuse(stage: StageName, failures: readonly RecordFailure[]): Promise<void> {
    if (failures.length === 0) return;
    context.log.error(
      { stage, count: failures.length, reason: failures[0]!.reason },
      "writing refused lines to the dead letters",
    );
    await timed(stage, stats, () => deadLetter(bus, failures, stage, work.retryPolicy));
    stats.deadLettered(stage, failures.length);
  }

  for (const [stage, failures] of writeBatch.refused) {
    await refuse(stage, failures);
    without.add(failures);
  }
  const untracked = await timed("track", stats, () =>
    track(writeBatch.visits, { store, retryPolicy: work.retryPolicy }),
  );
  await refuse("track", untracked);
  stats.tracked(writeBatch.visits.length - untracked.length);
  const undeleted = await timed("delete", stats, () =>
    carryOutDeletions(writeBatch.deletions, { store, retryPolicy: work.retryPolicy }),
  );
  await refuse("delete", undeleted);
  for (const { name, pendingWrite } of writeBatch.pendingWrites) {
    if (writeBatch.events === 0) return;
    // Each stage holds the thread for milliseconds; pending requests run in between.
    await context.scheduler.yieldToRequests();
    if (name === "index" && work.turn !== null) await work.turn;
    work.retryPolicy.signal.throwIfAborted();
    const failures = await timed(name, stats, () => pendingWrite.write(work, without));
    await refuse(name, failures);
    without.add(failures);
    left -= failures.length;
  }
  stats.done(left);
}

async function timed<T>(stage: StageName, stats: StatsKeeper, work: () => Promise<T>): Promise<T> {
  const start_ms = performance.now();
  const result = await work();
  stats.busy(stage, performance.now() - start_ms);
  return result;
}

/**
 * Sends heartbeats for a batch until disposed of. `lost` fires when the bus rejects one: another
 * consumer may own the partition by then.
 */
function keepAlive(batch: Batch): Disposable & { readonly lost: AbortSignal } {
  const lost = new AbortController();
  const timer = setInterval(() => {
    batch.heartbeat().catch((error: unknown) => lost.abort(error));
  }, HEARTBEAT_MS);
  return { lost: lost.signal, [Symbol.dispose]: () => clearInterval(timer) };
}
