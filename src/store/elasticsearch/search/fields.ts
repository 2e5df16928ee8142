import type { Client, estypes } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";

import { parseAttributes, textsOfAttribute } from "../../../events/attributes.ts";
import { patternOf } from "../../../events/pattern.ts";
import type { LogKey } from "../../../events/event.ts";
import { compareCodePoints } from "../../../events/text.ts";
import { LISTED_FIELDS } from "../../store.ts";
import type { FieldSummary, FieldsQuery } from "../../store.ts";
import { ATTRIBUTE_PATHS, columnOf, keyOf, nameOf, readKindTerm } from "../attributes.ts";
import type { ValueKind } from "../attributes.ts";
import type { Document } from "../document.ts";
import { doubtOfEarlier } from "../text-index/doubts.ts";
import type { Names } from "../mapping.ts";
import { compositePages } from "../groups/parts.ts";
import { and, or } from "./queries.ts";
import type { Query } from "./queries.ts";
import { ANY_ORDER, isFound, scan, searcherOf, withPointInTime } from "./scan.ts";
import type { Aggregate, Bucket, RawKey, Searcher } from "./scan.ts";

type Field = (typeof LISTED_FIELDS)[number];
type Aggs = Record<string, estypes.AggregationsAggregationContainer>;

/** Number of names or values read in one pass. If there are more, all are read page by page. */
const PAGE = 10_000;
/**
 * Number of distinct values that a shard may return in one pass. Each temporarily takes some 150
 * bytes of the node's memory.
 */
const SHARD_SIZE_OF_MANY = 1_000_000;
/** Number of fields whose values are requested at once. */
const FIELDS_PER_SEARCH = 32;
const BATCH = 2000;
/** Extra numbers: equally frequent ones are sorted by their texts, which the index lacks. */
const MORE_NUMBERS = 1000;

/** Queries for events that have a field. Every text has a pattern. */
const PRESENT: Record<Field, Query> = {
  created: { match_all: {} },
  text: { exists: { field: "folded.text" } },
  link: { exists: { field: "folded.link" } },
  tags: { exists: { field: "folded.tags" } },
  source: { exists: { field: "folded.source" } },
  class: { exists: { field: "folded.class" } },
  data: { term: { has: "data" } },
  geo: { term: { has: "geo" } },
  value: { exists: { field: "value" } },
  user: { exists: { field: "folded.user" } },
  pattern: { exists: { field: "folded.text" } },
};
const KINDS: Partial<Record<Field, FieldSummary["kind"]>> = { created: "time", geo: "place", value: "number" };
const WITHOUT_VALUES: ReadonlySet<Field> = new Set(["created", "text", "data", "geo"]);

/** A field that events have, with the column of its values, or null if values are not shown. */
type Listed = Omit<FieldSummary, "values"> & { readonly column: string | null };

/** Implements {@link Store.fields}. */
export async function fields(client: Client, names: Names, fieldsQuery: FieldsQuery): Promise<FieldSummary[]> {
  const { log, from, to, prefix } = fieldsQuery;
  const created = { ...(from !== null && { gte: from }), ...(to !== null && { lt: to }) };
  const query: Query = { bool: { filter: [{ term: { log } }, { range: { created } }] } };
  return withPointInTime(client, names.events, async (search) => {
    const rest = restOf(query, names.earlier);
    const mayListAttributes = prefix === "" || prefix.startsWith("@");
    const [ofEvents, ofAttributes, hasRest] = await Promise.all([
      listedFields(search, query, prefix),
      mayListAttributes ? listedAttributes(search, query, prefix.slice(1)) : [],
      isFound(search, rest),
    ]);
    const listed = [...ofEvents, ...ofAttributes];
    const columns = await columnsOf(client, names, listed);
    const values = await valuesOf(search, query, {
      columns,
      listed,
      most: fieldsQuery.values,
      rest: hasRest ? rest : null,
    });
    return listed.map(({ name, kind, count, column }) => ({
      name,
      kind,
      count,
      values: (column === null ? undefined : values.get(column)) ?? [],
    }));
  });
}

/** Implements {@link Store.attributeNames}. */
export async function attributeNames(client: Client, names: Names, log: LogKey): Promise<string[]> {
  const counts = await countsOf(searcherOf(client, names.events), { term: { log } }, ATTRIBUTE_PATHS.keys);
  return Array.from(counts.keys(), nameOf);
}

/** Returns the listed columns that indices have, which only few of ten thousand names do. */
async function columnsOf(client: Client, { events }: Names, listed: readonly Listed[]): Promise<string[]> {
  const columns = listed.flatMap(({ column }) => column ?? []);
  if (columns.length <= FIELDS_PER_SEARCH) return columns;
  const found = await client.fieldCaps({ index: events, fields: columnOf("texts", "*"), ignore_unavailable: true });
  return columns.filter((column) => !column.includes(".") || Object.hasOwn(found.fields, column));
}

async function listedFields(search: Searcher, query: Query, prefix: string): Promise<Listed[]> {
  const listed = LISTED_FIELDS.filter((field) => field.startsWith(prefix));
  if (listed.length === 0) return [];
  const aggs = Object.fromEntries(listed.map((field) => [field, { filter: PRESENT[field] }]));
  const { aggregations } = await search({ query, size: 0, track_total_hits: false, aggs });
  return listed.flatMap((name) => {
    const count = aggregations?.[name]?.doc_count ?? 0;
    if (count === 0) return [];
    return { name, kind: KINDS[name] ?? "text", count, column: WITHOUT_VALUES.has(name) ? null : name };
  });
}

async function listedAttributes(search: Searcher, query: Query, prefix: string): Promise<Listed[]> {
  const [counts, kindTerms] = await Promise.all([
    countsOf(search, query, ATTRIBUTE_PATHS.keys, keyOf(prefix)),
    countsOf(search, query, ATTRIBUTE_PATHS.kinds, keyOf(prefix)),
  ]);
  const kinds = new Map<string, ValueKind[]>();
  for (const term of kindTerms.keys()) {
    const { key, kind } = readKindTerm(term);
    kinds.set(key, [...(kinds.get(key) ?? []), kind]);
  }
  const listed = Array.from(counts, ([key, count]) => {
    const [kind = "text", another] = kinds.get(key) ?? [];
    return {
      name: `@${nameOf(key)}`,
      kind: another === undefined ? kind : ("mixed" as const),
      count,
      column: columnOf("texts", key),
    };
  });
  return listed.sort((a, b) => compareCodePoints(a.name, b.name));
}

/** Returns all terms of a field with a prefix, and the number of events of each. */
async function countsOf(search: Searcher, query: Query, field: string, prefix = ""): Promise<Map<string, number>> {
  const include = prefix === "" ? {} : { include: `${prefix}.*` };
  const { aggregations } = await search({
    query,
    size: 0,
    track_total_hits: false,
    aggs: { terms: { terms: { field, size: PAGE, shard_size: PAGE, ...include } } },
  });
  const terms = aggregations?.["terms"];
  if ((terms?.sum_other_doc_count ?? 0) === 0) {
    return new Map(terms?.buckets?.map((bucket) => [termOf(bucket), bucket.doc_count]));
  }
  const all = await allCounts(search, query, field);
  return new Map(all.entries().filter(([term]) => term.startsWith(prefix)));
}

function termOf({ key }: Bucket): string {
  return typeof key === "object" ? "" : String(key);
}

async function allCounts(search: Searcher, query: Query, field: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const sources = [{ term: { terms: { field } } }];
  for await (const buckets of compositePages(search, query, { sources, size: PAGE }, {})) {
    for (const { key, doc_count: count } of buckets) {
      counts.set(String((key as Record<string, RawKey>)["term"]), count);
    }
  }
  return counts;
}

type Values = FieldSummary["values"];
type ValuesRequest = {
  readonly columns: readonly string[];
  readonly listed: readonly Listed[];
  readonly most: number;
  /** Finds events with values that no column holds; null if there are none. */
  readonly rest: Query | null;
};

/** Returns the most frequent values of fields, by column. */
async function valuesOf(
  search: Searcher,
  query: Query,
  { columns, listed, most, rest }: ValuesRequest,
): Promise<Map<string, Values>> {
  const found = new Map<string, Values>();
  const shown = new Set(listed.flatMap(({ column }) => column ?? []));
  if (most === 0 || shown.size === 0) return found;
  const tallies = rest === null ? new Map<string, never>() : await talliesOfRest(search, rest, shown);
  for (const column of shown.difference(new Set(columns))) {
    found.set(column, firstOf(NONE, tallies.get(column), most));
  }
  for (let from = 0; from < columns.length; from += FIELDS_PER_SEARCH) {
    const some = columns.slice(from, from + FIELDS_PER_SEARCH);
    const aggs: Aggs = Object.fromEntries(some.map((field, i) => [i, topTerms(field, most, PAGE)]));
    const { aggregations } = await search({ query, size: 0, track_total_hits: false, aggs });
    for (const [i, column] of some.entries()) {
      const tally = tallies.get(column);
      const top = tally === undefined ? topOf(aggregations?.[i], column, most) : null;
      const exact = top ?? (tally === undefined ? await topOfMany(search, query, column, most) : null);
      found.set(column, exact ?? firstOf(await allCounts(search, query, column), tally, most));
    }
  }
  return found;
}

const NONE: ReadonlyMap<string, number> = new Map();

function topTerms(field: string, most: number, ofShard: number): Aggs[string] {
  const size = field === "value" ? Math.max(most, MORE_NUMBERS) : most;
  const order = [{ _count: "desc" as const }, { _key: "asc" as const }];
  return { terms: { field, size, order, shard_size: ofShard, show_term_doc_count_error: true } };
}

/**
 * Returns the top values from one pass in which each shard returns all its values, or null if a
 * shard has too many or a node lacks the memory.
 */
async function topOfMany(search: Searcher, query: Query, column: string, most: number): Promise<Values | null> {
  const aggs = { all: topTerms(column, most, SHARD_SIZE_OF_MANY) };
  try {
    const { aggregations } = await search({ query, size: 0, track_total_hits: false, aggs });
    return topOf(aggregations?.["all"], column, most);
  } catch (error) {
    if (!(error instanceof errors.ResponseError)) throw error;
    if (JSON.stringify(error.body ?? null).includes("circuit_breaking_exception")) return null;
    throw error;
  }
}

/** Returns the top values from one pass, or null if they may be wrong. */
function topOf(terms: Aggregate | undefined, column: string, most: number): Values | null {
  if ((terms?.doc_count_error_upper_bound ?? 0) > 0) return null;
  const counts = new Map(terms?.buckets?.map((bucket) => [termOf(bucket), bucket.doc_count]));
  const last = terms?.buckets?.at(-1)?.doc_count;
  const values = firstOf(counts, undefined, most);
  // Some of the numbers left out may be as frequent and sort earlier.
  if (column === "value" && (terms?.sum_other_doc_count ?? 0) > 0 && values.at(-1)?.count === last) return null;
  return values;
}

function firstOf(
  counts: ReadonlyMap<string, number>,
  others: ReadonlyMap<string, number> | undefined,
  most: number,
): Values {
  const all = new Map(counts);
  for (const [value, count] of others ?? []) all.set(value, (all.get(value) ?? 0) + count);
  return Array.from(all, ([value, count]) => ({ value, count }))
    .sort((a, b) => b.count - a.count || compareCodePoints(a.value, b.value))
    .slice(0, most);
}

/**
 * Counts values that no column holds: of attributes without columns in their documents, and
 * patterns of documents of an earlier release. Each such document is read.
 */
async function talliesOfRest(
  search: Searcher,
  rest: Query,
  columns: ReadonlySet<string>,
): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
  const tallies = new Map<string, Map<string, number>>();
  const count = (column: string, values: readonly string[]): void => {
    if (!columns.has(column)) return;
    const tally = tallies.get(column) ?? new Map<string, number>();
    tallies.set(column, tally);
    for (const value of new Set(values)) tally.set(value, (tally.get(value) ?? 0) + 1);
  };
  const shown = { includes: ["text", "pattern", "attributes", ATTRIBUTE_PATHS.rest] };
  for await (const hits of scan(search, { query: rest, sort: ANY_ORDER, batch: BATCH, source: shown })) {
    for (const { _source: source, _ignored: ignored = [] } of hits) {
      const document = source as Partial<Document>;
      if (document.pattern === undefined && document.text) count("pattern", [patternOf(document.text)]);
      const attributes = parseAttributes(document.attributes ?? null);
      const lacking = new Set([...lackingIn(document), ...ignored]);
      for (const name of lacking.size === 0 ? [] : attributes.keys()) {
        const column = columnOf("texts", keyOf(name));
        if (lacking.has(column)) count(column, textsOfAttribute(attributes, name));
      }
    }
  }
  return tallies;
}

/** Finds documents with values that no column holds. */
function restOf(query: Query, earlier: readonly string[]): Query {
  const unpatterned = doubtOfEarlier("pattern", earlier);
  const rest = or([{ exists: { field: ATTRIBUTE_PATHS.rest } }, { exists: { field: "_ignored" } }]);
  return and([query, unpatterned === null ? rest : or([rest, unpatterned])]);
}

/** Returns the columns that a document lacks. */
function lackingIn({ indexed }: Partial<Document>): string[] {
  return (indexed?.rest ?? []).map((key) => columnOf("texts", key));
}
