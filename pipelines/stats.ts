import type { StageName } from "./deadletters/codec.ts";

/** Counters of a pipeline since its start. They only rise; a redelivered event is counted again. */
export type PipelineStats = {
  /** Batches begun, acknowledged, and left for redelivery. */
  readonly batches: { readonly started: number; readonly acked: number; readonly failed: number };
  readonly records: number;
  readonly events: {
    /** Read from the bus. */
    readonly decoded: number;
    /** Durable in the store. */
    readonly done: number;
    /** Retries of events, alerts or dead letters. */
    readonly retried: number;
  };
  readonly alerts: number;
  /** Visits that are durable in the store. */
  readonly visits: number;
  /** Durable on topic `dead-letters`, by the stage that refused them. */
  readonly deadLetters: Readonly<Record<StageName, number>>;
  /** Cumulative histogram of events per write batch. The last bound is null (any number). */
  readonly writeSizes: readonly { readonly atMost: number | null; readonly count: number }[];
  /** Time spent in each stage, dead letters included, in milliseconds. */
  readonly busy_ms: Readonly<Record<StageName, number>>;
  /** Time of the last acknowledgement, in ms since the Unix epoch; null before the first. */
  readonly lastAck: number | null;
};

const NONE = {
  decode: 0,
  track: 0,
  delete: 0,
  enrich: 0,
  classify: 0,
  alert: 0,
  notify: 0,
  index: 0,
} as const satisfies Record<StageName, 0>;
const SIZE_BOUNDS = [1, 10, 100, 1_000, 5_000] as const;

export type StatsKeeper = {
  batch(what: "started" | "acked" | "failed"): void;
  records(count: number): void;
  /** Counts a write batch by its number of events. */
  writeBatch(events: number): void;
  done(count: number): void;
  retried(count: number): void;
  alerted(count: number): void;
  tracked(count: number): void;
  deadLettered(stage: StageName, count: number): void;
  busy(stage: StageName, ms: number): void;
  read(): PipelineStats;
};

export function createStats(): StatsKeeper {
  const batches = { started: 0, acked: 0, failed: 0 };
  const events = { decoded: 0, done: 0, retried: 0 };
  const deadLetters: Record<StageName, number> = { ...NONE };
  const busy_ms: Record<StageName, number> = { ...NONE };
  const sizes = [...SIZE_BOUNDS.map((atMost) => ({ atMost, count: 0 })), { atMost: null, count: 0 }];
  let records = 0;
  let alerts = 0;
  let visits = 0;
  let lastAck: number | null = null;
  return {
    batch: (what) => {
      batches[what] += 1;
      if (what === "acked") lastAck = Date.now();
    },
    records: (count) => void (records += count),
    writeBatch: (count) => {
      events.decoded += count;
      for (const size of sizes) if (size.atMost === null || count <= size.atMost) size.count += 1;
    },
    done: (count) => void (events.done += count),
    retried: (count) => void (events.retried += count),
    alerted: (count) => void (alerts += count),
    tracked: (count) => void (visits += count),
    deadLettered: (stage, count) => void (deadLetters[stage] += count),
    busy: (stage, ms) => void (busy_ms[stage] += ms),
    read: () =>
      structuredClone({ batches, records, events, alerts, visits, deadLetters, writeSizes: sizes, busy_ms, lastAck }),
  };
}
