import type { estypes } from "@elastic/elasticsearch";
import { setTimeout as sleep } from "node:timers/promises";

import { median, show } from "../frame.ts";
import type { Bench, Benchmark } from "../frame.ts";
import { ask } from "../support/client.ts";
import { processorTimeOf } from "../support/engines.ts";
import type { Cluster } from "../support/engines.ts";
import { createRandom } from "../support/events.ts";
import { clearStorage, startService } from "../support/storage.ts";
import type { ServiceStorage } from "../support/storage.ts";
import { cpuTimeOfThreads } from "../support/processes.ts";
import type { ServiceProcess } from "../support/processes.ts";
import { waitUntilIdle } from "../support/idle.ts";
import type { Answerer } from "./contender.ts";
import { contenderOf } from "./loggia.ts";
import { ACCEPTED, countOf, FOUND, highestResident, load, MB, timeAll } from "./measure.ts";
import { compareProcesses } from "./two-of-each.ts";
import { QUESTIONS } from "./questions.ts";
import type { Row } from "./questions.ts";
import { fillTexts } from "./texts.ts";

/**
 * `yes` keeps the loaded events on the engines of `make up`, for the next run to query. That run
 * has no figures of loading.
 */
const { SCALE_KEEP = "" } = process.env;
const WARM_MS = 2_000;
const COST_MS = 2_000;
const STATS_MS = 1_100;
const MERGED_MS = 5_000;
const MERGE_TIMEOUT_MS = 900_000;
const POLL_MS = 500;

const INDEX: Row = { name: "index, primaries", unit: "MB", goal: "" };
const INDEX_BYTES: Row = { name: "index, bytes per event", unit: "bytes", goal: "" };
const MEMORY: Row = { name: "resident memory of the service, peak", unit: "MB", goal: "" };

type Column = { readonly head: string; readonly figures: ReadonlyMap<string, number> };

export const benchmark: Benchmark = {
  name: "scale-cluster",
  about:
    "scale on a cluster, and two processes of each role relative to one (SCALE_EVENTS: number of events; " +
    "SCALE_KEEP=yes: keep them on the engines of `make up`) | 1/100 and 1/10 of the events, and the bare DSL",
  kind: "cluster",
  isOptIn: true,
  async run(bench) {
    const count = countOf(bench);
    const columns: Column[] = [];
    for (const each of [count / 100, count / 10, count]) columns.push(...(await measure(bench, each)));
    const growth = (way: number, name: string): string => {
      const [first, last] = [columns[way]!, columns.at(way - 2)!].map(({ figures }) => figures.get(name) ?? NaN);
      return Number.isNaN(last! / first!) ? "–" : `${show(last! / first!, "×")} ×`;
    };
    bench.report.table([
      ["", ...columns.map(({ head }) => head), "growth of Loggia", "growth of the bare DSL"],
      ...[...QUESTIONS, ACCEPTED, FOUND, INDEX, INDEX_BYTES, MEMORY].map(({ name, unit }) => [
        name,
        ...columns.map(({ figures }) => (figures.has(name) ? `${show(figures.get(name)!, unit)} ${unit}` : "–")),
        growth(0, name),
        growth(1, name),
      ]),
    ]);
    await compareProcesses(bench);
  },
};

/** Loads the storage if needed, and asks Loggia and Elasticsearch all queries there in turn. */
async function measure(bench: Bench, count: number): Promise<readonly [ours: Column, bare: Column]> {
  const cluster = await bench.world.cluster();
  const isKept = SCALE_KEEP === "yes";
  const namespace = isKept ? `kept-scale-${count}-events` : cluster.namespace();
  const storage: ServiceStorage & { kind: "cluster" } = { kind: "cluster", namespace, cluster };
  const [documents, texts] = [`${namespace}-events`, `${namespace}-texts`];
  const [ours, bare] = [new Map<string, number>(), new Map<string, number>()];
  await using closing = new AsyncDisposableStack();
  if (!isKept) closing.defer(() => clearStorage(storage));
  else if ((await countIn(cluster, texts)) !== count) await clearStorage(storage);
  const service = closing.use(await startService(storage));
  // The texts are loaded last, so if they are complete, everything is.
  if ((await countIn(cluster, texts)) !== count) await fill(bench, { storage, service, texts, count, ours, bare });
  const { client } = cluster;
  // Otherwise groups of the same documents would be answered from the cache.
  await client.indices.putSettings({ index: [documents, texts], settings: { "index.requests.cache.enable": false } });
  await waitForMerges(cluster, [documents, texts]);
  const answerers: Answerer[] = [contenderOf(service), bareAnswerer(cluster, { documents, texts })];
  for (const question of QUESTIONS) {
    /** Measures processor time, which load on the machine affects less than duration. */
    const costOf = async ({ ask }: Answerer): Promise<{ service_ms: number; engine_ms: number }> => {
      const random = createRandom(count + 1);
      // Elasticsearch's figures are up to a second old.
      await sleep(STATS_MS);
      const [service_ms, engine_ms] = [service.cpuTime_ms(), await processorTimeOf(cluster)];
      let asked = 0;
      const end_ms = performance.now() + (bench.quick ? 0 : COST_MS);
      do await ask(question.draw(random, count));
      while ((asked += 1) < 10 || performance.now() < end_ms);
      const busy_ms = service.cpuTime_ms() - service_ms;
      await sleep(STATS_MS);
      return {
        service_ms: busy_ms / asked,
        engine_ms: ((await processorTimeOf(cluster)) - engine_ms) / asked,
      };
    };
    const timed = await timeAll(bench, answerers, question, { count, warm_ms: WARM_MS });
    const [mine, limit] = timed;
    if (mine!.records !== limit!.records)
      throw new Error(`"${question.name}": Loggia finds ${mine!.records} records, the bare DSL ${limit!.records}`);
    const { name, unit, mostBesideBare } = question;
    const target = mostBesideBare !== undefined && { target: { kind: "at most", value: mostBesideBare } as const };
    bench.report.ratio({
      name: `${name}, of ${count.toLocaleString("en-US")}`,
      unit,
      ours: mine!.figures,
      limit: limit!.figures,
      ...target,
    });
    const [cost, bareCost] = [await costOf(answerers[0]!), await costOf(answerers[1]!)];
    bench.report.line(
      `    CPU time: the service ${show(cost.service_ms, unit)} and ` +
        `Elasticsearch ${show(cost.engine_ms, unit)} ${unit}` +
        `, for the bare DSL Elasticsearch ${show(bareCost.engine_ms, unit)} ${unit}`,
    );
    ours.set(name, median(mine!.figures.rounds));
    bare.set(name, median(limit!.figures.rounds));
  }
  for (const [figures, index] of [
    [ours, documents],
    [bare, texts],
  ] as const) {
    const bytes = await sizeOf(cluster, index);
    figures.set(INDEX.name, bytes / MB).set(INDEX_BYTES.name, bytes / count);
  }
  ours.set(MEMORY.name, highestResident(service.pid) / MB);
  const head = count.toLocaleString("en-US");
  return [
    { head: `Loggia, ${head}`, figures: ours },
    { head: `bare, ${head}`, figures: bare },
  ];
}

type Filling = {
  readonly storage: ServiceStorage & { kind: "cluster" };
  readonly service: ServiceProcess;
  readonly texts: string;
  readonly count: number;
  readonly ours: Map<string, number>;
  readonly bare: Map<string, number>;
};

/** Loads the service and the index of texts, and reports the processor time per event. */
async function fill(bench: Bench, { storage, service, texts, count, ours, bare }: Filling): Promise<void> {
  const { cluster } = storage;
  const before = [cpuTimeOfThreads(service.pid), await processorTimeOf(cluster)] as const;
  await load(bench, contenderOf(service), count, ours);
  await waitForMerges(cluster, [`${storage.namespace}-events`]);
  const after = [cpuTimeOfThreads(service.pid), await processorTimeOf(cluster)] as const;
  const { total } = await ask(service.apiPort, "/events", { pagesize: "1", total: "exact" });
  if (total !== count) throw new Error(`the service has ${total} events, not the ${count} that were posted`);
  const perEvent = (ms: number): string => `${((ms * 1000) / count).toFixed(2)} µs`;
  bench.report.line(
    `  CPU time per event while loading ${count.toLocaleString("en-US")}: ` +
      `main thread ${perEvent(after[0].main_ms - before[0].main_ms)}, ` +
      `other threads ${perEvent(after[0].others_ms - before[0].others_ms)}, Elasticsearch ${perEvent(after[1] - before[1])}`,
  );
  bare.set(FOUND.name, await fillTexts(cluster.client, texts, count));
}

function bareAnswerer({ client }: Cluster, indices: Record<"documents" | "texts", string>): Answerer {
  return {
    name: "bare DSL",
    async ask({ elasticsearch: { of, search } }) {
      const answer = await client.search({ index: indices[of], ...search });
      const groups = answer.aggregations?.["groups"] as { buckets: unknown[] } | undefined;
      return () => (groups === undefined ? answer.hits.hits : groups.buckets).length;
    },
  };
}

/** Returns the number of documents of an index; NaN if there is none. */
async function countIn({ client }: Cluster, index: string): Promise<number> {
  if (!(await client.indices.exists({ index }))) return NaN;
  return (await client.count({ index })).count;
}

/** Waits until merging ends. No merge is forced, so that the index is as in daily use. */
async function waitForMerges({ client }: Cluster, indices: string[]): Promise<void> {
  await client.indices.flush({ index: indices });
  const deadline_ms = performance.now() + MERGE_TIMEOUT_MS;
  for (let idle_ms = 0; idle_ms < MERGED_MS; idle_ms += POLL_MS) {
    const { _all: all } = await client.indices.stats({ index: indices, metric: "merge" });
    if ((all.primaries?.merges?.current ?? 0) > 0) idle_ms = -POLL_MS;
    if (performance.now() > deadline_ms) throw new Error(`Elasticsearch is still merging after ${MERGE_TIMEOUT_MS} ms`);
    await sleep(POLL_MS);
  }
  await waitUntilIdle(2_000);
}

async function sizeOf({ client }: Cluster, index: string): Promise<number> {
  const { _all: all }: estypes.IndicesStatsResponse = await client.indices.stats({ index, metric: "store" });
  return all.primaries?.store?.size_in_bytes ?? NaN;
}
