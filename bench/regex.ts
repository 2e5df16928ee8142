import type { Client } from "@elastic/elasticsearch";

import { interleaved, time_ms } from "./frame.ts";
import type { Bench, Benchmark, Variant } from "./frame.ts";
import type { Dataset } from "./support/datasets.ts";
import { LOG, OTHER_EXPRESSIONS, OTHER_WORDS, RARE_EXPRESSIONS, RARE_WORDS, storedEvents } from "./support/events.ts";
import { ask } from "./support/client.ts";
import { ROW_COLUMNS } from "./support/questions.ts";
import { waitUntilIdle } from "./support/idle.ts";

/** Maximum ratio of the service's time to the limit: the scan, or a tenth of a bare `regexp`. */
const SHARE = { embedded: 1, cluster: 0.1 } as const;
/**
 * A different text is searched each time: Elasticsearch caches filters, and users mostly search for
 * a text once.
 */
const EXPRESSIONS = [
  { name: "an expression", texts: RARE_EXPRESSIONS, warming: OTHER_EXPRESSIONS },
  { name: "a word", texts: RARE_WORDS, warming: OTHER_WORDS },
];
/**
 * Warm-up of compilers, mainly those of an engine, which is much slower right after its start. Each
 * way gets the same time, as the slow one would otherwise take all of it.
 */
const WARM_MS = { embedded: 500, cluster: 10_000 } as const;
const BULK = 5_000;

export const benchmark: Benchmark = {
  name: "regex",
  about:
    `${RARE_EXPRESSIONS[0]} and a word, over 1,000,000 distinct texts, few matches ` +
    "| the bare regexp query; a full scan in DuckDB",
  async run(bench) {
    const { world, quick } = bench;
    const count = quick ? 20_000 : 1_000_000;
    const dataset = await world.dataset(count);
    if (world.kind === "embedded") {
      const find = (text: string): Promise<number> => scanDuckdb(dataset, text);
      for (const expression of EXPRESSIONS) await compare(bench, dataset, expression, { name: "scan in DuckDB", find });
      return;
    }
    const cluster = await world.cluster();
    const { client } = cluster;
    const index = `${cluster.namespace()}-bare`;
    await fillBareIndex(client, index, count);
    await waitUntilIdle();
    const find = (text: string): Promise<number> => askBare(client, index, text);
    for (const expression of EXPRESSIONS) await compare(bench, dataset, expression, { name: "bare regexp", find });
    await client.indices.delete({ index });
  },
};

/** Finds the number of matches in a different way. */
type Limit = { readonly name: string; readonly find: (expression: string) => Promise<number> };

async function compare(
  { report, quick }: Bench,
  { storage, service }: Dataset,
  { name, texts, warming }: (typeof EXPRESSIONS)[number],
  limit: Limit,
): Promise<void> {
  const askService = async (text: string): Promise<number> =>
    (await ask(service.apiPort, "/events", { text, order: "desc", pagesize: "500", total: "exact" })).total;
  const [first, ...others] = texts;
  const [expected, found] = [await limit.find(first!), await askService(first!)];
  if (expected !== found) throw new Error(`${limit.name} finds ${expected} events and Loggia ${found}`);
  const variantsOf = (asked: readonly string[]): Variant[] => {
    const inTurn = (find: (text: string) => Promise<number>) => {
      let next = 0;
      return () => time_ms(() => find(asked[next++ % asked.length]!));
    };
    return [
      { name: limit.name, once: inTurn(limit.find) },
      { name: "Loggia over HTTP", once: inTurn(askService) },
    ];
  };
  for (const variant of quick ? [] : variantsOf(warming)) {
    await interleaved([variant], { least: 4, most: Infinity, budget_ms: WARM_MS[storage.kind] });
  }
  const [theirs, ours] = await interleaved(
    variantsOf(others),
    quick ? { least: 3 } : { least: 4, most: others.length, budget_ms: 10_000 },
  );
  const target = { kind: "at most", value: SHARE[storage.kind] } as const;
  report.ratio({
    name: `${name} with ${found} matches, ${storage.kind}`,
    unit: "ms",
    ours: ours!,
    limit: theirs!,
    target,
  });
}

/** Finds the rows themselves in one pass; there are few matches. */
async function scanDuckdb({ bare }: Dataset, expression: string): Promise<number> {
  const sql = `select ${ROW_COLUMNS} from events where log = '${LOG}' and regexp_matches(text, $1, 'i')
    order by created desc, id_hi desc, id_lo desc`;
  return (await bare.duckdb(sql, [expression])).length;
}

/** Fills an index designed for searching texts by expression: each text is a term. */
async function fillBareIndex(client: Client, index: string, count: number): Promise<void> {
  const settings = { number_of_shards: 1, number_of_replicas: 0, "requests.cache.enable": false };
  const properties = {
    created: { type: "date" as const },
    log: { type: "keyword" as const },
    text: { type: "keyword" as const },
  };
  await client.indices.create({ index, settings, mappings: { properties } });
  let lines: string[] = [];
  const flush = async (): Promise<void> => {
    if (lines.length === 0) return;
    const { errors } = await client.bulk({
      index,
      operations: `${lines.join("\n")}\n` as unknown as never[],
      filter_path: "errors",
    });
    if (errors) throw new Error("filling the bare index failed");
    lines = [];
  };
  for (const { created, log, text } of storedEvents(count)) {
    lines.push('{"index":{}}', JSON.stringify({ created, log, text }));
    if (lines.length === 2 * BULK) await flush();
  }
  await flush();
  await client.indices.refresh({ index });
}

async function askBare(client: Client, index: string, expression: string): Promise<number> {
  const { hits } = await client.search({
    index,
    size: 500,
    sort: [{ created: "desc" }],
    track_total_hits: true,
    query: {
      bool: {
        filter: [{ term: { log: LOG } }, { regexp: { text: { value: anywhere(expression), case_insensitive: true } } }],
      },
    },
  });
  return typeof hits.total === "number" ? hits.total : (hits.total?.value ?? NaN);
}

/** Adapts an expression to a `regexp` query, which matches whole texts. */
function anywhere(expression: string): string {
  return expression.endsWith("$") ? `.*${expression.slice(0, -1)}` : `.*${expression}.*`;
}
