import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import type { Bus } from "../../src/bus/bus.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { LoggiaError } from "../../src/errors.ts";
import type { LogKey } from "../../src/events/event.ts";
import type { SerialQueue } from "../../src/scheduling/serial-queue.ts";
import { yieldToRequests } from "../../src/scheduling/cooperative.ts";
import type { Condition } from "../../src/query/plan.ts";
import type { Classifiable, Reclassified, Store } from "../../src/store/store.ts";
import { createClassifier } from "../classify/classify.ts";
import { ClaimLost } from "./claim.ts";
import type { Claim } from "./claim.ts";
import { fingerprintFilters } from "./fingerprint.ts";

export type ReclassificationOptions = {
  readonly store: Pick<Store, "reclassify" | "list" | "refresh">;
  readonly catalog: Pick<Catalog, "log" | "classFilters" | "ownerOf" | "refresh">;
  readonly bus: Pick<Bus, "lag">;
  /** Consumer group of the pipelines that classify posted events. */
  readonly group: string;
  /** Time after which every process knows a changed filter; 0 if there is only one process. */
  readonly propagation_ms: number;
  /** Whether the store or the catalog awaits an operator's decision. Nothing changes meanwhile. */
  readonly isHeld: () => boolean;
  readonly now: () => number;
  readonly log: Logger;
};

type JobOptions = ReclassificationOptions & {
  readonly claim: Claim;
  /** Runs the pieces of all jobs of the process one at a time. */
  readonly inTurn: SerialQueue;
  /** Ends the job between two steps, with the signal's reason. */
  readonly signal: AbortSignal;
};

/** Number of events classified before the thread is yielded. */
const EVENTS_A_TURN = 16;
/** Least pause after a piece, which is as long as the piece took, to leave the store to others. */
const MIN_PAUSE_MS = 5;
const RETRY_FIRST_MS = 200;
const RETRY_LAST_MS = 10_000;
const HELD_POLL_MS = 1_000;
/**
 * Longest wait for the pipeline before a pass. If the pipeline is further behind, the job waits for
 * it after the pass and then makes another pass.
 */
const PIPELINE_WAIT_MS = 20_000;
const PIPELINE_POLL_MS = 200;

class FiltersChanged extends Error {}
class LogDeleted extends Error {}

/**
 * Carries out an order: gives each event of a log the class by its current filters. The job starts
 * again if the filters change meanwhile, so that in the end one set of filters has classified all
 * events.
 *
 * Invariant: a class by newer filters is never replaced by one of older filters. The filters are
 * read after the events, so that they are no older than those of the pipeline that wrote the
 * events.
 * @throws ClaimLost; the reason of `signal`
 */
export async function reclassifyLog(options: JobOptions): Promise<void> {
  const { claim, log } = options;
  const job = new ReclassificationJob(options);
  try {
    await job.run();
  } catch (error) {
    if (error instanceof ClaimLost || options.signal.aborted) throw error;
    log.error({ err: error, job: claim.record }, "reclassification failed");
    const finished = options.now();
    await claim.finish({ state: "failed", finished, reason: explain(error) }, claim.record.asked);
  }
}

function explain(error: unknown): string {
  if (error instanceof LogDeleted) return "The log was deleted";
  return error instanceof LoggiaError && error.code !== "internal_error"
    ? error.message
    : "An unexpected error ended the reclassification; see the service's log";
}

class ReclassificationJob {
  readonly #options: JobOptions;
  readonly #key: LogKey;
  readonly #classOf: ReturnType<typeof createClassifier>;
  /** The array last returned by the catalog, and the fingerprint of its filters. */
  #cached: { readonly filters: unknown; readonly fingerprint: string } | null = null;

  constructor(options: JobOptions) {
    this.#options = options;
    this.#key = options.claim.record.log;
    this.#classOf = createClassifier(options.catalog);
  }

  async run(): Promise<void> {
    const { claim, now, log, store } = this.#options;
    for (;;) {
      const fingerprint = await this.#retrying(() => this.#currentFingerprint());
      if (claim.record.filters !== fingerprint) await this.#begin(fingerprint);
      const { asked } = claim.record;
      try {
        await this.#runPasses();
        // An order repeated during the last piece may be for other filters.
        await this.#retrying(() => this.#throwIfFiltersChanged());
        await this.#retrying(() => store.refresh());
        const end = { state: "done", finished: now(), done: claim.record.total ?? 0 } as const;
        if (!(await this.#retrying(() => claim.finish(end, asked)))) continue;
        log.info({ job: claim.record }, "reclassification finished");
        return;
      } catch (error) {
        if (!(error instanceof FiltersChanged)) throw error;
      }
    }
  }

  /** Starts from the first event. */
  async #begin(filters: string): Promise<void> {
    const { claim, log } = this.#options;
    const isSettled = await this.#waitForPipeline(PIPELINE_WAIT_MS);
    await this.#retrying(() => this.#options.store.refresh());
    const total = await this.#retrying(() => this.#count());
    await this.#retrying(() => claim.save({ filters, isSettled, total, done: 0, upTo: null }));
    log.info({ job: claim.record }, "reclassification started");
  }

  async #runPasses(): Promise<void> {
    const { claim } = this.#options;
    await this.#runPass();
    if (claim.record.isSettled) return;
    await this.#waitForPipeline(Infinity);
    await this.#retrying(() => this.#options.store.refresh());
    claim.update({ isSettled: true, done: 0, upTo: null });
    await this.#runPass();
  }

  async #runPass(): Promise<void> {
    for (let isEnd = false; !isEnd;) {
      isEnd = await this.#retrying(() => this.#options.inTurn(() => this.#step()));
    }
  }

  /** Processes a piece. @returns whether it was the last */
  async #step(): Promise<boolean> {
    const { claim, signal } = this.#options;
    await this.#waitWhileHeld();
    const start_ms = performance.now();
    const { done, changed } = claim.record;
    const piece = await this.#piece();
    const examined = done + piece.examined;
    // The last piece stores no position: if it is repeated, its events still count once.
    const progress = piece.last === null ? { total: examined } : { done: examined, upTo: piece.last };
    claim.update({ changed: changed + piece.changed, ...progress });
    await sleep(Math.max(MIN_PAUSE_MS, performance.now() - start_ms), undefined, { signal });
    return piece.last === null;
  }

  async #piece(): Promise<Reclassified> {
    const { store, claim } = this.#options;
    const { from, upTo } = claim.record;
    let stop: unknown = null;
    try {
      return await store.reclassify({
        log: this.#key,
        from,
        after: upTo,
        classOf: async (events) => {
          try {
            await this.#throwIfFiltersChanged();
            const classes = await this.#classesOf(events);
            await claim.confirm();
            return classes;
          } catch (error) {
            stop = error;
            throw error;
          }
        },
      });
    } catch (error) {
      // A store reports any unknown error as one of its engine.
      throw stop ?? error;
    }
  }

  async #classesOf(events: readonly Classifiable[]): Promise<(string | null)[]> {
    const classes: (string | null)[] = [];
    for (const event of events) {
      if (classes.length % EVENTS_A_TURN === EVENTS_A_TURN - 1) await yieldToRequests();
      classes.push(await this.#classOf(event));
    }
    return classes;
  }

  /** Returns the fingerprint of the current filters. @throws LogDeleted */
  async #currentFingerprint(): Promise<string> {
    const { catalog } = this.#options;
    await catalog.refresh();
    if (catalog.log(this.#key) === null) throw new LogDeleted();
    const filters = catalog.classFilters(this.#key);
    if (this.#cached?.filters !== filters) this.#cached = { filters, fingerprint: await fingerprintFilters(filters) };
    return this.#cached.fingerprint;
  }

  async #throwIfFiltersChanged(): Promise<void> {
    if ((await this.#currentFingerprint()) !== this.#options.claim.record.filters) throw new FiltersChanged();
  }

  async #count(): Promise<number> {
    const { from } = this.#options.claim.record;
    const conditions: Condition[] = from === null ? [] : [{ kind: "number", field: "created", op: ">=", value: from }];
    const { total } = await this.#options.store.list({
      kind: "list",
      from: { kind: "events" },
      logs: [this.#key],
      where: { kind: "and", conditions },
      sort: [],
      skip: 0,
      take: 1,
      columns: null,
    });
    return total;
  }

  /**
   * Waits until the pipeline has passed the current end of the bus. By then the store holds
   * everything that was classified by earlier filters.
   * @returns false if that took longer than `limit_ms`
   */
  async #waitForPipeline(limit_ms: number): Promise<boolean> {
    const { bus, group, propagation_ms, signal } = this.#options;
    await sleep(propagation_ms, undefined, { signal });
    const start_ms = performance.now();
    const readLags = () => this.#retrying(() => bus.lag("events", group));
    const ends = new Map((await readLags()).map(({ partition, end }) => [partition, end]));
    for (;;) {
      const lags = await readLags();
      if (lags.every(({ partition, next }) => next >= (ends.get(partition) ?? 0))) return true;
      if (performance.now() - start_ms >= limit_ms) return false;
      await sleep(PIPELINE_POLL_MS, undefined, { signal });
    }
  }

  async #waitWhileHeld(): Promise<void> {
    const { isHeld, signal } = this.#options;
    while (isHeld()) await sleep(HELD_POLL_MS, undefined, { signal });
  }

  /** Retries without end while an engine is unavailable or busy. */
  async #retrying<T>(work: () => Promise<T>): Promise<T> {
    const { signal, log } = this.#options;
    for (let wait_ms = RETRY_FIRST_MS; ; wait_ms = Math.min(2 * wait_ms, RETRY_LAST_MS)) {
      signal.throwIfAborted();
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof LoggiaError) || error.retryAfter_s === null) throw error;
        log.warn({ err: error, key: this.#key, wait_ms }, "reclassification: an engine is unavailable, retrying");
        await sleep(wait_ms, undefined, { signal });
      }
    }
  }
}
