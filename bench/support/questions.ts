import type { estypes } from "@elastic/elasticsearch";

import { interleaved, time_ms } from "../frame.ts";
import type { Bench, Figures, Target, Variant } from "../frame.ts";
import { ask } from "./client.ts";
import type { Dataset } from "./datasets.ts";
import { LOG } from "./events.ts";

/** A query to the service, and the equivalent for each bare engine. */
export type Question = {
  readonly name: string;
  /** Path below `/1/logs/{log}`. */
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly sql: string;
  readonly search: estypes.SearchRequest;
  /**
   * Size of a result, from the service's response and from each engine's, so that no figure is
   * reported for a wrong result.
   */
  readonly sizes: {
    readonly service: (body: string) => number;
    readonly duckdb: (rows: readonly (readonly unknown[])[]) => number;
    readonly elasticsearch: (answer: estypes.SearchResponse) => number;
  };
  readonly target?: Target;
};

/** Warm-up of compilers in all processes. Their first hundred queries are noticeably slower. */
const WARM_MS = { embedded: 1_000, cluster: 4_000 } as const;

/** Sends a query to the service over HTTP. */
export function askService({ service }: Dataset, { path, parameters }: Question): Promise<string> {
  return ask(service.apiPort, path, parameters).then(({ body }) => body);
}

/**
 * Compares the service over HTTP with the bare engine.
 * @throws Error if the sizes of their results differ
 */
export async function compareWithBare(
  { report, quick }: Bench,
  dataset: Dataset,
  question: Question,
): Promise<{ readonly ours: Figures }> {
  const { storage, bare } = dataset;
  const { sizes, name } = question;
  const askBare = async (): Promise<number> =>
    storage.kind === "embedded"
      ? sizes.duckdb(await bare.duckdb(question.sql))
      : sizes.elasticsearch(await bare.elasticsearch(question.search));
  const [expected, got] = [await askBare(), sizes.service(await askService(dataset, question))];
  if (expected !== got)
    throw new Error(`${name}: sizes differ, the bare engine returned ${expected}, the service ${got}`);
  const variants: Variant[] = [
    { name: storage.kind === "embedded" ? "bare DuckDB" : "bare Elasticsearch", once: () => time_ms(askBare) },
    { name: "Loggia over HTTP", once: () => time_ms(() => askService(dataset, question)) },
  ];
  if (storage.kind === "cluster") {
    const askProxy = async (): Promise<number> => sizes.elasticsearch(await bare.elasticsearchByProxy(question.search));
    if ((await askProxy()) !== expected)
      throw new Error(`${name}: the plain proxy returned another size than the bare engine`);
    variants.push({ name: "through a plain proxy", once: () => time_ms(askProxy) });
  }
  if (!quick) await interleaved(variants, { least: 5, most: Infinity, budget_ms: WARM_MS[storage.kind] });
  const options = quick ? { least: 3 } : { least: 5, most: 200, budget_ms: 3_000 };
  const [limit, ours, proxy] = await interleaved(variants, options);
  const { target } = question;
  report.ratio({ name: `${name}, ${storage.kind}`, unit: "ms", ours: ours!, limit: limit!, ...(target && { target }) });
  // The part of the ratio that any intermediate server would have.
  if (proxy !== undefined) report.ratio({ name: `${name}, a plain proxy`, unit: "ms", ours: proxy, limit: limit! });
  return { ours: ours! };
}

/** Columns that a list shows, as the embedded store keeps them. */
export const ROW_COLUMNS =
  'id_hi, id_lo, created, log, text, link, tags, source, "user", class, value, lat, lon, ip, data is not null';

export function isLog(): NonNullable<estypes.QueryDslQueryContainer> {
  return { term: { log: LOG } };
}

/** Number of rows of a page. */
export const ROWS: Question["sizes"] = {
  service: (body) => (JSON.parse(body) as unknown[]).length,
  duckdb: (rows) => rows.length,
  elasticsearch: (answer) => answer.hits.hits.length,
};
