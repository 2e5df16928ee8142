import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import type { Bus } from "../bus/bus.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { HoldName, Holds } from "../monitoring/holds.ts";
import { EVERYTHING } from "../query/plan.ts";
import type { Store } from "../store/store.ts";

/** What was last known of the engines. Kept beside them, so that an engine that lost something does not agree with it. */
export type Marks = {
  /** The end of the topic of events, by partition. */
  readonly ends: Readonly<Record<string, number>>;
  /** How far the catalog had been written; null where that can't be told. */
  readonly catalog: number | null;
  readonly hasAccounts: boolean;
  readonly hasEvents: boolean;
  /** What did not fit and waits for a decision, with the reason. */
  readonly pending: Readonly<Partial<Record<Part, string>>>;
};

export type MarksFile = {
  read(): Promise<Marks | null>;
  write(marks: Marks): Promise<void>;
  /** A number that rises with each write to the catalog; null where there is none. */
  catalogVersion(): Promise<number | null>;
};

type Part = Extract<HoldName, "bus" | "store" | "catalog">;
const PARTS: readonly Part[] = ["bus", "store", "catalog"];

const TODO: Readonly<Record<Part, string>> = {
  bus: "bring back the bus or a backup; or accept with `loggia holds accept bus` that events may be missing",
  store:
    "`loggia replay --from start`, or restore a backup; or accept with `loggia holds accept store` what is missing",
  catalog: "restore a backup; or accept with `loggia holds accept catalog` that accounts, logs or keys may be missing",
};

export type ContinuityOptions = {
  readonly bus: Pick<Bus, "lag">;
  readonly store: Pick<Store, "nextOffset" | "list" | "prepareEvents" | "writeEvents">;
  readonly catalog: Pick<Catalog, "accounts" | "logs">;
  readonly marks: MarksFile;
  /** Whether the store keeps the offsets that it covers. Of one that does not, emptiness alone can be seen. */
  readonly keepsOffsets: boolean;
  readonly holds: Pick<Holds, "set" | "clear">;
  /** The group of the pipeline. */
  readonly group: string;
  readonly log: Logger;
  readonly interval_ms: number;
};

/**
 * Compares what the engines hold with each other and with what was known of them before, at the start and from then on.
 * What does not fit holds readiness back until a person decides, or a replay has brought back what the store had lost.
 */
export type Continuity = AsyncDisposable & {
  /** A replay of all that the bus holds has ended. */
  replayed(): Promise<void>;
};

export async function watchContinuity(options: ContinuityOptions): Promise<Continuity> {
  const watch = new Watch(options);
  await watch.look();
  const closing = new AbortController();
  const running = watch.run(closing.signal);
  return {
    replayed: () => watch.accept("store"),
    async [Symbol.asyncDispose]() {
      closing.abort();
      await running;
      await watch.look();
    },
  };
}

/** Of one partition of the topic of events. */
type Found = {
  readonly partition: number;
  readonly first: number;
  readonly end: number;
  /** What the bus knows that the pipeline has acknowledged. */
  readonly acknowledged: number;
  /** What the store itself says that it covers; null where it says nothing. */
  readonly covered: number | null;
};

type State = Omit<Marks, "pending"> & {
  readonly partitions: readonly Found[];
  /** Whether an empty store is one that lost something: it keeps offsets, or a log keeps its events for ever. */
  readonly isNeverEmpty: boolean;
};

class Watch {
  readonly #options: ContinuityOptions;

  constructor(options: ContinuityOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.#options.interval_ms, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      await this.look();
    }
  }

  /** Never rejects: engines that are away are told of by readiness, and looked at again. */
  async look(): Promise<void> {
    const { marks, log } = this.#options;
    try {
      const before = await marks.read();
      const state = await this.#read();
      const pending = { ...faultsOf(state, before), ...before?.pending };
      const isHeld = Object.keys(pending).length > 0;
      const now = isHeld && before !== null ? { ...before, pending } : { ...known(state), pending };
      if (JSON.stringify(now) !== JSON.stringify(before)) await marks.write(now);
      this.#show(pending);
    } catch (error) {
      log.warn({ err: error }, "the engines' marks could not be compared; they will be compared again");
    }
  }

  /** What is there now is what is known from now on of this part. */
  async accept(part: Part): Promise<void> {
    const { marks, store } = this.#options;
    const before = await marks.read();
    if (before === null || !(part in before.pending)) return;
    const state = await this.#read();
    if (part === "store") {
      for (const { partition, acknowledged, covered, first } of state.partitions) {
        if (covered === null && acknowledged <= first) continue;
        const position = { topic: "events", partition, offset: acknowledged - 1 } as const;
        await store.writeEvents(store.prepareEvents(), position);
      }
    }
    const { [part]: _, ...pending } = before.pending;
    const { ends, catalog, hasAccounts, hasEvents } = state;
    const changes = { bus: { ends }, store: { hasEvents }, catalog: { catalog, hasAccounts } }[part];
    await marks.write({ ...before, ...changes, pending });
    this.#show(pending);
  }

  #show(pending: Marks["pending"]): void {
    const { holds } = this.#options;
    for (const name of PARTS) {
      const why = pending[name];
      if (why === undefined) holds.clear(name);
      else {
        const blocks = name === "catalog" ? "catalog" : "store";
        holds.set({ name, why, todo: TODO[name], blocks, accept: () => this.accept(name) });
      }
    }
  }

  async #read(): Promise<State> {
    const { bus, store, catalog, marks, keepsOffsets, group } = this.#options;
    const reached: Found[] = [];
    for (const { partition, first, end, next } of await bus.lag("events", group)) {
      const covered = await store.nextOffset("events", partition);
      reached.push({ partition, first, end, acknowledged: next, covered });
    }
    // Ends are read again, last: events are taken meanwhile, and the store must not seem to be ahead of the bus.
    const ends = new Map((await bus.lag("events", group)).map(({ partition, end }) => [partition, end]));
    const partitions = reached.map((found) => ({ ...found, end: ends.get(found.partition) ?? found.end }));
    const logs = catalog.logs();
    return {
      partitions,
      ends: Object.fromEntries(partitions.map(({ partition, end }) => [partition, end])),
      catalog: await marks.catalogVersion(),
      hasAccounts: catalog.accounts().length > 0,
      hasEvents: keepsOffsets ? partitions.some(({ covered }) => covered !== null) : await hasEvents(store, catalog),
      isNeverEmpty: keepsOffsets || logs.length === 0 || logs.some(({ retentionDays }) => retentionDays === null),
    };
  }
}

function known({ ends, catalog, hasAccounts, hasEvents }: State): Omit<Marks, "pending"> {
  return { ends, catalog, hasAccounts, hasEvents };
}

/** What does not fit, and why. */
function faultsOf(state: State, before: Marks | null): Partial<Record<Part, string>> {
  const faults: Partial<Record<Part, string>> = {};
  for (const { partition, first, end, acknowledged, covered } of state.partitions) {
    const ended = Math.max(before?.ends[partition] ?? 0, covered ?? 0, acknowledged);
    if (end < ended) faults.bus = `the bus ends at record ${end}, and reached ${ended} before: it was lost or replaced`;
    if (covered !== null && covered < first && covered < acknowledged) {
      faults.store = `the store ends at record ${covered}, and the bus begins at ${first}: what lies between is missing`;
    }
    const isMissing = acknowledged > first && !state.hasEvents && state.isNeverEmpty;
    if (covered === null && isMissing && before?.hasEvents !== false) {
      faults.store = `the store is empty, and was given what the bus holds up to record ${acknowledged}`;
    }
  }
  if (before?.hasEvents === true && !state.hasEvents && state.isNeverEmpty) {
    faults.store ??= "the store is empty, and held events before";
  }
  const isUsed = state.partitions.some(({ first, end }) => end > first);
  const version = before?.catalog ?? null;
  if (!state.hasAccounts && (before?.hasAccounts ?? isUsed)) {
    faults.catalog = "the catalog holds no accounts, and the bus holds events";
  } else if (version !== null && state.catalog !== null && state.catalog < version) {
    faults.catalog = `the catalog ends at change ${state.catalog}, and reached ${version} before`;
  }
  return faults;
}

async function hasEvents(store: Pick<Store, "list">, catalog: Pick<Catalog, "logs">): Promise<boolean> {
  const logs = catalog.logs().map(({ key }) => key);
  if (logs.length === 0) return false;
  const all = {
    kind: "list",
    from: { kind: "events" },
    logs,
    where: EVERYTHING,
    sort: [],
    skip: 0,
    columns: null,
  } as const;
  return (await store.list({ ...all, take: 1 })).total > 0;
}
