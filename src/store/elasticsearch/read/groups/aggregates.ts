import type { estypes } from "@elastic/elasticsearch";

import type { Aggregate, GroupPlan, NumberAggregate, NumberSource } from "../../../../query/plan.ts";
import type { EventRow } from "../../../../events/event.ts";
import { numberAggregation, valueOfSums } from "../../../number-aggregates.ts";
import type { NumberSums } from "../../../number-aggregates.ts";
import type { GroupValue } from "../../../store.ts";
import { ATTRIBUTES } from "../../documents/attributes.ts";
import { compileAlone, exists } from "../../compile/compile.ts";
import type { CompileOptions } from "../../compile/compile.ts";
import { cardinalityAggregation, readCounted } from "./distinct.ts";
import type { DistinctMethod } from "./distinct.ts";
import { eventRowFromHit } from "../page.ts";
import { ALL } from "../../client/queries.ts";
import type { Query } from "../../client/queries.ts";
import type { Bucket, Hit } from "../../client/scan.ts";
import { columnPath, numberPath } from "../../compile/slices.ts";
import { fieldTexts } from "../verify.ts";

type Aggregation = estypes.AggregationsAggregationContainer;

/** Aggregations that Elasticsearch computes for each group. */
export type Computation = {
  readonly aggs: Record<string, Aggregation>;
  /** Reads the results of a group. Those of `distinct` and percentiles are estimates. */
  readonly read: (bucket: Bucket) => GroupValue[];
  /** Estimated distinct aggregates by index, with the column whose values they count. */
  readonly distinct: readonly { readonly aggregate: number; readonly path: string }[];
  /** Estimated percentiles, with a function that returns how many numbers a group has. */
  readonly percentiles: readonly {
    readonly aggregate: number;
    readonly path: string;
    readonly percent: number;
    readonly countIn: (bucket: Bucket) => number;
  }[];
  /** Groups per request, well within the cluster's limit of buckets and its memory. */
  readonly page: number;
  /** See {@link Compiled}. False if a condition needs a test of each event. */
  readonly exact: boolean;
  readonly doubts: readonly Query[];
};

/** Well below the default limit of 65,536 buckets per response. */
const MAX_BUCKETS = 50_000;
const PAGE = 10_000;
/** Groups per page if each group has sketches of numbers or values. */
const PAGE_OF_LARGE = 1000;
/** Number of values at which Elasticsearch switches from a list of hashes to an estimate. */
const PRECISION = 10_000;

type Reader = (bucket: Bucket) => GroupValue;

export function aggregateComputation(
  { aggregates, from }: Pick<GroupPlan, "aggregates" | "from">,
  options: CompileOptions,
  distinct: DistinctMethod,
): Computation {
  const aggs: Record<string, Aggregation> = {};
  const readers: Reader[] = [];
  const conditions = aggregates.flatMap((each) =>
    each.kind === "count" && each.where !== null ? compileAlone(each.where, options, from.kind) : [],
  );
  let counted = 0;
  for (const [i, aggregate] of aggregates.entries()) {
    if (aggregate.kind === "count" && aggregate.where !== null) {
      aggs[i] = { filter: conditions[counted++]!.query };
      readers.push((bucket) => (bucket[i] as Bucket).doc_count);
      continue;
    }
    if (aggregate.kind === "distinct" && distinct === "counted") {
      Object.assign(aggs, cardinalityAggregation(String(i), columnPath(aggregate.field)));
      readers.push((bucket) => readCounted(bucket, String(i)));
      continue;
    }
    const { name, aggregation, read } = partOf(aggregate, i);
    if (aggregation !== null) aggs[name] = aggregation;
    if (aggregate.kind === "percentile") aggs[countNameOf(i)] = { value_count: { field: numberPath(aggregate.of) } };
    readers.push((bucket) => read(bucket, bucket[name]));
  }
  const buckets = 1 + Object.values(aggs).filter((each) => "filter" in each).length;
  // The first and last events come as whole documents.
  const isLarge = aggregates.some((each) => isSketched(each) || each.kind === "first" || each.kind === "last");
  return {
    aggs,
    read: (bucket) => readers.map((read) => read(bucket)),
    distinct: aggregates.flatMap((each, i) =>
      each.kind === "distinct" && distinct === "estimated" ? { aggregate: i, path: columnPath(each.field) } : [],
    ),
    percentiles: aggregates.flatMap((each, i) => (each.kind === "percentile" ? percentileOf(each, i) : [])),
    page: Math.min(isLarge ? PAGE_OF_LARGE : PAGE, Math.floor(MAX_BUCKETS / buckets)),
    exact: conditions.every(({ exact }) => exact),
    doubts: conditions.flatMap(({ doubts }) => doubts ?? []),
  };
}

function percentileOf({ of, percent }: Extract<Aggregate, { kind: "percentile" }>, aggregate: number) {
  const countIn = (bucket: Bucket): number => (bucket[countNameOf(aggregate)] as { value: number }).value;
  return { aggregate, path: numberPath(of), percent, countIn };
}

function countNameOf(aggregate: number): string {
  return `numbers of ${aggregate}`;
}

type Part = {
  /** Name of the aggregation. Aggregates of the same name share one computation. */
  readonly name: string;
  readonly aggregation: Aggregation | null;
  readonly read: (bucket: Bucket, computed: unknown) => GroupValue;
};

function partOf(aggregate: Aggregate, index: number): Part {
  if ("of" in aggregate) return partOfNumbers(aggregate, index);
  switch (aggregate.kind) {
    case "count":
      return { name: "", aggregation: null, read: ({ doc_count: count }) => count };
    case "distinct":
      return {
        name: String(index),
        aggregation: { cardinality: { field: columnPath(aggregate.field), precision_threshold: PRECISION } },
        read: (_, computed) => (computed as { value: number }).value,
      };
    case "first":
    case "last":
      return valueAtEnd(aggregate, index);
  }
  throw aggregate satisfies never;
}

/** Returns whether Elasticsearch keeps a sketch of the numbers or values of each group. */
export function isSketched(aggregate: Aggregate): boolean {
  return aggregate.kind === "distinct" || ("of" in aggregate && numberAggregation(aggregate).from === "numbers");
}

/** Returns the path by which Elasticsearch sorts groups by an aggregate; null if there is none. */
export function aggregateOrderPath(aggregate: NumberAggregate): string | null {
  const aggregation = numberAggregation(aggregate);
  if (aggregation.from === "numbers" || aggregation.stats === null) return null;
  return `${statsName(aggregate.of)}.${aggregation.stats}`;
}

/** Returns the name of the statistics of a number. */
function statsName(of: NumberSource): string {
  return `stats of ${numberPath(of)}`.replaceAll(/[[\]>]/g, "?");
}

/** The result of `stats`. Without numbers `min` and `max` are null, and not read. */
type Stats = Omit<NumberSums, "numbers"> & { readonly count: number };

function partOfNumbers(aggregate: NumberAggregate, index: number): Part {
  const field = numberPath(aggregate.of);
  const aggregation = numberAggregation(aggregate);
  if (aggregation.from === "numbers") {
    const read: Part["read"] = (_, computed) => aggregation.read(computed);
    return { name: String(index), aggregation: aggregation.aggregation(field), read };
  }
  return {
    name: statsName(aggregate.of),
    aggregation: { stats: { field } },
    read: (_, computed) => {
      const { count, sum, min, max } = computed as Stats;
      return valueOfSums(aggregation, { numbers: count, sum, min, max });
    },
  };
}

function valueAtEnd({ kind, field }: Extract<Aggregate, { kind: "first" | "last" }>, index: number): Part {
  const order = kind === "first" ? "asc" : "desc";
  const isAlways = field === "id" || field === "created";
  return {
    name: String(index),
    aggregation: {
      filter: isAlways ? ALL : exists(field),
      aggs: {
        end: {
          top_hits: {
            size: 1,
            sort: [{ created: { order } }, { id: { order } }],
            _source: { excludes: ["data", "folded", ATTRIBUTES] },
          },
        },
      },
    },
    read: (_, computed) => {
      const { end } = computed as { end: { hits: { hits: readonly Hit[] } } };
      const [hit] = end.hits.hits;
      return hit === undefined ? null : aggregatedValue(eventRowFromHit(hit), field);
    },
  };
}

/** Returns what `first` and `last` show of an event, or null if it lacks the field. */
export function aggregatedValue(
  row: EventRow,
  field: Extract<Aggregate, { kind: "first" | "last" }>["field"],
): GroupValue {
  if (field === "created" || field === "value") return row[field];
  return fieldTexts(row, field)[0] ?? null;
}
