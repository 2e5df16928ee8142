import type { estypes } from "@elastic/elasticsearch";
import { request } from "node:http";

import { interleaved } from "./frame.ts";
import type { Bench, Benchmark, Variant } from "./frame.ts";
import type { Dataset } from "./support/datasets.ts";
import { API_KEY, LOG } from "./support/events.ts";
import { isLog, ROW_COLUMNS } from "./support/questions.ts";

const LEAST_PER_SECOND = { embedded: 60_000, cluster: 20_000 } as const;
const COUNT = { embedded: 200_000, cluster: 60_000 } as const;
const PAGE = 5_000;
const SHARE = { kind: "at least", value: 0.8 } as const;
const COLUMNS_OF_ATTRIBUTES = "host, route, status, duration_ms, trace_id";

export const benchmark: Benchmark = {
  name: "export",
  about:
    "200,000 of 1,000,000 events (60,000 on a cluster) as NDJSON | reading them from the bare engine, JSON.stringify",
  async run(bench) {
    const { kind } = bench.world;
    const dataset = await bench.world.dataset(bench.quick ? 10_000 : 1_000_000, "attributes");
    const count = Math.min(COUNT[kind], dataset.count);
    for (const attributes of [false, true]) await compare(bench, dataset, { count, attributes });
  },
};

type Export = { readonly count: number; readonly attributes: boolean };

async function compare({ report, quick }: Bench, dataset: Dataset, asked: Export): Promise<void> {
  const { kind } = dataset.storage;
  const bare = kind === "embedded" ? walkDuckdb : walkElasticsearch;
  const variants: Variant[] = [
    { name: kind === "embedded" ? "bare DuckDB" : "bare Elasticsearch", once: () => rate(dataset, asked, bare) },
    { name: "Loggia over HTTP", once: () => rate(dataset, asked, readExport) },
  ];
  if (!quick) await interleaved(variants, { least: 1 });
  const [limit, ours] = await interleaved(variants, { least: quick ? 1 : 3 });
  const name = `events exported${asked.attributes ? " with attributes" : ""}, ${kind}`;
  report.ratio({ name, unit: "/s", ours: ours!, limit: limit!, target: SHARE });
  const target = { kind: "at least", value: LEAST_PER_SECOND[kind] } as const;
  report.figure({ name, unit: "/s", ours: ours!, target });
}

/** Returns the number of lines. */
type Walk = (dataset: Dataset, asked: Export) => Promise<number>;

/** Returns events per second. @throws Error if events are missing */
async function rate(dataset: Dataset, asked: Export, walk: Walk): Promise<number> {
  const start_ms = performance.now();
  const lines = await walk(dataset, asked);
  const took_s = (performance.now() - start_ms) / 1_000;
  if (lines !== asked.count) throw new Error(`${lines} of ${asked.count} events were exported`);
  return lines / took_s;
}

async function readExport({ service }: Dataset, { count, attributes }: Export): Promise<number> {
  const query = new URLSearchParams({ query: `GET events TAKE ${count}`, apikey: API_KEY });
  if (attributes) query.set("attributes", "true");
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const path = `/1/logs/${LOG}/export?${query.toString()}`;
  const asked = request({ host: "127.0.0.1", port: service.apiPort, path }, (response) => {
    let lines = 0;
    response.on("data", (chunk: Buffer) => (lines += linesIn(chunk)));
    response.on("error", reject);
    response.on("end", () => {
      if (response.statusCode === 200) resolve(lines);
      else reject(new Error(`the export returned status ${response.statusCode}`));
    });
  });
  asked.on("error", reject);
  asked.end();
  return promise;
}

function linesIn(chunk: Buffer): number {
  let lines = 0;
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
  return lines;
}

/** Serializes rows to JSON lines, one string per page, and counts the lines. */
function linesOf(rows: readonly object[]): number {
  return linesIn(Buffer.from(rows.map((row) => `${JSON.stringify(row, writable)}\n`).join("")));
}

function writable(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

async function walkDuckdb({ bare }: Dataset, { count, attributes }: Export): Promise<number> {
  const columns = attributes ? `${ROW_COLUMNS}, ${COLUMNS_OF_ATTRIBUTES}` : ROW_COLUMNS;
  const sql = `select ${columns} from events where log = '${LOG}' order by created, id_hi, id_lo limit ${count}`;
  let lines = 0;
  for await (const rows of bare.duckdbRows(sql)) lines += linesOf(rows);
  return lines;
}

async function walkElasticsearch({ bare }: Dataset, { count, attributes }: Export): Promise<number> {
  const excludes = attributes ? [] : COLUMNS_OF_ATTRIBUTES.split(", ");
  let lines = 0;
  let after: estypes.SortResults | undefined;
  while (lines < count) {
    const { hits } = await bare.elasticsearch({
      query: isLog(),
      sort: [{ created: "asc" }, { id: "asc" }],
      size: Math.min(PAGE, count - lines),
      track_total_hits: false,
      ...(excludes.length > 0 && { _source: { excludes } }),
      ...(after !== undefined && { search_after: after }),
    });
    if (hits.hits.length === 0) break;
    lines += linesOf(hits.hits.map(({ _source: source }) => source as object));
    after = hits.hits.at(-1)!.sort;
  }
  return lines;
}
