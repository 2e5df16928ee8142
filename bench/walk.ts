import { median, quantile, show, time_ms } from "./frame.ts";
import type { Bench, Benchmark } from "./frame.ts";
import { ask } from "./support/client.ts";
import type { Dataset } from "./support/datasets.ts";

const PAGE = 500;
/** Maximum memory. Embedded, DuckDB is part of the process and may use 512 MB. */
const MOST_MB = { embedded: 800, cluster: 350 } as const;
/** Maximum growth of the process from the way there to the way back, with DuckDB's cache full. */
const FLAT = { kind: "at most", value: 1.1 } as const;

const MANY = 1_000_000;
/** Number of events in a complete run. A million take two minutes embedded, ten on a cluster. */
const FEWER = { embedded: MANY / 2, cluster: MANY / 10 } as const;

type Order = "asc" | "desc";
/** Duration of each page, and resident memory after it. */
type Walk = { readonly pages_ms: number[]; readonly resident_mb: number[] };

export const benchmark: Benchmark = {
  name: "walk",
  about:
    "all pages of 500 of 1,000,000 events, forwards and backwards " +
    "(500,000, on a cluster 100,000, unless run by name), each event once and in order " +
    "| resident memory of the service",
  async run(bench) {
    const { kind } = bench.world;
    const dataset = await bench.world.dataset(bench.quick ? 10_000 : bench.named ? MANY : FEWER[kind]);
    const forwards = await walk(dataset, "asc");
    reportWalk(bench, dataset, "forwards", forwards);
    const backwards = await walk(dataset, "desc");
    reportWalk(bench, dataset, "backwards", backwards);
    const growth = { name: kind, rounds: [median(backwards.resident_mb) / median(forwards.resident_mb)] };
    // With fewer events a process is still growing.
    const target = dataset.count === MANY ? { target: FLAT } : {};
    bench.report.figure({ name: `memory backwards relative to forwards, ${kind}`, unit: "×", ours: growth, ...target });
  },
};

/** Reads all pages. @throws Error if an event is missing, repeated or out of order */
async function walk(dataset: Dataset, order: Order): Promise<Walk> {
  const { service, count } = dataset;
  const walked: Walk = { pages_ms: [], resident_mb: [] };
  let seen = 0;
  let last: readonly [created: number, id: string] | null = null;
  for (let page = 1; (page - 1) * PAGE < count; page++) {
    const parameters = { pagesize: String(PAGE), pagenum: String(page), order, total: "exact" };
    let body = "";
    let total = 0;
    walked.pages_ms.push(
      await time_ms(async () => ({ body, total } = await ask(service.apiPort, "/events", parameters))),
    );
    walked.resident_mb.push(service.residentBytes() / 2 ** 20);
    if (total !== count) throw new Error(`page ${page} has a total of ${total} events, not ${count}`);
    for (const { id, created } of JSON.parse(body) as { id: string; created: string }[]) {
      const next = [Number(/\d+/.exec(created)![0]), id] as const;
      if (last !== null && !follows(order, last, next)) throw new Error(`page ${page}: ${id} is out of order`);
      last = next;
      seen += 1;
    }
  }
  if (seen !== count) throw new Error(`the pages hold ${seen} events, not ${count}`);
  return walked;
}

function follows(order: Order, before: readonly [number, string], after: readonly [number, string]): boolean {
  const [[created, id], [laterCreated, laterId]] = order === "asc" ? [before, after] : [after, before];
  return created < laterCreated || (created === laterCreated && id < laterId);
}

function reportWalk(
  { report }: Bench,
  { storage, count }: Dataset,
  variant: string,
  { pages_ms, resident_mb }: Walk,
): void {
  const name = `${variant}, ${storage.kind}`;
  const pages = `${pages_ms.length} pages hold all ${count.toLocaleString("en-US")} events, each once`;
  const [first, most] = [resident_mb[0]!, quantile(resident_mb, 1)];
  report.line(`  ${name}: ${pages}; ${show(first, "MB")} MB at start, ${show(most, "MB")} MB at peak`);
  report.figure({ name: `a page, ${name}`, unit: "ms", ours: { name, rounds: pages_ms } });
  const target = { kind: "at most", value: MOST_MB[storage.kind] } as const;
  report.figure({ name: `resident memory, ${name}`, unit: "MB", ours: { name, rounds: resident_mb }, target });
}
