import type { Client } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import { translated } from "../../../elasticsearch/client.ts";
import { LoggiaError } from "../../../errors.ts";
import type { RebuildOptions, RebuildProgress } from "../../store.ts";
import type { ColumnsOfLogs } from "../columns.ts";
import { copyAfter, countOf, encoderOf, IS_DOCUMENT, prune } from "./copy.ts";
import type { Copied } from "./copy.ts";
import {
  block,
  createGeneration,
  createPlace,
  discardUnserved,
  readIndices,
  readWrites,
  switchTo,
  unblock,
} from "./generations.ts";
import type { Index, Writes } from "./generations.ts";
import { takeLock } from "./lock.ts";
import type { Lock } from "./lock.ts";
import { generationOf, kindOf, monthAt } from "../mapping.ts";
import type { Names } from "../mapping.ts";
import type { Operation } from "../write/bulk-encoding.ts";
import { refresh } from "../annotations.ts";
import { ElasticsearchEvents, operationsOf } from "../write/prepared.ts";
import { encodeVisit } from "../users.ts";
import { createOperation, writeBulk, writeEncodedBulk } from "../write/write.ts";

/** Passes over what changed meanwhile, before writes are held up for the last one. */
const PASSES = 10;
/** So few changes are soon copied while writes are held up. */
const FEW = 2000;
/** Writes are held up for so long at most; where that is not enough, everything stays as it was. */
const BLOCK_MS = 60_000;
const SETTLE_MS = 20;

export type RebuildContext = {
  readonly client: Client;
  readonly names: Names;
  readonly columns: ColumnsOfLogs;
  readonly log: Logger;
};

/** A place that gets a new index. */
type Target = {
  readonly place: string;
  readonly index: string;
  /** What was copied: all writes up to these numbers of the shards of that index. */
  copied: { readonly uuid: string; readonly upTo: readonly number[] } | null;
};

/**
 * The number after which an index has writes that were not copied, or null where it has none. A
 * search tells numbers of all shards alike: so what a shard is ahead of another is looked at again.
 */
function missingAfter({ copied }: Target, { uuid, latest }: Writes): number | null {
  const behind = latest.flatMap((number, shard) => {
    const upTo = copied?.uuid === uuid ? (copied.upTo[shard] ?? NOTHING) : NOTHING;
    return upTo < number ? [upTo] : [];
  });
  return behind.length === 0 ? null : Math.min(...behind);
}

/** The number before the first. */
const NOTHING = -1;

/**
 * Builds new indices beside those that are there, and puts them in their places.
 *
 * What the bus brings is written first, so that its documents stay. Then all that is there is
 * copied where the new index lacks it, and the markers of what people deleted go on top; then what
 * was written meanwhile, by the numbers of its writes, again and again until little is left. For
 * the rest the old indices take no writes: the pipeline tries again until it reaches the new ones.
 *
 * Invariant: until {@link switchTo} the old indices serve all readers and writers; in that one step
 * the new ones do. Whoever is cut off before leaves the lock behind, and the next one who meets
 * it, or a write that is held up, clears away (`mend.ts`).
 */
export async function rebuild(context: RebuildContext, options: RebuildOptions): Promise<RebuildProgress> {
  const { client, names, log } = context;
  const before = await readIndices(client, names);
  const least = Math.max(0, ...before.map(({ name }) => generationOf(name)));
  const lock = await takeLock(client, names.rebuild, { least, signal: options.signal });
  let cleared = false;
  try {
    await clearAway(context, lock);
    const work = new Work(context, options, lock);
    try {
      const progress = await work.run();
      cleared = true;
      return progress;
    } catch (error) {
      // Whether the cluster will yet switch, nobody knows now: by the time that somebody takes the
      // lock over, it is known.
      if (!lock.lost.aborted && !work.isUnsure) {
        await discardUnserved(client, names);
        await unblock(client, work.blocked);
        cleared = true;
      }
      throw error;
    }
  } finally {
    await lock.end(cleared).catch((error: unknown) => log.warn({ err: error }, "rebuild: the lock stays behind"));
  }
}

/**
 * Clears away what somebody who was cut off has left: first what he could still have switched to,
 * then what holds up writes.
 */
export async function clearAway({ client, names, log }: RebuildContext, lock: Lock): Promise<void> {
  await discardUnserved(client, names);
  if (!lock.inherited) return;
  const blocked = (await readIndices(client, names)).filter(({ isServed, isBlocked }) => isServed && isBlocked);
  await unblock(
    client,
    blocked.map(({ name }) => name),
  );
  log.warn({ unblocked: blocked.length }, "rebuild: cleared away what was left by one that was cut off");
}

function unexpectedWrite(): LoggiaError {
  return new LoggiaError("conflict", "Something let indices take writes that were to take none: start it once more");
}

class Work {
  /** Indices that may take no writes because of this work. */
  blocked: readonly string[] = [];
  isUnsure = false;
  readonly #context: RebuildContext;
  readonly #options: RebuildOptions;
  readonly #lock: Lock;
  readonly #signal: AbortSignal;
  readonly #targets = new Map<string, Promise<Target>>();
  #progress: RebuildProgress = { stage: "reading", rebuilt: 0, compared: 0, copied: 0, markers: 0 };
  #buried = 0;

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
      // The first one takes its time; the others must gain on those who write.
      if ((await this.#catchUp(targets, { rests: pass === 1, signal: this.#signal })) <= FEW) break;
    }
    this.#report({ stage: "switching" });
    await this.#switch(targets);
    return this.#progress;
  }

  /** Earlier months stay as they are; what is not kept by months is always built anew. */
  #isWanted(place: string): boolean {
    const month = monthAt(this.#context.names, place);
    return month === null || month.end > this.#options.since;
  }

  #target(place: string): Promise<Target> {
    let target = this.#targets.get(place);
    if (target === undefined) {
      target = this.#begin(place);
      // Whoever asks again tries again.
      target.catch(() => this.#targets.delete(place));
      this.#targets.set(place, target);
    }
    return target;
  }

  /** Where documents of a place are written anew. */
  async #indexOf(place: string): Promise<string> {
    this.#signal.throwIfAborted();
    return (await translated(() => this.#target(place))).index;
  }

  async #begin(place: string): Promise<Target> {
    const { client, names } = this.#context;
    this.#signal.throwIfAborted();
    // A place without an index could get one at any time, by a first document.
    await createPlace(client, place);
    return { place, index: await createGeneration(client, names, place, this.#lock.generation), copied: null };
  }

  async #fill(): Promise<void> {
    const { client, names, columns } = this.#context;
    const anew: Parameters<RebuildOptions["fill"]>[0] = {
      prepareEvents: () => new ElasticsearchEvents((id) => this.#indexOf(names.eventsOf(id)), columns),
      writeEvents: async (events) => {
        this.#signal.throwIfAborted();
        return writeEncodedBulk(client, operationsOf(events));
      },
      writeVisits: async (visits) => {
        const operations: Operation[] = [];
        for (const visit of visits) {
          const index = await this.#indexOf(names.visitsOf(visit.id));
          operations.push(createOperation(index, visit.id, encodeVisit(visit)));
        }
        return writeBulk(client, operations);
      },
    };
    const { fill } = this.#options;
    await fill(anew, this.#signal);
    this.#signal.throwIfAborted();
  }

  /** Copies what was written since the last pass. @returns how many documents that were */
  async #catchUp(targets: readonly Target[], options: { rests: boolean; signal: AbortSignal }): Promise<number> {
    const { client, names, columns } = this.#context;
    const served = await this.#served(targets);
    const writes = await readWrites(client, [...served.values()]);
    let compared = 0;
    for (const target of targets) {
      const from = served.get(target.place);
      const now = from && writes.get(from.name);
      if (now === undefined) throw new LoggiaError("store_unavailable", `A shard of ${target.place} is away`);
      const after = missingAfter(target, now);
      if (after !== null) {
        const kind = kindOf(names, target.place);
        const encode = encoderOf(names, kind, (log) => columns.of(log, target.index), this.#options.revise);
        const step = (counts: Copied): void => this.#step(counts);
        // That people saw them is a change of alerts, and nothing else writes what is built of them.
        const overwrites = kind === names.alerts;
        const copy = { client, from: from!.name, to: target.index, encode, overwrites, step, ...options };
        compared += await copyAfter(copy, after);
      }
      target.copied = { uuid: now.uuid, upTo: now.settled };
      if (target.place === names.bookmarks) await this.#mirror(from!, target, options);
    }
    return compared;
  }

  /** Of all that people do, only bookmarks go without a marker. */
  async #mirror(from: Index, { index: to }: Target, options: { rests: boolean; signal: AbortSignal }): Promise<void> {
    const { client } = this.#context;
    await refresh(client, `${from.name},${to}`);
    if ((await countOf(client, from.name)) === (await countOf(client, to))) return;
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

  /** Holds up writes, copies the rest, and switches. */
  async #switch(targets: readonly Target[]): Promise<void> {
    const { client, names, log } = this.#context;
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(BLOCK_MS)]);
    const served = await this.#served(targets);
    // While writes wait, there is little left to show.
    await refresh(client, names.building);
    this.blocked = Array.from(served.values(), ({ name }) => name);
    const start_ms = performance.now();
    await block(client, this.blocked);
    while (!(await this.#isComplete(targets))) {
      await this.#catchUp(targets, { rests: false, signal });
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
      this.isUnsure = !(error instanceof errors.ResponseError) || (error.statusCode ?? 500) >= 500;
      throw error;
    }
    this.blocked = [];
    const held_ms = Math.round(performance.now() - start_ms);
    log.info({ indices: targets.length, held_ms }, "rebuild: the new indices serve; writes were held up meanwhile");
    // What was written anew and deleted since is a marker now.
    const copied = counts.documents - this.#progress.rebuilt + this.#buried;
    this.#report({ stage: "done", copied, markers: counts.markers });
  }

  /** Whether all writes of indices that take none any more were copied. */
  async #isComplete(targets: readonly Target[]): Promise<boolean> {
    const served = await this.#served(targets);
    if (served.values().some(({ isBlocked }) => !isBlocked)) throw unexpectedWrite();
    const writes = await readWrites(this.#context.client, [...served.values()]);
    return targets.every((target) => {
      const now = writes.get(served.get(target.place)!.name);
      return now !== undefined && missingAfter(target, now) === null;
    });
  }

  /** What a copy lacks would be gone for good: so that it lacks nothing is seen another way too. */
  async #compareCounts(targets: readonly Target[]): Promise<{ documents: number; markers: number }> {
    const { client } = this.#context;
    let documents = 0;
    let markers = 0;
    for (const { place, index } of targets) {
      await refresh(client, place);
      const [old, anew] = [await countOf(client, place), await countOf(client, index)];
      if (anew < old) throw new Error(`The copy ${index} has ${anew} documents of ${old}`);
      const some = await countOf(client, index, IS_DOCUMENT);
      documents += some;
      markers += anew - some;
    }
    return { documents, markers };
  }

  #step({ compared, buried }: Copied): void {
    this.#buried += buried;
    this.#report({ compared: this.#progress.compared + compared });
  }

  async #countRebuilt(): Promise<number> {
    const { client, names } = this.#context;
    await refresh(client, names.building);
    return countOf(client, names.building, IS_DOCUMENT);
  }

  #report(changes: Partial<RebuildProgress>): void {
    this.#progress = { ...this.#progress, ...changes };
    this.#options.report?.(this.#progress);
  }
}
