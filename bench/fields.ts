import type { estypes } from "@elastic/elasticsearch";

import type { Benchmark } from "./frame.ts";
import { LOG } from "./support/events.ts";
import { compareWithBare, isLog } from "./support/questions.ts";
import type { Question } from "./support/questions.ts";

const MOST_MS = { kind: "at most", value: 300 } as const;
const TARGET = { kind: "at most", value: 1.25 } as const;
const VALUES = 10;

/** Fields with listed values: the bare engines' names, and the SQL condition for their presence. */
const FIELDS = [
  ["link", "link <> ''"],
  ["tags", "len(tags) > 0"],
  ["source", "source <> ''"],
  ["value", "value is not null"],
  [`"user"`, `"user" <> ''`],
  ["pattern", "pattern <> ''"],
  ...["host", "route", "status", "duration_ms", "trace_id"].map((name) => [name, `${name} is not null`] as const),
] as const;
/** Created and text are listed without values. */
const WITHOUT_VALUES = 2;

const NAMES = FIELDS.map(([column]) => column.replaceAll('"', ""));

function top([column, present]: (typeof FIELDS)[number]): string {
  const from = column === "tags" ? "(select unnest(tags) as tags, log from events)" : "events";
  const where = column === "tags" ? "true" : present;
  return `select * from (select ${column}::varchar as k, count(*)::double as n from ${from}
    where log = '${LOG}' and ${where} group by ${column} order by n desc, k limit ${VALUES})`;
}

const COUNTS = FIELDS.map(([, present]) => `count(*) filter (where ${present})`).join(", ");

type Facts = { readonly count: string; readonly values: readonly unknown[] };
type Terms = { readonly buckets: readonly unknown[] };

const QUESTION: Question = {
  name: "GET fields",
  path: "/fields",
  parameters: {},
  sql: `select null as k, unnest([count(*), count(*) filter (where text <> ''), ${COUNTS}])::double as n
    from events where log = '${LOG}' union all ${FIELDS.map(top).join(" union all ")}`,
  search: {
    size: 0,
    track_total_hits: true,
    query: { bool: { filter: [isLog()] } },
    aggs: Object.fromEntries(
      ["text", ...NAMES].flatMap((field) => {
        const count: Aggregations = [[`count ${field}`, { filter: { exists: { field } } }]];
        return field === "text" ? count : [...count, [field, { terms: { field, size: VALUES } }]];
      }),
    ),
  },
  // Number of events with each field, plus one per value: of equally frequent values, others may be
  // listed.
  sizes: {
    service: (body) =>
      (JSON.parse(body) as Facts[]).reduce((sum, { count, values }) => sum + Number(count) + values.length, 0),
    duckdb: (rows) => {
      const counts = rows.slice(0, WITHOUT_VALUES + FIELDS.length);
      return counts.reduce((sum, [, n]) => sum + Number(n), rows.length - counts.length);
    },
    elasticsearch: ({ hits, aggregations }) =>
      Object.values(aggregations ?? {}).reduce(
        (sum, each) => sum + ("buckets" in each ? (each as Terms).buckets.length : (each as Counted).doc_count),
        (hits.total as estypes.SearchTotalHits).value,
      ),
  },
  target: TARGET,
};

type Aggregations = [string, estypes.AggregationsAggregationContainer][];
type Counted = { readonly doc_count: number };

export const benchmark: Benchmark = {
  name: "fields",
  about:
    "all fields and attributes of 1,000,000 events with five attributes, one of them unique to each event | " +
    `${MOST_MS.value} ms, and the bare engine's query`,
  async run(bench) {
    const dataset = await bench.world.dataset(bench.quick ? 10_000 : 1_000_000, "attributes");
    const { ours } = await compareWithBare(bench, dataset, QUESTION);
    bench.report.figure({ name: `GET fields, ${dataset.storage.kind}`, unit: "ms", ours, target: MOST_MS });
  },
};
