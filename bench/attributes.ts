import type { estypes } from "@elastic/elasticsearch";

import type { Benchmark } from "./frame.ts";
import { LOG, RARE_STATUS } from "./support/events.ts";
import { compareWithBare, isLog, ROW_COLUMNS, ROWS } from "./support/questions.ts";
import type { Question } from "./support/questions.ts";

const TARGET = { kind: "at most", value: 1.25 } as const;

type Filter = { readonly lql: string; readonly sql: string; readonly search: estypes.QueryDslQueryContainer };

/** Asks for the newest 100 events of a filter, and their total. */
function newest({ lql, sql, search }: Filter): Question {
  const query = `GET events WHERE ${lql} SORT created DESC`;
  return {
    name: query,
    path: "/query",
    parameters: { query, pagesize: "100" },
    sql: `select ${ROW_COLUMNS}, count(*) over () from events where log = '${LOG}' and ${sql}
      order by created desc, id_hi desc, id_lo desc limit 100`,
    search: {
      query: { bool: { filter: [isLog(), search] } },
      sort: [{ created: "desc" }, { id: "desc" }],
      size: 100,
      track_total_hits: true,
    },
    sizes: ROWS,
    target: TARGET,
  };
}

type Groups = {
  readonly by: string;
  readonly columns: string;
  /** Group keys, and aggregates that follow `count(*)`. */
  readonly sql: { readonly keys: readonly string[]; readonly rest?: string; readonly order?: string };
  readonly search: Readonly<Record<string, estypes.AggregationsAggregationContainer>>;
};

function groups({ by, columns, sql: { keys, rest = "", order = "order by all" }, search }: Groups): Question {
  const query = `GET events GROUPBY ${by} ${columns}`;
  return {
    name: query,
    path: "/query",
    parameters: { query },
    sql: `select ${keys.join(", ")}, count(*)::double as count ${rest} from events where log = '${LOG}'
      group by ${keys.map((_, i) => i + 1).join(", ")} ${order}`,
    search: { size: 0, track_total_hits: false, query: { bool: { filter: [isLog()] } }, aggs: search },
    sizes: {
      service: (body) => sum((JSON.parse(body) as { count: string }[]).map(({ count }) => Number(count))),
      duckdb: (rows) => sum(rows.map((row) => row[keys.length] as number)),
      elasticsearch: ({ aggregations }) => sum(bucketsOf(aggregations?.["groups"]).map(({ doc_count: n }) => n)),
    },
    target: TARGET,
  };
}

const HOSTS = { terms: { field: "host", size: 1_000 } };

export const ATTRIBUTE_QUESTIONS: readonly Question[] = [
  newest({
    lql: `@http.status = ${RARE_STATUS}`,
    sql: `status = ${RARE_STATUS}`,
    search: { term: { status: RARE_STATUS } },
  }),
  newest({
    lql: "@duration_ms >= 2950",
    sql: "duration_ms >= 2950",
    search: { range: { duration_ms: { gte: 2_950 } } },
  }),
  groups({ by: "@host", columns: "COLUMNS(KEY, COUNT)", sql: { keys: ["host"] }, search: { groups: HOSTS } }),
  groups({
    by: "@host, DAY",
    columns: "COLUMNS(KEY, COUNT)",
    sql: { keys: ["host", "created // 86400000"] },
    search: {
      groups: { ...HOSTS, aggs: { days: { date_histogram: { field: "created", fixed_interval: "1d" } } } },
    },
  }),
  groups({
    by: "@host",
    columns: "COLUMNS(KEY, COUNT, P95(@duration_ms))",
    sql: { keys: ["host"], rest: ", quantile_disc(duration_ms, 0.95)" },
    search: { groups: { ...HOSTS, aggs: { p95: { percentiles: { field: "duration_ms", percents: [95] } } } } },
  }),
  groups({
    by: "@host",
    columns: "COLUMNS(KEY, COUNT, DISTINCT(user))",
    sql: { keys: ["host"], rest: `, count(distinct "user")` },
    search: {
      groups: { ...HOSTS, aggs: { users: { cardinality: { field: "user", precision_threshold: 10_000 } } } },
    },
  }),
  groups({
    by: "pattern",
    columns: "COLUMNS(KEY, COUNT) SORT COUNT DESC",
    sql: { keys: ["pattern"], order: "order by count desc" },
    search: { groups: { terms: { field: "pattern", size: 10_000 } } },
  }),
];

function bucketsOf(aggregate: unknown): readonly { readonly doc_count: number }[] {
  return (aggregate as { readonly buckets: readonly { readonly doc_count: number }[] }).buckets;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

export const benchmark: Benchmark = {
  name: "attributes",
  about: "equality, range, groups, percentile, distinct, pattern, over 1,000,000 events | the bare engine's query",
  async run(bench) {
    const dataset = await bench.world.dataset(bench.quick ? 10_000 : 1_000_000, "attributes");
    for (const question of ATTRIBUTE_QUESTIONS) await compareWithBare(bench, dataset, question);
  },
};
