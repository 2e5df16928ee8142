import type { Client, estypes } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";

import { LoggiaError } from "../../errors.ts";
import type { EventRow } from "../../events/event.ts";
import { compareCodePoints, fold } from "../../events/text.ts";
import { REPEATED, keyOfPeriod, stretchesOfPeriod } from "../../query/calendar.ts";
import type { Aggregate as Asked, GroupField, GroupPlan, Grouping, Period } from "../../query/plan.ts";
import { spanOf } from "../../query/span.ts";
import type { Stretch } from "../../query/zone.ts";
import { MAX_GROUPS, tooManyGroups } from "../groups.ts";
import type { Group, GroupValue } from "../store.ts";
import { answer, verified } from "./candidates.ts";
import type { Query } from "./compile.ts";
import { ROW_SOURCE } from "./document.ts";
import { indexOf } from "./mapping.ts";
import type { Names } from "./mapping.ts";
import { ANY_ORDER, atOneMoment, searcherOf, totalOf } from "./scan.ts";
import type { Aggregate, Bucket, Searcher, Stats } from "./scan.ts";
import { sortGently } from "./sort-gently.ts";
import { textsOf } from "./verify.ts";

/** As many groups are asked for in one request: well within what a cluster gives at once unless told otherwise (65,536). */
const PAGE = 10_000;
/** Groups that rows are sorted into at once, before any is left out. */
const MAX_GROWING = 1_000_000;

/** Answers a group plan. Groups that `take` leaves out are dropped while they arrive. */
export async function group(client: Client, names: Names, plan: GroupPlan): Promise<Group[]> {
  if (plan.logs.length === 0 || plan.take === 0) return [];
  onlyKey(plan);
  const values = plan.aggregates.map(valueOf);
  const index = indexOf(names, plan.from);
  const collector = await answer(plan, {
    exactly: (query) => countedGroups(searcherOf(client, index), plan, query),
    looking: (query) =>
      atOneMoment(client, index, (search) =>
        groupsOf(plan, verified(search, plan, { query, sort: ANY_ORDER, source: ROW_SOURCE })),
      ),
    among: (rows) => groupsOf(plan, rows),
    doubts: [],
    few: { client, index, names, source: ROW_SOURCE },
  });
  return (await collector.finish()).map((group) => ({
    keys: [group.key],
    values: values.map((value) => group[value]),
  }));
}

/** A group with all that is computed today. */
type Counted = {
  readonly key: GroupValue;
  readonly count: number;
  readonly avg: number | null;
  readonly sum: number | null;
  readonly min: number | null;
  readonly max: number | null;
};
type Name = Exclude<keyof Counted, "key">;

/** @throws LoggiaError `unsupported` */
function onlyKey({ by, having }: GroupPlan): Grouping {
  const [key] = by;
  const isField = key?.kind === "field" && key.field !== "pattern" && !key.field.startsWith("@");
  const isPeriod = key?.kind === "period" && key.count === 1 && (key.unit === "days" || key.unit === "hours");
  if (by.length === 1 && having === null && (isField || isPeriod)) return key;
  throw new LoggiaError("unsupported", "Such groups cannot be asked for yet");
}

/** @throws LoggiaError `unsupported` */
function valueOf(aggregate: Asked): Name {
  const { kind } = aggregate;
  if (kind === "count" && aggregate.where === null) return kind;
  if ((kind === "avg" || kind === "sum" || kind === "min" || kind === "max") && aggregate.of === "value") return kind;
  throw new LoggiaError("unsupported", `${kind} cannot be asked for yet`);
}

type Collector = {
  /** Some more of the groups. @throws LoggiaError `unsupported` where there are more than are answered */
  add(groups: Iterable<Counted>): Promise<void>;
  finish(): Promise<Counted[]>;
};

/** A group, with its key as keys are compared. */
type Ranked = { readonly group: Counted; readonly folded: GroupValue };

/** Keeps the groups that a plan may show. */
function collectorOf(plan: GroupPlan): Collector {
  const order = orderOf(plan);
  const wanted = plan.take === null ? MAX_GROUPS : plan.skip + plan.take;
  let ranked: Ranked[] = [];
  return {
    async add(groups) {
      for (const group of groups) {
        const { key } = group;
        ranked.push({ group, folded: typeof key === "string" ? fold(key) : key });
      }
      if (ranked.length <= wanted * 2 + PAGE && ranked.length <= MAX_GROUPS) return;
      if (wanted >= MAX_GROUPS) throw tooManyGroups();
      ranked = (await sortGently(ranked, order)).slice(0, wanted);
    },
    async finish() {
      const sorted = await sortGently(ranked, order);
      return sorted.slice(plan.skip, plan.take === null ? undefined : wanted).map(({ group }) => group);
    },
  };
}

async function countedGroups(search: Searcher, plan: GroupPlan, query: Query): Promise<Collector> {
  const collector = collectorOf(plan);
  const by = onlyKey(plan);
  if (by.kind === "bands") return collector;
  if (by.kind === "field") {
    if (!(await fewGroups(search, by.field as GroupField, query, collector)))
      await allValues(search, by.field as GroupField, query, collector);
    return collector;
  }
  const stretches = stretchesOfPeriod(by, ...spanOf(plan.where));
  const buckets = (await fewTimes(search, by, stretches, query)) ?? (await allTimes(search, by, stretches, query));
  await collector.add(joined(buckets).map(({ key, count, stats }) => toGroup(key, count, stats)));
  return collector;
}

const STATS = { stats: { stats: { field: "value" } } } as const;

/**
 * One pass, enough where no shard has more groups than one request asks for. False, with nothing collected, where there are more. Events without the field are no
 * group to Elasticsearch: they are looked for where the groups do not hold all that was found, which takes as long as the groups themselves.
 */
async function fewGroups(search: Searcher, field: GroupField, query: Query, collector: Collector): Promise<boolean> {
  const answer = await search({
    query,
    size: 0,
    track_total_hits: true,
    aggs: { groups: { terms: { field, size: PAGE, shard_size: PAGE }, aggs: STATS } },
  });
  const groups = answer.aggregations?.["groups"];
  if (groups === undefined) return true;
  if ((groups.sum_other_doc_count ?? 0) > 0) return false;
  const buckets = groups.buckets ?? [];
  const found = buckets.map(({ key, doc_count, stats }) => toGroup(key as string | number, doc_count, stats));
  const counted = buckets.reduce((sum, { doc_count }) => sum + doc_count, 0);
  // An event may have several tags, and so be counted in several groups.
  if (field === "tags" || counted < totalOf(answer)) found.push(...(await absentGroup(search, field, query)));
  await collector.add(found);
  return true;
}

async function absentGroup(search: Searcher, field: GroupField, query: Query): Promise<Counted[]> {
  const { aggregations } = await search({
    query,
    size: 0,
    track_total_hits: false,
    aggs: { absent: { missing: { field }, aggs: STATS } },
  });
  const absent = aggregations?.["absent"];
  return absent?.doc_count ? [toGroup(field === "value" ? null : "", absent.doc_count, absent.stats)] : [];
}

/** Events of a period, with the key of it. */
type Times = { readonly key: number; readonly count: number; readonly stats: Stats | undefined };

/**
 * One pass by histograms, one for each stretch: half as much work as {@link allTimes}. Null where
 * there are more groups than a cluster gives at once.
 */
async function fewTimes(
  search: Searcher,
  by: Period,
  stretches: readonly Stretch[],
  query: Query,
): Promise<Times[] | null> {
  const isOne = stretches.length === 1;
  const histograms = stretches.map((stretch, i) => {
    const histogram = { date_histogram: { ...timesOf(by, stretch), min_doc_count: 1 }, aggs: STATS };
    return [String(i), isOne ? histogram : { filter: within(stretch), aggs: { groups: histogram } }] as const;
  });
  try {
    const aggs = Object.fromEntries(histograms);
    const { aggregations } = await search({ query, size: 0, track_total_hits: false, aggs });
    return stretches.flatMap((stretch, i) => {
      const found = aggregations?.[String(i)];
      const buckets = (isOne ? found : found?.groups)?.buckets ?? [];
      return buckets.map(({ key, doc_count, stats }) => timesIn(stretch, key as number, doc_count, stats));
    });
  } catch (error) {
    if (isTooManyBuckets(error)) return null;
    throw error;
  }
}

/** @param start the moment at which the group begins, as Elasticsearch tells it */
function timesIn({ offset_ms, repeated }: Stretch, start: number, count: number, stats: Stats | undefined): Times {
  return { key: start + offset_ms + (repeated ? REPEATED : 0), count, stats };
}

function within({ from_ms, to_ms }: Stretch): Query {
  const bounds = { ...(from_ms > -Infinity && { gte: from_ms }), ...(to_ms < Infinity && { lt: to_ms }) };
  return { range: { created: bounds } };
}

/** Those of equal keys as one: a day on which the clock was set lies in two stretches. */
function joined(times: readonly Times[]): Times[] {
  const byKey = new Map<number, Times>();
  for (const each of times) {
    const other = byKey.get(each.key);
    byKey.set(each.key, other === undefined ? each : joinedTimes(other, each));
  }
  return [...byKey.values()];
}

function joinedTimes(a: Times, b: Times): Times {
  return { key: a.key, count: a.count + b.count, stats: joinedStats(a.stats, b.stats) };
}

function joinedStats(a: Stats | undefined, b: Stats | undefined): Stats | undefined {
  if (a === undefined || a.count === 0) return b;
  if (b === undefined || b.count === 0) return a;
  const count = a.count + b.count;
  const sum = a.sum + b.sum;
  return { count, sum, avg: sum / count, min: Math.min(a.min!, b.min!), max: Math.max(a.max!, b.max!) };
}

function isTooManyBuckets(error: unknown): boolean {
  return error instanceof errors.ResponseError && JSON.stringify(error.body ?? null).includes("too_many_buckets");
}

/** All values of a field as groups. */
async function allValues(search: Searcher, field: GroupField, query: Query, collector: Collector): Promise<void> {
  const source = { terms: { field, missing_bucket: true } };
  for await (const buckets of allBuckets(search, source, query)) {
    const absent = field === "value" ? null : "";
    await collector.add(buckets.map(({ key, doc_count, stats }) => toGroup(key ?? absent, doc_count, stats)));
  }
}

async function allTimes(search: Searcher, by: Period, stretches: readonly Stretch[], query: Query): Promise<Times[]> {
  const times: Times[] = [];
  for (const stretch of stretches) {
    const inside: Query = stretches.length === 1 ? query : { bool: { filter: [query, within(stretch)] } };
    for await (const buckets of allBuckets(search, { date_histogram: timesOf(by, stretch) }, inside)) {
      times.push(...buckets.map(({ key, doc_count, stats }) => timesIn(stretch, key as number, doc_count, stats)));
      if (times.length > MAX_GROWING) throw tooManyGroups();
    }
  }
  return times;
}

type Keyed = Omit<Bucket, "key"> & { readonly key: string | number | null };

/** All groups in the order of their keys, page by page; each page is a pass over the events. */
async function* allBuckets(
  search: Searcher,
  source: estypes.AggregationsCompositeAggregationSource,
  query: Query,
): AsyncGenerator<Keyed[]> {
  let after: Aggregate["after_key"];
  do {
    const { aggregations } = await search({
      query,
      size: 0,
      track_total_hits: false,
      aggs: {
        groups: {
          composite: { size: PAGE, sources: [{ key: source }], ...(after !== undefined && { after }) },
          aggs: STATS,
        },
      },
    });
    const groups = aggregations?.["groups"];
    const buckets = groups?.buckets ?? [];
    yield buckets.map(({ key, ...rest }) => ({ ...rest, key: (key as Record<string, Keyed["key"]>)["key"] ?? null }));
    after = buckets.length === PAGE ? groups?.after_key : undefined;
  } while (after !== undefined);
}

function timesOf(by: Period, { offset_ms }: Stretch): { field: string; fixed_interval: string; offset: string } {
  // A day begins earlier in UTC the further east it is.
  const offset = -offset_ms;
  return {
    field: "created",
    fixed_interval: by.unit === "days" ? "1d" : "1h",
    offset: `${offset < 0 ? "-" : "+"}${Math.abs(offset)}ms`,
  };
}

function toGroup(key: GroupValue, count: number, stats: Stats | undefined): Counted {
  if (stats === undefined || stats.count === 0) return { key, count, avg: null, sum: null, min: null, max: null };
  return { key, count, avg: stats.avg, sum: stats.sum, min: stats.min, max: stats.max };
}

/** A group that grows: its sum carries the rounding error of each step along (Neumaier). */
type Growing = { count: number; values: number; sum: number; lost: number; min: number; max: number };

async function groupsOf(plan: GroupPlan, rows: readonly EventRow[] | AsyncIterable<EventRow>): Promise<Collector> {
  const growing = new Map<GroupValue, Growing>();
  const keys = keysOf(onlyKey(plan));
  for await (const row of rows) {
    for (const key of new Set(keys(row))) grow(growing, key, row.value);
    if (growing.size > MAX_GROWING) throw tooManyGroups();
  }
  const collector = collectorOf(plan);
  for (const some of chunks(growing, PAGE)) await collector.add(some.map(grown));
  return collector;
}

function grown([key, { count, values, sum, lost, min, max }]: readonly [GroupValue, Growing]): Counted {
  const total = sum + lost;
  return toGroup(key, count, { count: values, sum: total, avg: total / values, min, max });
}

function* chunks<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let chunk: T[] = [];
  for (const item of items) {
    if (chunk.push(item) < size) continue;
    yield chunk;
    chunk = [];
  }
  yield chunk;
}

function grow(groups: Map<GroupValue, Growing>, key: GroupValue, value: number | null): void {
  let group = groups.get(key);
  if (group === undefined) {
    group = { count: 0, values: 0, sum: 0, lost: 0, min: Infinity, max: -Infinity };
    groups.set(key, group);
  }
  group.count += 1;
  if (value === null) return;
  const next = group.sum + value;
  group.lost += Math.abs(group.sum) >= Math.abs(value) ? group.sum - next + value : value - next + group.sum;
  group.sum = next;
  group.values += 1;
  group.min = Math.min(group.min, value);
  group.max = Math.max(group.max, value);
}

function keysOf(by: Grouping): (row: EventRow) => readonly GroupValue[] {
  if (by.kind === "bands") return () => [];
  if (by.kind === "period") {
    const keyOf = keyOfPeriod(by);
    return ({ created }) => [keyOf(created)];
  }
  const { field } = by;
  if (field === "value") return ({ value }) => [value];
  return (row) => {
    const texts = textsOf(row, field);
    return texts.length === 0 ? [""] : texts;
  };
}

/** Absent keys and aggregates are smaller than all others; ties go to the smaller key. */
function orderOf({ sort, aggregates }: GroupPlan): (a: Ranked, b: Ranked) => number {
  const sign = sort.direction === "asc" ? 1 : -1;
  if (sort.by === "key") return (a, b) => sign * compareKeys(a, b);
  const by = valueOf(aggregates[sort.by]!);
  return (a, b) => sign * compareNumbers(a.group[by], b.group[by]) || compareKeys(a, b);
}

function compareKeys(a: Ranked, b: Ranked): number {
  if (typeof a.folded === "string" && typeof b.folded === "string")
    return compareCodePoints(a.folded, b.folded) || compareCodePoints(String(a.group.key), String(b.group.key));
  return compareNumbers(a.folded as number | null, b.folded as number | null);
}

function compareNumbers(a: number | null, b: number | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
