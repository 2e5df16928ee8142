import type { Client } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import { translated } from "../../../elasticsearch/client.ts";
import { LoggiaError } from "../../../errors.ts";
import type { RebuildOptions, RebuildProgress } from "../../store.ts";
import type { ColumnsOfLogs } from "../write/columns.ts";
import { copyAfter, recordEncoder, prune } from "./copy.ts";
import type { Copied } from "./copy.ts";
import { createGeneration, createPlace, discardUnserved, readWrites, switchTo } from "./generations.ts";
import type { Writes } from "./generations.ts";
import { takeLock } from "../client/lock.ts";
import type { Lock } from "../client/lock.ts";
import { indexGeneration, indexKind, monthAt } from "../documents/mapping.ts";
import type { Names } from "../documents/mapping.ts";
import type { EncodedOperation } from "../client/bulk-encoding.ts";
import { ElasticsearchEvents, bulkOperations } from "../write/prepared.ts";
import { encodeVisit } from "../documents/visit.ts";
import { createOperation, writeBulk, writeEncodedBulk } from "../client/bulk.ts";
import { countDocuments } from "../client/scan.ts";
import { IS_DOCUMENT } from "../client/queries.ts";
import { block, readIndices, unblock, refresh } from "../client/indices.ts";
import type { Index } from "../client/indices.ts";
import type { Scheduler } from "../../../scheduling/scheduler.ts";

/** Maximum number of passes over concurrent changes before writes are blocked for the last one. */
const PASSES = 10;
/** Number of changes that can be copied quickly while writes are blocked. */
const FEW = 2000;
/** Longest time that writes are blocked. Beyond it, the rebuild fails and changes nothing. */
const BLOCK_MS = 60_000;
const SETTLE_MS = 20;

export type RebuildContext = {
  readonly scheduler: Scheduler;
  readonly client: Client;
  readonly names: Names;
  readonly columns: ColumnsOfLogs;
  readonly log: Logger;
};

/** A place that gets a new index. */
type Target = {
  readonly place: string;
  readonly index: string;
  /** Progress of the copy: all writes up to these numbers of the shards of that index. */
  copied: { readonly uuid: string; readonly upTo: readonly number[] } | null;
};

/**
 * Returns the number after which an index has uncopied writes, or null if it has none. Searches do
 * not distinguish the shards' numbers, so writes of a shard that is ahead of another are read
 * again.
 */
function missingAfter({ copied }: Target, { uuid, latest }: Writes): number | null {
  const behind = latest.flatMap((number, shard) => {
    const upTo = copied?.uuid === uuid ? (copied.upTo[shard] ?? NOTHING) : NOTHING;
    return upTo < number ? [upTo] : [];
  });
  return behind.length === 0 ? null : Math.min(...behind);
}

/** The number before the first write. */
const NOTHING = -1;

/**
 * Builds new indices beside the current ones, and switches to them.
 *
 * Events from the bus are written first and take precedence. Then documents that the new indices
 * lack are copied, and markers of deletions replace what was written. Then concurrent writes are
 * copied by their sequence numbers, in passes until few are left. For the rest, writes to the old
 * indices are blocked: the pipeline retries until it reaches the new ones.
 *
 * Invariant: until {@link switchTo} the old indices serve all readers and writers, after that one
 * step the new ones do. A process that is interrupted before does not release the lock. The next
 * process that finds the lock, or has a write blocked, cleans up (`recovery.ts`).
 */
export async function rebuild(context: RebuildContext, options: RebuildOptions): Promise<RebuildProgress> {
  const { client, names, log } = context;
  const before = await readIndices(client, names);
  const least = Math.max(0, ...before.map(({ name }) => indexGeneration(name)));
  const lock = await takeLock(client, names.rebuild, { least, signal: options.signal });
  let cleared = false;
  try {
    await cleanUp(context, lock);
    const job = new Rebuild(context, options, lock);
    try {
      const progress = await job.run();
      cleared = true;
      return progress;
    } catch (error) {
      // The switch may still happen. By the time another process takes the lock over, its outcome
      // is known.
      if (!lock.lost.aborted && !job.mayHaveSwitched) {
        await discardUnserved(client, names);
        await unblock(client, job.blocked);
        cleared = true;
      }
      throw error;
    }
  } finally {
    await lock.end(cleared).catch((error: unknown) => log.warn({ err: error }, "rebuild: cannot release the lock"));
  }
}

/**
 * Cleans up after an interrupted rebuild: first the indices that it could still switch to, then the
 * blocks of writes.
 */
export async function cleanUp({ client, names, log }: RebuildContext, lock: Lock): Promise<void> {
  await discardUnserved(client, names);
  if (!lock.inherited) return;
  const blocked = (await readIndices(client, names)).filter(({ isServed, isBlocked }) => isServed && isBlocked);
  await unblock(
    client,
    blocked.map(({ name }) => name),
  );
  log.warn({ unblocked: blocked.length }, "rebuild: cleaned up after an interrupted rebuild");
}

function unexpectedWrite(): LoggiaError {
  return new LoggiaError(
    "conflict",
    "The write block of an index was removed during the rebuild: start the rebuild again",
  );
}

class Rebuild {
  /** Indices that this rebuild has blocked. */
  blocked: readonly string[] = [];
  mayHaveSwitched = false;
  readonly #context: RebuildContext;
  readonly #options: RebuildOptions;
  readonly #lock: Lock;
  readonly #signal: AbortSignal;
  readonly #targets = new Map<string, Promise<Target>>();
  #progress: RebuildProgress = { stage: "reading", rebuilt: 0, compared: 0, copied: 0, markers: 0 };
  #overwritten = 0;

  constructor(context: RebuildContext, options: RebuildOptions, lock: Lock) {
    this.#context = context;
    this.#options = options;
    this.#lock = lock;
    this.#signal = AbortSignal.any([options.signal, lock.lost]);
  }

  async run(): Promise<RebuildProgress> {
    const { client, names } = this.#context;
    const served = (await readIndices(client, names)).filter(({ isServed }) => isServed);
    const wanted = served.map(({ place }) => place).filter((place) => this.#isWanted(place));
    await Promise.all(wanted.map((place) => this.#target(place)));
    await this.#fill();
    this.#report({ stage: "copying", rebuilt: await this.#countRebuilt() });
    const targets = await Promise.all(this.#targets.values());
    for (let pass = 1; pass <= PASSES; pass++) {
      // The first pass is throttled; the others must be faster than the writers.
      if ((await this.#catchUp(targets, { pauses: pass === 1, signal: this.#signal })) <= FEW) break;
    }
    this.#report({ stage: "switching" });
    await this.#switch(targets);
    return this.#progress;
  }

  /** Whether a place is rebuilt: months since `since`, and every place that is not monthly. */
  #isWanted(place: string): boolean {
    const month = monthAt(this.#context.names, place);
    return month === null || month.end > this.#options.since;
  }

  #target(place: string): Promise<Target> {
    let target = this.#targets.get(place);
    if (target === undefined) {
      target = this.#begin(place);
      // The next call tries again.
      target.catch(() => this.#targets.delete(place));
      this.#targets.set(place, target);
    }
    return target;
  }

  /** Returns the index to which documents of a place are written. */
  async #indexOf(place: string): Promise<string> {
    this.#signal.throwIfAborted();
    return (await translated(() => this.#target(place))).index;
  }

  async #begin(place: string): Promise<Target> {
    const { client, names } = this.#context;
    this.#signal.throwIfAborted();
    // Otherwise a first document could create the place's index at any time.
    await createPlace(client, place);
    return { place, index: await createGeneration(client, names, place, this.#lock.generation), copied: null };
  }

  async #fill(): Promise<void> {
    const { client, names, columns, scheduler } = this.#context;
    const writes: Parameters<RebuildOptions["fill"]>[0] = {
      prepareEvents: () => new ElasticsearchEvents((id) => this.#indexOf(names.eventsOf(id)), columns, scheduler),
      writeEvents: async (events) => {
        this.#signal.throwIfAborted();
        return writeEncodedBulk(client, bulkOperations(events));
      },
      writeVisits: async (visits) => {
        const operations: EncodedOperation[] = [];
        for (const visit of visits) {
          const index = await this.#indexOf(names.visitsOf(visit.id));
          operations.push(createOperation(index, visit.id, encodeVisit(visit)));
        }
        return writeBulk(client, operations);
      },
    };
    const { fill } = this.#options;
    await fill(writes, this.#signal);
    this.#signal.throwIfAborted();
  }

  /** Copies the writes since the last pass. @returns the number of documents read */
  async #catchUp(targets: readonly Target[], options: { pauses: boolean; signal: AbortSignal }): Promise<number> {
    const { client, names, columns } = this.#context;
    const served = await this.#served(targets);
    const writes = await readWrites(client, [...served.values()]);
    let compared = 0;
    for (const target of targets) {
      const from = served.get(target.place);
      const now = from && writes.get(from.name);
      if (now === undefined)
        throw new LoggiaError("store_unavailable", `A primary shard of ${target.place} is unavailable`);
      const after = missingAfter(target, now);
      if (after !== null) {
        const kind = indexKind(names, target.place);
        const encode = recordEncoder(names, kind, (log) => columns.of(log, target.index), this.#options.revise);
        const step = (counts: Copied): void => this.#step(counts);
        // Alerts change when they are seen, and only this copy writes them to the new index.
        const overwrites = kind === names.alerts;
        const copy = { client, from: from!.name, to: target.index, encode, overwrites, step, ...options };
        compared += await copyAfter(copy, after);
      }
      target.copied = { uuid: now.uuid, upTo: now.settled };
      if (target.place === names.bookmarks) await this.#mirror(from!, target, options);
    }
    return compared;
  }

  /** Removes deleted bookmarks from the copy. Only bookmarks are deleted without a marker. */
  async #mirror(from: Index, { index: to }: Target, options: { pauses: boolean; signal: AbortSignal }): Promise<void> {
    const { client } = this.#context;
    await refresh(client, `${from.name},${to}`);
    if ((await countDocuments(client, from.name)) === (await countDocuments(client, to))) return;
    await prune({ client, from: from.name, to, ...options });
  }

  async #served(targets: readonly Target[]): Promise<ReadonlyMap<string, Index>> {
    const { client, names } = this.#context;
    const places = new Set(targets.map(({ place }) => place));
    const indices = (await readIndices(client, names)).filter(({ isServed, place }) => isServed && places.has(place));
    const served = new Map(indices.map((index) => [index.place, index]));
    for (const place of places.difference(served)) {
      await createPlace(client, place);
    }
    return served.size === places.size ? served : this.#served(targets);
  }

  /** Blocks writes, copies the rest and switches. */
  async #switch(targets: readonly Target[]): Promise<void> {
    const { client, names, log } = this.#context;
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(BLOCK_MS)]);
    const served = await this.#served(targets);
    // Refresh before the block, so that little is left to refresh while writes wait.
    await refresh(client, names.building);
    this.blocked = Array.from(served.values(), ({ name }) => name);
    const start_ms = performance.now();
    await block(client, this.blocked);
    while (!(await this.#isComplete(targets))) {
      await this.#catchUp(targets, { pauses: false, signal });
      await sleep(SETTLE_MS, undefined, { signal });
    }
    await refresh(client, names.building);
    const counts = await this.#compareCounts(targets);
    signal.throwIfAborted();
    await this.#lock.confirm();
    if (!(await this.#isComplete(targets))) throw unexpectedWrite();
    try {
      const changes = targets.map(({ place, index }) => ({ old: served.get(place)!.name, index }));
      await switchTo(client, names, changes);
    } catch (error) {
      this.mayHaveSwitched = !(error instanceof errors.ResponseError) || (error.statusCode ?? 500) >= 500;
      throw error;
    }
    this.blocked = [];
    const held_ms = Math.round(performance.now() - start_ms);
    log.info(
      { indices: targets.length, held_ms },
      "rebuild: switched to the new indices; writes were blocked meanwhile",
    );
    // Documents written from the bus and deleted since are markers now.
    const copied = counts.documents - this.#progress.rebuilt + this.#overwritten;
    this.#report({ stage: "done", copied, markers: counts.markers });
  }

  /** Whether all writes to the blocked indices were copied. */
  async #isComplete(targets: readonly Target[]): Promise<boolean> {
    const served = await this.#served(targets);
    if (served.values().some(({ isBlocked }) => !isBlocked)) throw unexpectedWrite();
    const writes = await readWrites(this.#context.client, [...served.values()]);
    return targets.every((target) => {
      const now = writes.get(served.get(target.place)!.name);
      return now !== undefined && missingAfter(target, now) === null;
    });
  }

  /** Compares counts as an independent check, since documents missing in the copy would be lost. */
  async #compareCounts(targets: readonly Target[]): Promise<{ documents: number; markers: number }> {
    const { client } = this.#context;
    let documents = 0;
    let markers = 0;
    for (const { place, index } of targets) {
      await refresh(client, place);
      const [old, copied] = [await countDocuments(client, place), await countDocuments(client, index)];
      if (copied < old) throw new Error(`The copy ${index} has ${copied} of ${old} documents`);
      const some = await countDocuments(client, index, IS_DOCUMENT);
      documents += some;
      markers += copied - some;
    }
    return { documents, markers };
  }

  #step({ compared, overwritten }: Copied): void {
    this.#overwritten += overwritten;
    this.#report({ compared: this.#progress.compared + compared });
  }

  async #countRebuilt(): Promise<number> {
    const { client, names } = this.#context;
    await refresh(client, names.building);
    return countDocuments(client, names.building, IS_DOCUMENT);
  }

  #report(changes: Partial<RebuildProgress>): void {
    this.#progress = { ...this.#progress, ...changes };
    this.#options.report?.(this.#progress);
  }
}
