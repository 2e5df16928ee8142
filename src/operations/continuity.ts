import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import type { Bus } from "../bus/bus.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { LoggiaError } from "../errors.ts";
import { UNEXPECTED_ERROR } from "../monitoring/appends.ts";
import type { Holds } from "../monitoring/holds.ts";
import type { Store, StorePart } from "../store/store.ts";
import { engineFaults, newForeignParts } from "./faults.ts";
import {
  type EngineName,
  ENGINES,
  type Marks,
  type MarksFile,
  marksOfState,
  type PartitionState,
  type EngineState,
} from "./marks.ts";

const TODO: Readonly<Record<EngineName, string>> = {
  bus:
    "bring back the old bus, or restore a backup; or run `loggia holds accept bus`: events that were not stored yet " +
    "stay missing",
  store:
    "run `loggia replay start`, which brings back what the bus still holds, or restore a backup; or run " +
    "`loggia holds accept store`: whatever is missing then stays missing",
  catalog:
    "restore a backup; or run `loggia holds accept catalog`, or `loggia admin accept-hold catalog` on the machine " +
    "itself where no account is left: accounts, logs and keys that are missing stay missing",
};

/** Suffix of the reason of a hold that a replay did not end. */
const REPLAYED = "; a replay has brought back what the bus holds, and no more";
const NOT_COMPARED = "its state has not been compared yet with the last known one";
const RETRY_MS = 1_000;
const REMOVAL_MS = 300_000;
/** Attempts at writing the marks, which other processes write too. */
const ATTEMPTS = 5;

export type ContinuityOptions = {
  readonly bus: Pick<Bus, "lag" | "offsetsAt" | "damage">;
  readonly store: Pick<Store, "nextOffset" | "parts" | "prepareEvents" | "writeEvents">;
  readonly catalog: Pick<Catalog, "accounts" | "logs" | "refresh">;
  readonly marks: MarksFile;
  /** Whether the store keeps the offsets up to which it holds the bus's records. */
  readonly keepsOffsets: boolean;
  readonly holds: Pick<Holds, "set" | "clear">;
  /** Consumer group of the pipeline. */
  readonly group: string;
  readonly log: Logger;
  readonly interval_ms: number;
  /** Delay before retrying a failed comparison if none has succeeded yet, in milliseconds. */
  readonly retry_ms?: number;
  /** Longest duration of a removal, in milliseconds. */
  readonly removal_ms?: number;
};

/**
 * Compares the engines with each other and with their stored marks, periodically. A mismatch holds
 * back readiness until a person accepts it, or until a replay has restored what the store lost.
 */
export type Continuity = AsyncDisposable & {
  /** Compares now: at startup, or after a replay may have replaced lost parts. */
  compare(): Promise<void>;
  /** Called after a replay of everything the bus holds. */
  replayed(): Promise<void>;
  /** Why the engines have not been compared yet, for readiness; null after the first comparison. */
  fault(): string | null;
  /** Resolves after the first comparison. */
  readonly compared: Promise<void>;
};

export function watchContinuity(options: ContinuityOptions): Continuity {
  const watch = new Watch(options);
  const closing = new AbortController();
  const running = watch.run(closing.signal);
  return {
    compare: () => watch.compare(),
    replayed: () => watch.replayed(),
    fault: () => watch.fault(),
    compared: watch.compared,
    async [Symbol.asyncDispose]() {
      closing.abort();
      await running;
      await watch.compare();
    },
  };
}

class Watch {
  readonly #options: ContinuityOptions;
  readonly #compared = Promise.withResolvers<void>();
  readonly compared = this.#compared.promise;
  /** Parts that still exist although retention announced their removal, and since when. */
  readonly #spared = new Map<string, number>();
  #acceptedDamage: string | null = null;
  #last: Promise<void> = Promise.resolve();
  #fault: string | null = NOT_COMPARED;

  constructor(options: ContinuityOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      const { interval_ms, retry_ms = RETRY_MS } = this.#options;
      const wait_ms = this.#fault === null ? interval_ms : Math.min(retry_ms, interval_ms);
      await sleep(wait_ms, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      await this.compare();
    }
  }

  fault(): string | null {
    return this.#fault;
  }

  compare(): Promise<void> {
    return this.#inTurn(() => this.#compare());
  }

  /** Accepts the current state of an engine as the new reference. */
  accept(engine: EngineName): Promise<void> {
    return this.#inTurn(() => this.#change((before) => this.#accepted(engine, before)));
  }

  /**
   * Ends a hold of the store, unless it lost more than a replay restores; a person has to accept
   * the rest.
   */
  replayed(): Promise<void> {
    return this.#inTurn(() =>
      this.#change(async (before) => {
        const origin = this.#options.keepsOffsets ? 1 : 0;
        const { partitions, parts } = await this.#read(null);
        const isWhole =
          partitions.every(({ first }) => first <= origin) &&
          before.lost.every((part) => part.isReplayed) &&
          parts.every(({ lacksLayout }) => lacksLayout !== true);
        if (isWhole) return this.#accepted("store", before);
        const why = before.pending.store;
        if (why === undefined || why.endsWith(REPLAYED)) return before;
        return { ...before, pending: { ...before.pending, store: why + REPLAYED } };
      }),
    );
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  /**
   * Never rejects: readiness reports unreachable engines, and the next comparison retries. Marks
   * are updated during a hold too, so that a further loss is compared with the latest state.
   */
  async #compare(): Promise<void> {
    const { marks, log } = this.#options;
    try {
      const before = await marks.read();
      const state = await this.#read(before);
      const faults = engineFaults(state, before);
      const pending = { ...faults, ...before?.pending };
      const isNew = state.lost.length > (before?.lost.length ?? 0) || newForeignParts(state, before).length > 0;
      if (faults.store !== undefined && isNew) pending.store = faults.store;
      const now = { ...marksOfState(state, before), pending };
      if (JSON.stringify(now) !== JSON.stringify(before)) await marks.write(now);
      this.#show(pending);
      this.#fault = null;
      this.#compared.resolve();
    } catch (error) {
      const why = `${NOT_COMPARED}: ${error instanceof LoggiaError ? error.message : UNEXPECTED_ERROR}`;
      // Comparisons are retried soon, so each reason is logged once.
      if (this.#fault !== why)
        log.warn({ err: error }, "the engines could not be compared with their stored marks; retrying");
      if (this.#fault !== null) this.#fault = why;
    }
  }

  async #change(change: (before: Marks) => Promise<Marks>): Promise<void> {
    const { marks } = this.#options;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const before = await marks.read();
      if (before === null) return;
      const now = await change(before);
      if (now === before || (await marks.write(now))) return this.#show(now.pending);
    }
    throw new LoggiaError("conflict", "Other processes are writing the marks of the engines; try again");
  }

  async #accepted(engine: EngineName, before: Marks): Promise<Marks> {
    const { store, keepsOffsets } = this.#options;
    if (!(engine in before.pending)) return before;
    const state = await this.#read(null);
    if (engine === "bus") this.#acceptedDamage = this.#options.bus.damage?.() ?? null;
    if (engine === "store" && keepsOffsets) {
      for (const { partition, acknowledged, covered, first } of state.partitions) {
        if (covered === null && acknowledged <= first) continue;
        const position = { topic: "events", partition, offset: acknowledged - 1 } as const;
        await store.writeEvents(store.prepareEvents(), position);
      }
    }
    const { [engine]: _, ...pending } = before.pending;
    const { ends, moment, catalog, catalogId, hasAccounts, hasEvents, parts } = state;
    const changes = {
      bus: { ends, moment },
      store: { hasEvents, parts, lost: [] },
      catalog: { catalog, catalogId, hasAccounts, mayLackAccounts: !hasAccounts },
    }[engine];
    return { ...before, ...changes, pending };
  }

  #show(pending: Marks["pending"]): void {
    const { holds } = this.#options;
    for (const name of ENGINES) {
      const why = pending[name];
      if (why === undefined) holds.clear(name);
      else {
        const blocks = name === "catalog" ? "catalog" : "store";
        holds.set({ name, why, todo: TODO[name], blocks, accept: () => this.accept(name) });
      }
    }
  }

  /** @param before marks to find changes since; null: there are none */
  async #read(before: Marks | null): Promise<EngineState> {
    const { bus, store, catalog, marks, keepsOffsets, group } = this.#options;
    const reached: PartitionState[] = [];
    for (const { partition, first, end, next } of await bus.lag("events", group)) {
      const covered = await store.nextOffset("events", partition);
      reached.push({ partition, first, end, acknowledged: next, covered });
    }
    // Read the ends again, last: events keep arriving, and the store must not seem ahead.
    const latest = new Map((await bus.lag("events", group)).map(({ partition, end }) => [partition, end]));
    const partitions = reached.map((found) => ({ ...found, end: latest.get(found.partition) ?? found.end }));
    const ends = Object.fromEntries(partitions.map(({ partition, end }) => [partition, end]));
    const isSame = JSON.stringify(before?.ends) === JSON.stringify(ends);
    const moment = (isSame ? before?.moment : null) ?? (await this.#moment());
    const logs = catalog.logs();
    const parts = (await store.parts?.()) ?? [];
    // Another process may have created the first account and taken events since the last refresh.
    if (catalog.accounts().length === 0) await catalog.refresh();
    return {
      partitions,
      keepsOffsets,
      ends,
      moment,
      damage: this.#damage(),
      // Read after the new moment, so that a change in between is noticed too.
      replaced: before === null ? null : await this.#replaced(before),
      ...(await marks.catalog()),
      hasAccounts: catalog.accounts().length > 0,
      hasEvents: keepsOffsets
        ? partitions.some(({ covered }) => covered !== null)
        : parts.some(({ isReplayed }) => isReplayed),
      isNeverEmpty: keepsOffsets || logs.length === 0 || logs.some(({ retentionDays }) => retentionDays === null),
      parts: parts.toSorted((a, b) => (a.place < b.place ? -1 : 1)),
      lost: before === null ? [] : await this.#lost(parts, before),
    };
  }

  /** Accepted damage is not reported again by this process. */
  #damage(): string | null {
    const found = this.#options.bus.damage?.() ?? null;
    return found === this.#acceptedDamage ? null : found;
  }

  /**
   * Returns a moment and its offsets. A wrong clock of the host may hide a loss, but never reports
   * one that did not happen.
   */
  async #moment(): Promise<Marks["moment"]> {
    const at = Date.now();
    const offsets = await this.#options.bus.offsetsAt?.("events", at);
    return offsets === undefined ? null : { at, offsets: Object.fromEntries(offsets) };
  }

  async #replaced({ moment }: Marks): Promise<EngineState["replaced"]> {
    if (moment === null) return null;
    const offsets = (await this.#options.bus.offsetsAt?.("events", moment.at)) ?? [];
    for (const [partition, offset] of offsets) {
      if (offset < (moment.offsets[partition] ?? 0)) return { partition, offset };
    }
    return null;
  }

  /** Returns the lost parts. Those lost before stay in the list until a person accepts them. */
  async #lost(parts: readonly StorePart[], before: Marks): Promise<StorePart[]> {
    const now = new Map(parts.map((part) => [part.place, part]));
    const known = new Set(before.lost.map(({ id }) => id));
    const missing = before.parts.filter(({ place, id, generation }) => {
      const part = now.get(place);
      return !known.has(id) && part?.id !== id && (part === undefined || part.generation <= generation);
    });
    // Read after the parts, so that every part removed by then has its note.
    const removed = parts.length === 0 && missing.length === 0 ? [] : await this.#options.marks.removed();
    await this.#forgetSpared(parts, removed);
    const wasRemoved = ({ place, id, generation }: StorePart): boolean =>
      removed.some((part) => part.id === id || (part.place === place && part.generation > generation));
    return [...before.lost, ...missing.filter((part) => !wasRemoved(part))];
  }

  /**
   * Deletes the notes of parts that still exist after the longest duration of a removal. Such a
   * note would hide a later loss of the part.
   */
  async #forgetSpared(parts: readonly StorePart[], removed: readonly StorePart[]): Promise<void> {
    const { marks, removal_ms = REMOVAL_MS } = this.#options;
    const there = new Set(parts.map(({ id }) => id));
    const spared = removed.filter(({ id }) => there.has(id));
    for (const id of this.#spared.keys()) if (!spared.some((part) => part.id === id)) this.#spared.delete(id);
    for (const { id } of spared) {
      const since_ms = this.#spared.get(id) ?? performance.now();
      this.#spared.set(id, since_ms);
      if (performance.now() - since_ms > removal_ms) await marks.forgetRemoved(id);
    }
  }
}
