import { Counter, Histogram, Registry } from "@prometheus-io/client";
import { stat } from "node:fs/promises";

import type { BusDisk } from "../bus/bus.ts";
import { STATUS_OF_CODE } from "../errors.ts";
import type { ErrorCode } from "../errors.ts";
import { REFUSALS } from "../ratelimit/rate-limiter.ts";
import type { LimitReason } from "../ratelimit/rate-limiter.ts";
import { EVICTION_REASONS } from "../http/limits/connections.ts";
import type { EvictionReason } from "../http/limits/connections.ts";
import type { Observer } from "../http/route.ts";
import { cached } from "./cached.ts";
import { readCounter, readCounters, readGauge, readGauges } from "./families.ts";
import { HOLDS } from "./holds.ts";
import type { Hold } from "./holds.ts";
import type { Lag } from "./lag.ts";
import type { EngineObserver, Write } from "./measured.ts";
import { listenerMetrics } from "./listener-metrics.ts";
import { notifierMetrics } from "./notifier-metrics.ts";
import type { NotifierCounts } from "./notifier-metrics.ts";
import { pipelineMetrics } from "./pipeline-metrics.ts";
import type { PipelineCounts } from "./pipeline-metrics.ts";
import { processRegistry } from "./process.ts";
import type { ListenerTally } from "../ingest/listeners/tally.ts";
import type { KeyCounts } from "../ingest/idempotency/keys/key-log.ts";
import type { PostObserver } from "../ingest/posting/post-observer.ts";
import type { WriteOutcome } from "../store/store.ts";
import { createTally } from "./tally.ts";

export type Metrics = {
  readonly posts: PostObserver;
  readonly engines: EngineObserver;
  readonly http: Observer;
  readonly refused: (reason: LimitReason) => void;
  readonly evicted: (reason: EvictionReason) => void;
  /** Returns the counts of a listener of another protocol. */
  readonly listener: (name: string) => ListenerTally;
  /** Starts reading the counts of a pipeline. */
  watchPipeline(read: () => PipelineCounts): void;
  /** Starts reading the counts of the notifier of a channel. */
  watchNotifier(kind: string, read: () => NotifierCounts): void;
  watchLag(read: () => Lag | null): void;
  watchHolds(read: () => readonly Hold[]): void;
  watchClock(ahead_s: () => number): void;
  /** Starts reading the number of open dead letters; null if it is unknown. */
  watchDeadLetters(read: () => Promise<number | null>): void;
  /** Starts reading whether an operator's job is running: `replay`, `backup`, `reclassify`. */
  watchJob(name: string, isRunning: () => boolean): void;
  /**
   * Starts reading the size of write-ahead logs: paths by the name of the database file. A missing
   * file counts as empty.
   */
  watchWals(logs: ReadonlyMap<string, string>): void;
  /** Starts reading the disk usage of the embedded bus. */
  watchBusDisk(read: () => Promise<BusDisk>): void;
  /** Starts reading what this process holds of the idempotency keys of a cluster. */
  watchKeys(read: () => KeyCounts): void;
  watchQueries(read: () => { readonly running: number; readonly waiting: number }): void;
  watchAnswers(read: () => { readonly running: number; readonly waiting: number }): void;
  /** Returns all metrics in the text format of Prometheus, at most a second old. */
  text(): Promise<string>;
};

export const METRICS_CONTENT_TYPE: string = Registry.PROMETHEUS_CONTENT_TYPE;

const CACHE_MS = 1_000;
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const RECORDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000];
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const OUTCOMES: readonly ("accepted" | ErrorCode)[] = ["accepted", ...(Object.keys(STATUS_OF_CODE) as ErrorCode[])];

/**
 * Creates the metrics of a process. No label contains anything sent by a client: routes, methods,
 * codes and kinds are fixed sets, and there are no labels for logs, keys, people or addresses.
 */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const gauge = (name: string, help: string, read: () => number | null | Promise<number | null>) =>
    readGauge(registry, `loggia_${name}`, help, read);
  let counts: (() => PipelineCounts) | null = null;
  return {
    posts: postMetrics(registry),
    engines: engineMetrics(registry),
    http: httpMetrics(registry),
    refused: countByReason(registry, "refused", "Requests refused with 429, by the limit exceeded", REFUSALS),
    evicted: countByReason(
      registry,
      "connections_cut",
      "Connections closed to free resources, by the resource in short supply",
      EVICTION_REASONS,
    ),
    listener: listenerMetrics(registry),
    watchPipeline(read) {
      pipelineMetrics(registry, read);
      counts = read;
    },
    watchNotifier: (kind, read) => notifierMetrics(registry, kind, read),
    watchLag(read) {
      gauge("pipeline_lag_records", "Records on the bus that are not in the store yet", () => read()?.records ?? null);
      gauge(
        "pipeline_lag_seconds",
        "Upper bound of the age of the oldest of these records",
        () => read()?.age_s ?? null,
      );
      gauge("pipeline_lag_events", "Events in these records, estimated from the average number per record", () => {
        const lag = read();
        return lag === null ? null : Math.ceil(lag.records * eventsPerRecord(counts?.() ?? null));
      });
    },
    watchClock: (ahead_s) =>
      void gauge(
        "clock_ahead_seconds",
        "How far the host's clock is ahead of the trusted clock; negative if behind",
        ahead_s,
      ),
    watchHolds(read) {
      readGauges(registry, "loggia_holds", "1 while this hold waits for an operator's decision", "name", () => {
        const held = new Set(read().map(({ name }) => name));
        return HOLDS.map((name) => [name, Number(held.has(name))] as const);
      });
    },
    watchDeadLetters(read) {
      gauge("dead_letters_open", "Dead letters that have not been redriven", read);
    },
    watchJob: (name, isRunning) =>
      void gauge(`${name}_running`, `1 while a ${name} job runs in this process`, () => Number(isRunning())),
    watchWals(logs) {
      if (logs.size === 0) return;
      const help = "Size of the write-ahead log of each database file";
      readGauges(registry, "loggia_wal_bytes", help, "file", () => Promise.all(Array.from(logs, sizeOfLog)));
    },
    watchBusDisk(read) {
      const disk = cached(CACHE_MS, read);
      gauge("bus_used_bytes", "Size of the records in the bus's file", async () => (await disk()).used_bytes);
      gauge("bus_free_bytes", "Free space in the bus's file", async () => (await disk()).free_bytes);
      gauge("bus_oldest_timestamp_seconds", "When the oldest record of events was appended", async () => {
        const { oldest } = await disk();
        return oldest === null ? null : oldest / 1000;
      });
    },
    watchKeys(read) {
      gauge("keys_held", "Idempotency keys that this process knows", () => read().keys);
      gauge("keys_bytes", "Memory of these keys", () => read().size_bytes);
      const help = "Idempotency keys forgotten before they were a day old, as their memory was full";
      readCounter(registry, "loggia_keys_forgotten_early_total", help, () => read().forgotten);
    },
    watchQueries(read) {
      gauge("queries_running", "Queries running", () => read().running);
      gauge("queries_waiting", "Queries waiting for the concurrency limit", () => read().waiting);
    },
    watchAnswers(read) {
      gauge("answers_bytes", "Memory reserved for responses until clients have read them", () => read().running);
      gauge("answers_waiting", "Requests waiting for memory for their responses", () => read().waiting);
    },
    text: cached(CACHE_MS, async () => {
      const texts = await Promise.all([registry.metrics(), processRegistry().metrics()]);
      return texts.join("\n");
    }),
  };
}

async function sizeOfLog([file, path]: readonly [string, string]): Promise<readonly [string, number]> {
  const found = await stat(path).catch(() => null);
  return [file, found?.size ?? 0];
}

/** Average so far; 1 if no pipeline runs in this process. */
function eventsPerRecord(counts: PipelineCounts | null): number {
  return counts === null || counts.records === 0 ? 1 : counts.events.decoded / counts.records;
}

function postMetrics(registry: Registry): PostObserver {
  const outcomes = createTally(OUTCOMES);
  let waiting = 0;
  let accepted = 0;
  let truncated = 0;
  const times = { unread: 0, expired: 0 };
  const help = "Requests to the posting listener, by outcome: accepted or the error code";
  readCounters(registry, "loggia_posts_total", help, "outcome", outcomes.read);
  readCounter(registry, "loggia_post_events_total", "Events and visits accepted", () => accepted);
  readCounter(registry, "loggia_post_events_cut_total", "Events that were truncated to the limits", () => truncated);
  const unread = "Events with a time that cannot be read, which got the time of their post";
  const expired = "Events accepted that are older than their log keeps, and therefore not stored";
  readCounter(registry, "loggia_post_times_unread_total", unread, () => times.unread);
  readCounter(registry, "loggia_post_events_expired_total", expired, () => times.expired);
  readGauge(registry, "loggia_posts_waiting", "Requests being read or waiting for the bus", () => waiting);
  return {
    began: () => void (waiting += 1),
    ended(outcome, events) {
      waiting -= 1;
      accepted += events;
      outcomes.add(outcome);
    },
    eventsCut: (events) => void (truncated += events),
    times(counts) {
      times.unread += counts.unread;
      times.expired += counts.expired;
    },
  };
}

function countByReason<Reason extends string>(registry: Registry, name: string, help: string, all: readonly Reason[]) {
  const counts = createTally(all);
  readCounters(registry, `loggia_${name}_total`, help, "reason", counts.read);
  return (reason: Reason): void => counts.add(reason);
}

function engineMetrics(registry: Registry): EngineObserver {
  const registers = [registry];
  const append = new Histogram({
    name: "loggia_bus_append_seconds",
    help: "Time until the records of one append are durable on the bus",
    labelNames: ["ok"],
    buckets: SECONDS,
    registers,
  });
  const appended = new Histogram({
    name: "loggia_bus_append_records",
    help: "Records per append",
    buckets: RECORDS,
    registers,
  });
  const write = new Histogram({
    name: "loggia_store_write_seconds",
    help: "Time of one bulk write to the store",
    labelNames: ["what"],
    buckets: SECONDS,
    registers,
  });
  const outcomes = createTally<string>(WRITES.flatMap((what) => KINDS.map((kind) => `${what} ${kind}`)));
  for (const what of WRITES) {
    const help = `Outcomes of writing ${what} to the store: done, retry or rejected`;
    readCounters(registry, `loggia_store_${what}_total`, help, "outcome", () =>
      KINDS.map((kind) => [kind, outcomes.read().get(`${what} ${kind}`) ?? 0] as const),
    );
  }
  const query = new Histogram({
    name: "loggia_query_seconds",
    help: "Time of one query to the store, by kind of query",
    labelNames: ["kind", "ok"],
    buckets: SECONDS,
    registers,
  });
  let unlisted = 0;
  const help = "Attribute names that the last list of a log's fields left out, beyond the most frequent ones";
  readGauge(registry, "loggia_attributes_unlisted", help, () => unlisted);
  return {
    append(records, duration_s, ok) {
      append.observe({ ok: String(ok) }, duration_s);
      appended.observe(records);
    },
    write(what, results, duration_s) {
      write.observe({ what }, duration_s);
      const counts = { done: 0, retry: 0, rejected: 0 };
      for (const { kind } of results) counts[kind] += 1;
      // Names are built once per kind rather than for each of thousands of outcomes.
      for (const kind of KINDS) outcomes.add(`${what} ${kind}`, counts[kind]);
    },
    query: (kind, duration_s, ok) => query.observe({ kind, ok: String(ok) }, duration_s),
    unlisted: (attributes) => void (unlisted = attributes),
  };
}

const WRITES = ["events", "alerts", "visits"] as const satisfies readonly Write[];
const KINDS = ["done", "retry", "rejected"] as const satisfies readonly WriteOutcome["kind"][];

function httpMetrics(registry: Registry): Observer {
  const duration = new Histogram({
    name: "loggia_http_request_seconds",
    help: "Duration of API requests, by route",
    labelNames: ["route", "method"],
    buckets: SECONDS,
    registers: [registry],
  });
  const answers = new Counter({
    name: "loggia_http_requests_total",
    help: "API responses, by route and status",
    labelNames: ["route", "method", "status"],
    registers: [registry],
  });
  return ({ route, method, status, duration_s }) => {
    const labels = { route: route ?? "none", method: METHODS.has(method) ? method : "other" };
    duration.observe(labels, duration_s);
    answers.inc({ ...labels, status: String(status) });
  };
}
