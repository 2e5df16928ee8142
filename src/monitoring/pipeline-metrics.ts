import type { Histogram, MetricValueWithName, Registry } from "@prometheus-io/client";

import { readCounter, readCounters, readGauge } from "./families.ts";

/** Counts of a pipeline since it started; see `pipelines/stats.ts`. */
export type PipelineCounts = {
  readonly batches: { readonly started: number; readonly acked: number; readonly failed: number };
  readonly records: number;
  readonly events: { readonly decoded: number; readonly done: number; readonly retried: number };
  readonly alerts: number;
  readonly visits: number;
  readonly deadLetters: Readonly<Record<string, number>>;
  readonly writeSizes: readonly { readonly atMost: number | null; readonly count: number }[];
  readonly busy_ms: Readonly<Record<string, number>>;
  readonly lastAck: number | null;
};

/** Registers the counts of a pipeline as metrics, read when metrics are collected. */
export function pipelineMetrics(registry: Registry, read: () => PipelineCounts): void {
  const count = (name: string, help: string, pick: (counts: PipelineCounts) => number) =>
    readCounter(registry, `loggia_${name}`, help, () => pick(read()));
  const counts = (name: string, help: string, label: string, pick: (counts: PipelineCounts) => object) =>
    readCounters(registry, `loggia_${name}`, help, label, () => Object.entries(pick(read())));
  count("pipeline_records_total", "Records taken from the bus", ({ records }) => records);
  count("pipeline_events_total", "Events taken from the bus", ({ events }) => events.decoded);
  count("pipeline_stored_total", "Events that are durable in the store", ({ events }) => events.done);
  count("pipeline_retries_total", "Items written again after a failed attempt", ({ events }) => events.retried);
  count("pipeline_alerts_total", "Alerts raised", ({ alerts }) => alerts);
  count("pipeline_visits_total", "Visits that are durable in the store", ({ visits }) => visits);
  counts(
    "pipeline_batches_total",
    "Batches started, acknowledged, and failed, which are redelivered",
    "state",
    ({ batches }) => batches,
  );
  counts(
    "dead_letters_total",
    "Dead letters, by the stage that rejected them",
    "stage",
    ({ deadLetters }) => deadLetters,
  );
  counts("pipeline_busy_seconds_total", "Time spent in each stage", "stage", ({ busy_ms }) =>
    Object.fromEntries(Object.entries(busy_ms).map(([stage, ms]) => [stage, ms / 1000])),
  );
  batchSizes(registry, read);
  const help = "Time of the last acknowledged batch since the Unix epoch; 0 before the first";
  readGauge(registry, "loggia_pipeline_last_ack_timestamp_seconds", help, () => (read().lastAck ?? 0) / 1000);
}

/**
 * Registers the number of events in each chunk as a histogram, which the pipeline itself counts.
 */
function batchSizes(registry: Registry, read: () => PipelineCounts): void {
  const name = "loggia_pipeline_batch_events";
  const family = {
    name,
    get() {
      const { writeSizes, events } = read();
      const values: MetricValueWithName<string>[] = writeSizes.map(({ atMost, count }) => ({
        metricName: `${name}_bucket`,
        labels: { le: atMost === null ? "+Inf" : String(atMost) },
        value: count,
      }));
      values.push({ metricName: `${name}_sum`, labels: {}, value: events.decoded });
      values.push({ metricName: `${name}_count`, labels: {}, value: writeSizes.at(-1)?.count ?? 0 });
      return Promise.resolve({
        name,
        help: "Events processed by the stages at once",
        type: "histogram",
        values,
      });
    },
  };
  // The registry needs only these members, although its types require one of its own classes.
  registry.registerMetric(family as unknown as Histogram);
}
