import type { Client, estypes } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";

import type { EventRow } from "../../events/event.ts";
import { compareCodePoints, fold } from "../../events/text.ts";
import type { GroupField, GroupPlan, Grouping } from "../../query/plan.ts";
import { MAX_GROUPS, tooManyGroups } from "../groups.ts";
import type { Group } from "../store.ts";
import { answer, verified } from "./candidates.ts";
import type { Query } from "./compile.ts";
import { ROW_SOURCE } from "./document.ts";
import { indexOf } from "./mapping.ts";
import type { Names } from "./mapping.ts";
import { ANY_ORDER, atOneMoment, searcherOf, totalOf } from "./scan.ts";
import type { Aggregate, Searcher, Stats } from "./scan.ts";
import { sortGently } from "./sort-gently.ts";
import { textsOf } from "./verify.ts";

/** As many groups are asked for in one request: well within what a cluster gives at once unless told otherwise (65,536). */
const PAGE = 10_000;
/** Groups that rows are sorted into at once, before any is left out. */
const MAX_GROWING = 1_000_000;
const MINUTE_MS = 60_000;

/** Answers a group plan with all its groups, however many: those that `take` leaves out are dropped while they arrive. */
export async function group(client: Client, names: Names, plan: GroupPlan): Promise<Group[]> {
  if (plan.logs.length === 0 || plan.take === 0) return [];
  const index = indexOf(names, plan.from);
  const collector = await answer(plan, {
    exactly: (query) => countedGroups(searcherOf(client, index), plan, query),
    looking: (query) =>
      atOneMoment(client, index, (search) =>
        groupsOf(plan, verified(search, plan, { query, sort: ANY_ORDER, source: ROW_SOURCE })),
      ),
    among: (rows) => groupsOf(plan, rows),
    few: { client, index, wordless: names.wordless, source: ROW_SOURCE },
  });
  return await collector.finish();
}

type Collector = {
  /** Some more of the groups. @throws LoggiaError `unsupported` where there are more than are answered */
  add(groups: Iterable<Group>): Promise<void>;
  finish(): Promise<Group[]>;
};

/** A group, with its key as keys are compared. */
type Ranked = { readonly group: Group; readonly folded: Group["key"] };

/** Keeps the groups that a plan may show. */
function collectorOf(plan: GroupPlan): Collector {
  const order = orderOf(plan.sort);
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
  const { by } = plan;
  const few =
    by.kind === "field" ? fewGroups(search, by.field, query, collector) : fewTimes(search, by, query, collector);
  if (!(await few)) await allGroups(search, by, query, collector);
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

async function absentGroup(search: Searcher, field: GroupField, query: Query): Promise<Group[]> {
  const { aggregations } = await search({
    query,
    size: 0,
    track_total_hits: false,
    aggs: { absent: { missing: { field }, aggs: STATS } },
  });
  const absent = aggregations?.["absent"];
  return absent?.doc_count ? [toGroup(field === "value" ? null : "", absent.doc_count, absent.stats)] : [];
}

type Calendar = Extract<Grouping, { kind: "day" | "hour" }>;

/** One pass by a histogram: half as much work as {@link allGroups}. False, with nothing collected, where there are more groups than a cluster gives at once. */
async function fewTimes(search: Searcher, by: Calendar, query: Query, collector: Collector): Promise<boolean> {
  const aggs = { groups: { date_histogram: { ...timesOf(by), min_doc_count: 1 }, aggs: STATS } };
  try {
    const { aggregations } = await search({ query, size: 0, track_total_hits: false, aggs });
    const found = aggregations?.["groups"]?.buckets ?? [];
    await collector.add(found.map(({ key, doc_count, stats }) => toGroup(key as number, doc_count, stats)));
    return true;
  } catch (error) {
    if (isTooManyBuckets(error)) return false;
    throw error;
  }
}

function isTooManyBuckets(error: unknown): boolean {
  return error instanceof errors.ResponseError && JSON.stringify(error.body ?? null).includes("too_many_buckets");
}

/** All groups in the order of their keys, page by page; each page is a pass over the events. */
async function allGroups(search: Searcher, by: Grouping, query: Query, collector: Collector): Promise<void> {
  let after: Aggregate["after_key"];
  do {
    const { aggregations } = await search({
      query,
      size: 0,
      track_total_hits: false,
      aggs: {
        groups: {
          composite: {
            size: PAGE,
            sources: [{ key: keySource(by) }],
            ...(after !== undefined && { after }),
          },
          aggs: STATS,
        },
      },
    });
    const groups = aggregations?.["groups"];
    await collector.add(
      (groups?.buckets ?? []).map(({ key, doc_count, stats }) =>
        toGroup(keyOf(by, key as Record<string, string | number | null>), doc_count, stats),
      ),
    );
    after = groups?.buckets?.length === PAGE ? groups.after_key : undefined;
  } while (after !== undefined);
}

function keySource(by: Grouping): estypes.AggregationsCompositeAggregationSource {
  if (by.kind === "field") return { terms: { field: by.field, missing_bucket: true } };
  return { date_histogram: timesOf(by) };
}

function timesOf(by: Calendar): { field: string; fixed_interval: string; offset: string } {
  // A day begins earlier in UTC the further east it is.
  const offset = -by.offset_min;
  return {
    field: "created",
    fixed_interval: by.kind === "day" ? "1d" : "1h",
    offset: `${offset < 0 ? "-" : "+"}${Math.abs(offset)}m`,
  };
}

function keyOf(by: Grouping, composite: Record<string, string | number | null>): Group["key"] {
  const key = composite["key"] ?? null;
  return key === null && by.kind === "field" && by.field !== "value" ? "" : key;
}

function toGroup(key: Group["key"], count: number, stats: Stats | undefined): Group {
  if (stats === undefined || stats.count === 0) return { key, count, avg: null, sum: null, min: null, max: null };
  return { key, count, avg: stats.avg, sum: stats.sum, min: stats.min, max: stats.max };
}

/** A group that grows: its sum carries the rounding error of each step along (Neumaier). */
type Growing = { count: number; values: number; sum: number; lost: number; min: number; max: number };

async function groupsOf(plan: GroupPlan, rows: readonly EventRow[] | AsyncIterable<EventRow>): Promise<Collector> {
  const growing = new Map<Group["key"], Growing>();
  for await (const row of rows) {
    for (const key of new Set(keysOf(plan.by, row))) grow(growing, key, row.value);
    if (growing.size > MAX_GROWING) throw tooManyGroups();
  }
  const collector = collectorOf(plan);
  for (const some of chunks(growing, PAGE)) await collector.add(some.map(grown));
  return collector;
}

function grown([key, { count, values, sum, lost, min, max }]: readonly [Group["key"], Growing]): Group {
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

function grow(groups: Map<Group["key"], Growing>, key: Group["key"], value: number | null): void {
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

function keysOf(by: Grouping, row: EventRow): readonly Group["key"][] {
  if (by.kind !== "field") {
    const length_ms = (by.kind === "day" ? 24 * 60 : 60) * MINUTE_MS;
    const offset_ms = by.offset_min * MINUTE_MS;
    return [Math.floor((row.created + offset_ms) / length_ms) * length_ms - offset_ms];
  }
  if (by.field === "value") return [row.value];
  const texts = textsOf(row, by.field);
  return texts.length === 0 ? [""] : texts;
}

/** Absent keys and aggregates are smaller than all others; ties go to the smaller key. */
function orderOf({ by, direction }: GroupPlan["sort"]): (a: Ranked, b: Ranked) => number {
  const sign = direction === "asc" ? 1 : -1;
  if (by === "key") return (a, b) => sign * compareKeys(a, b);
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
