import type { estypes } from "@elastic/elasticsearch";

import type { Benchmark } from "./frame.ts";
import { LOG } from "./support/events.ts";
import { compareWithBare, isLog } from "./support/questions.ts";
import type { Question } from "./support/questions.ts";

const TARGET = { kind: "at most", value: 1.15 } as const;
const STATS = { stats: { stats: { field: "value" } } } as const;

type Key = { readonly lql: string; readonly sql: string; readonly search: estypes.AggregationsAggregationContainer };

const KEYS: readonly Key[] = [
  { lql: "DAY", sql: "created // 86400000", search: { date_histogram: { field: "created", fixed_interval: "1d" } } },
  { lql: "HOUR", sql: "created // 3600000", search: { date_histogram: { field: "created", fixed_interval: "1h" } } },
  { lql: "source", sql: "source", search: { terms: { field: "source", size: 10_000 } } },
];
const CONDITIONS = [
  { lql: "", sql: "", search: [] },
  {
    lql: " WHERE tags = 'error'",
    sql: "and list_contains(tags, 'error')",
    search: [{ term: { "folded.tags": "error" } }],
  },
] as const;

/** Number of events in all groups, which is equal only if no group is missing. */
const GROUPED: Question["sizes"] = {
  service: (body) => sum((JSON.parse(body) as { count: string }[]).map(({ count }) => Number(count))),
  duckdb: (rows) => sum(rows.map((row) => Number(row[1]))),
  elasticsearch: (answer) => {
    const groups = answer.aggregations?.["groups"] as { buckets: { doc_count: number }[] };
    return sum(groups.buckets.map((bucket) => bucket.doc_count));
  },
};

export const GROUPS: readonly Question[] = KEYS.flatMap((key) =>
  CONDITIONS.map((condition): Question => {
    const lql = `GET events${condition.lql} GROUPBY ${key.lql}`;
    return {
      name: lql,
      path: "/query",
      parameters: { query: lql },
      sql: `select ${key.sql} as key, count(*), avg(value), sum(value), min(value), max(value)
        from events where log = '${LOG}' ${condition.sql} group by 1 order by 1`,
      search: {
        size: 0,
        track_total_hits: false,
        query: { bool: { filter: [isLog(), ...condition.search] } },
        aggs: { groups: { ...key.search, aggs: STATS } },
      },
      sizes: GROUPED,
      target: TARGET,
    };
  }),
);

function sum(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

export const benchmark: Benchmark = {
  name: "group",
  about: "by day, by hour and by source, with and without WHERE, over 1,000,000 events | the bare engine's query",
  async run(bench) {
    const dataset = await bench.world.dataset(bench.quick ? 10_000 : 1_000_000);
    for (const question of GROUPS) await compareWithBare(bench, dataset, question);
  },
};
