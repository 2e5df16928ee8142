import { Counter, Gauge } from "@prometheus-io/client";
import type { Histogram, MetricValueWithName, Registry } from "@prometheus-io/client";

/** What a pipeline has counted since it started, see `pipelines/stats.ts`. */
export type PipelineCounts = {
  readonly batches: { readonly started: number; readonly acked: number; readonly failed: number };
  readonly records: number;
  readonly events: { readonly decoded: number; readonly done: number; readonly retried: number };
  readonly alerts: number;
  readonly visits: number;
  readonly deadLetters: Readonly<Record<string, number>>;
  readonly sliceSizes: readonly { readonly atMost: number | null; readonly count: number }[];
  readonly busy_ms: Readonly<Record<string, number>>;
  readonly lastAck: number | null;
};

/** The counts of a pipeline as metrics, read when somebody asks for them. */
export function pipelineMetrics(registry: Registry, read: () => PipelineCounts): void {
  const counter = (name: string, help: string, count: (counts: PipelineCounts) => number) =>
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(count(read()));
      },
    });
  const labelled = (
    name: string,
    help: string,
    label: string,
    counts: (counts: PipelineCounts) => Readonly<Record<string, number>>,
  ) =>
    new Counter({
      name,
      help,
      labelNames: [label],
      registers: [registry],
      collect() {
        this.reset();
        for (const [value, count] of Object.entries(counts(read()))) this.inc({ [label]: value }, count);
      },
    });
  counter("loggia_pipeline_records_total", "Records taken from the bus", ({ records }) => records);
  counter("loggia_pipeline_events_total", "Events taken from the bus", ({ events }) => events.decoded);
  counter("loggia_pipeline_stored_total", "Events that are durable in the store", ({ events }) => events.done);
  counter(
    "loggia_pipeline_retries_total",
    "Tries beyond the first, of events, alerts or dead letters",
    ({ events }) => events.retried,
  );
  counter("loggia_pipeline_alerts_total", "Alerts raised", ({ alerts }) => alerts);
  counter("loggia_pipeline_visits_total", "Visits that are durable in the store", ({ visits }) => visits);
  labelled(
    "loggia_pipeline_batches_total",
    "Batches begun, acknowledged, and left to be delivered again",
    "state",
    ({ batches }) => batches,
  );
  labelled(
    "loggia_dead_letters_total",
    "What became a dead letter, by the stage that refused it",
    "stage",
    ({ deadLetters }) => deadLetters,
  );
  labelled("loggia_pipeline_busy_seconds_total", "Time spent in each stage", "stage", ({ busy_ms }) =>
    Object.fromEntries(Object.entries(busy_ms).map(([stage, ms]) => [stage, ms / 1000])),
  );
  batchSizes(registry, read);
  new Gauge({
    name: "loggia_pipeline_last_ack_timestamp_seconds",
    help: "When the last batch was acknowledged; 0 before the first",
    registers: [registry],
    collect() {
      this.set((read().lastAck ?? 0) / 1000);
    },
  });
}

/** How many events went through the stages at a time. The pipeline keeps a histogram of its own, which needs no more than its name here. */
function batchSizes(registry: Registry, read: () => PipelineCounts): void {
  const name = "loggia_pipeline_batch_events";
  const family = {
    name,
    get() {
      const { sliceSizes, events } = read();
      const values: MetricValueWithName<string>[] = sliceSizes.map(({ atMost, count }) => ({
        metricName: `${name}_bucket`,
        labels: { le: atMost === null ? "+Inf" : String(atMost) },
        value: count,
      }));
      values.push({ metricName: `${name}_sum`, labels: {}, value: events.decoded });
      values.push({ metricName: `${name}_count`, labels: {}, value: sliceSizes.at(-1)?.count ?? 0 });
      return Promise.resolve({
        name,
        help: "Events that went through the stages at a time",
        type: "histogram",
        values,
      });
    },
  };
  // The registry asks no more of a metric than this, though its types name its own classes alone.
  registry.registerMetric(family as unknown as Histogram);
}
