import type { Client } from "@elastic/elasticsearch";

import { parseNumber } from "../../../../events/attributes.ts";
import { meetsHaving, orderOfGroups } from "../../../../query/groups.ts";
import type { Ranked } from "../../../../query/groups.ts";
import { isAttribute } from "../../../../query/plan.ts";
import type { GroupPlan, Grouping } from "../../../../query/plan.ts";
import { conditionTimeBounds } from "../../../../query/time-range.ts";
import { emptyValues, GroupLengths, MAX_GROUPS, tooLongGroups, tooManyGroups } from "../../../groups.ts";
import type { Group } from "../../../store.ts";
import { aggregateComputation } from "./aggregates.ts";
import type { Computation } from "./aggregates.ts";
import { runPlan, verified } from "../candidates.ts";
import type { CompileOptions, VerifiedData } from "../../compile/compile.ts";
import type { Query } from "../../client/queries.ts";
import { ROW_SOURCE } from "../../documents/document.ts";
import { isTooMany, MAX_DISTINCT, MAX_VALUES, WITHOUT_VALUES } from "./distinct.ts";
import type { DistinctHints } from "./distinct.ts";
import { uncertainGroupQueries } from "../../compile/uncertain.ts";
import { combinations, groupsOfRows, MAX_GROUPS_IN_MEMORY } from "./group-rows.ts";
import { isOneIndex } from "../per-index.ts";
import { recordIndex } from "../../documents/mapping.ts";
import type { Names } from "../../documents/mapping.ts";
import { groupsOfPart, keysIn, groupPart } from "./parts.ts";
import type { Part, RawGroup } from "./parts.ts";
import { ANY_ORDER, withPointInTime } from "../../client/scan.ts";
import type { Searcher } from "../../client/scan.ts";
import { refine } from "./refine.ts";
import type { Estimated } from "./refine.ts";
import { readTimeRange } from "../seek.ts";
import { timeSlices } from "../../compile/slices.ts";
import type { GroupSlice, TimeSpan } from "../../compile/slices.ts";
import { topGroups } from "./top-groups.ts";
import { sortYielding } from "../../../../scheduling/yielding.ts";
import type { WorkKind } from "../../../../scheduling/yielding.ts";

/** Number of groups sorted at once. */
const PAGE = 10_000;
/** Groups per request where a key may be as long as a text, so that an answer fits into the memory. */
const PAGE_OF_TEXTS = 2_500;
/** Number of parts requested concurrently. */
const MAX_CONCURRENT_PARTS = 4;

/** Computes the groups of a plan. Groups outside the page are dropped as they arrive. */
export async function group(
  client: Client,
  names: Names,
  plan: GroupPlan,
  { hints, querying }: { readonly hints: DistinctHints; readonly querying: WorkKind },
): Promise<Group[]> {
  if (plan.take === 0) return [];
  if (plan.logs.length === 0) return (await collected(plan, [], querying)).finish();
  const index = recordIndex(names, plan.from);
  const optionsWith = (data?: VerifiedData): CompileOptions => (data === undefined ? {} : { verifiedData: data });
  const computationWith = (data?: VerifiedData): Computation =>
    aggregateComputation(plan, optionsWith(data), "estimated");
  const fromRows = async (rows: Parameters<typeof groupsOfRows>[1]): Promise<Collector> =>
    collected(plan, await groupsOfRows(plan, rows, querying), querying);
  const byScanning = (query: Query): Promise<Collector> =>
    withPointInTime(client, index, (search) =>
      fromRows(verified(search, plan, { query, sort: ANY_ORDER, isWhole: true, querying })),
    );
  const collector = await runPlan(plan, {
    exact: async (query, search, data) => {
      const computation = computationWith(data);
      if (computation.distinct.length === 0) {
        const isOneShard = (): Promise<boolean> => isOneIndex(client, index);
        return countedGroups(search, plan, computation, query, { isOneShard, querying });
      }
      return distinctGroups(search, plan, {
        options: optionsWith(data),
        hints,
        estimating: computation,
        query,
        querying,
      });
    },
    exactness: (data) => {
      const { exact, doubts } = computationWith(data);
      return { isExact: exact, doubts: [...uncertainGroupQueries(plan), ...doubts] };
    },
    byScanning,
    fromRows,
    isWhole: true,
    querying,
    few: { client, index, source: ROW_SOURCE },
  });
  return collector.finish();
}

type Collector = {
  /** Adds groups. @throws LoggiaError `unsupported` if there are more than the limit */
  add(groups: Iterable<Group>): Promise<void>;
  finish(): Promise<Group[]>;
};

/** Collects the groups that a plan may show. */
function collectorOf(plan: GroupPlan, querying: WorkKind): Collector {
  const { rank, compare } = orderOfGroups<Group>(plan, parseNumber);
  const { having } = plan;
  const wanted = plan.take === null ? MAX_GROUPS : plan.skip + plan.take;
  let ranked: Ranked<Group>[] = [];
  let lengths = new GroupLengths();
  let isEmpty = true;
  const take = (group: Group): void => {
    isEmpty = false;
    if (having === null || meetsHaving(having, group.values)) keep(rank(group));
  };
  const keep = (one: Ranked<Group>): void => {
    lengths.add(one.group.keys);
    lengths.add(one.group.values);
    ranked.push(one);
  };
  return {
    async add(groups) {
      for (const group of groups) take(group);
      if (ranked.length <= wanted * 2 + PAGE && ranked.length <= MAX_GROUPS && !lengths.isFull) return;
      if (wanted >= MAX_GROUPS) throw lengths.isFull ? tooLongGroups() : tooManyGroups();
      // More groups may be added during the sort.
      const some = ranked;
      ranked = [];
      lengths = new GroupLengths();
      for (const one of (await sortYielding(some, compare, querying)).slice(0, wanted)) keep(one);
      if (lengths.isFull) throw tooLongGroups();
    },
    async finish() {
      // Without keys there is always one group.
      if (isEmpty && plan.by.length === 0) take(emptyGroup(plan));
      const sorted = await sortYielding(ranked, compare, querying);
      return sorted.slice(plan.skip, plan.take === null ? undefined : wanted).map(({ group }) => group);
    },
  };
}

function emptyGroup({ aggregates }: GroupPlan): Group {
  return { keys: [], values: emptyValues(aggregates) };
}

async function collected(plan: GroupPlan, groups: Iterable<Group>, querying: WorkKind): Promise<Collector> {
  const collector = collectorOf(plan, querying);
  for (const some of chunks(groups, PAGE)) await collector.add(some);
  return collector;
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

/** Computes groups with distinct counts, in one pass if the values are known to be few. */
async function distinctGroups(
  search: Searcher,
  plan: GroupPlan,
  {
    options,
    hints,
    estimating,
    query,
    querying,
  }: {
    readonly options: CompileOptions;
    readonly hints: DistinctHints;
    readonly estimating: Computation;
    readonly query: Query;
    readonly querying: WorkKind;
  },
): Promise<Collector> {
  if (hints.wayOf(plan) === "counted") {
    const withoutValues: Searcher = (request) => search({ ...request, filter_path: WITHOUT_VALUES });
    try {
      return await countedGroups(withoutValues, plan, aggregateComputation(plan, options, "counted"), query, {
        querying,
      });
    } catch (error) {
      if (!isTooMany(error)) throw error;
      hints.note(plan, "estimated");
    }
  }
  const tally = { values: 0, most: 0 };
  const collector = await countedGroups(search, plan, estimating, query, { querying, tally });
  hints.note(plan, tally.most <= MAX_DISTINCT && tally.values <= MAX_VALUES ? "counted" : "estimated");
  return collector;
}

/** Estimated number of distinct values, in all and of the largest group. */
type Tally = { values: number; most: number };

type Counting = {
  readonly querying: WorkKind;
  readonly tally?: Tally;
  /** Whether all groups are probably from a single shard. */
  readonly isOneShard?: () => Promise<boolean>;
};

/** Computes in the index the groups of the events that an exact query finds. */
async function countedGroups(
  search: Searcher,
  plan: GroupPlan,
  given: Computation,
  query: Query,
  { querying, tally = { values: 0, most: 0 }, isOneShard = async () => false }: Counting,
): Promise<Collector> {
  const computation = plan.by.some(isOfTexts) ? { ...given, page: Math.min(given.page, PAGE_OF_TEXTS) } : given;
  const collector = collectorOf(plan, querying);
  const span = await spanOfGroups(search, plan, query);
  if (span === null) return collector;
  const slices = plan.by.map((by) => timeSlices(by, span));
  if (slices.every((some) => some.length === 1)) {
    const part = groupPart(query, slices.flat());
    const top = await topGroups(search, plan, part, { computation, isOneShard });
    if (top !== null) {
      await collector.add(groupsFrom(top, part, computation).map(({ keys, values }) => ({ keys, values })));
      return collector;
    }
  }
  for (const some of chunks(partsOf(query, slices), MAX_CONCURRENT_PARTS)) {
    await Promise.all(some.map((part) => collectPart(search, part, { computation, collector, tally })));
  }
  return collector;
}

const LONG_FIELDS: ReadonlySet<string> = new Set(["text", "pattern", "link"]);

function isOfTexts(by: Grouping): boolean {
  return by.kind === "field" && (LONG_FIELDS.has(by.field) || isAttribute(by.field));
}

/** Yields a part for each combination of slices. There may be many, so they are created lazily. */
function* partsOf(query: Query, slices: readonly (readonly GroupSlice[])[]): Generator<Part> {
  const last = slices.at(-1);
  if (last === undefined) yield groupPart(query, []);
  else
    for (const some of combinations(slices.slice(0, -1)))
      for (const each of last) yield groupPart(query, [...some, each]);
}

/**
 * Returns the span of the events of a plan, or null if there are none. A narrow span avoids clock
 * changes, each of which adds parts.
 */
async function spanOfGroups(search: Searcher, { by, where }: GroupPlan, query: Query): Promise<TimeSpan | null> {
  const [from, to] = conditionTimeBounds(where);
  const changes = by.flatMap((each) => (each.kind === "period" ? each.zone.changes : []));
  const within = ({ first, last }: { first: number; last: number }): TimeSpan => [
    Math.max(from, first),
    Math.min(to, last),
  ];
  const countIn = ([start, end]: TimeSpan): number => changes.filter(({ at_ms: at }) => start < at && at <= end).length;
  if (countIn([from, to]) <= FEW_CHANGES) return [from, to];
  const all = await readTimeRange(search);
  if (all === null) return null;
  if (countIn(within(all)) <= FEW_CHANGES) return within(all);
  const found = await readTimeRange(search, query);
  return found === null ? null : within(found);
}

/** Number of clock changes up to which narrowing the span is not worth a request. */
const FEW_CHANGES = 6;

function groupsFrom(groups: readonly RawGroup[], part: Part, { read }: Computation): (Group & Estimated)[] {
  return groups.map((raw) => ({ ...raw, keys: keysIn(part, raw.raw), values: read(raw.bucket) }));
}

async function collectPart(
  search: Searcher,
  part: Part,
  { computation, collector, tally }: { computation: Computation; collector: Collector; tally: Tally },
): Promise<void> {
  const estimated: (Group & Estimated)[] = [];
  const lengths = new GroupLengths();
  for await (const groups of groupsOfPart(search, part, computation)) {
    const some = groupsFrom(groups, part, computation);
    if (computation.distinct.length === 0 && computation.percentiles.length === 0) {
      await collector.add(some.map(({ keys, values }) => ({ keys, values })));
      continue;
    }
    estimated.push(...some);
    if (estimated.length > MAX_GROUPS_IN_MEMORY) throw tooManyGroups();
    for (const { keys, values } of some) lengths.add([...keys, ...values]);
    if (lengths.isFull) throw tooLongGroups();
  }
  for (const { aggregate } of computation.distinct) {
    for (const { values } of estimated) {
      tally.values += values[aggregate] as number;
      tally.most = Math.max(tally.most, values[aggregate] as number);
    }
  }
  await refine(search, part, computation, estimated);
  for (const some of chunks(estimated, PAGE)) await collector.add(some.map(({ keys, values }) => ({ keys, values })));
}
