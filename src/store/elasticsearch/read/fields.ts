import type { Client, estypes } from "@elastic/elasticsearch";

import type { LogKey } from "../../../events/event.ts";
import { mapKeywords } from "../../../events/map-keywords.ts";
import { compareCodePoints } from "../../../events/text.ts";
import { sortYielding } from "../../../scheduling/yielding.ts";
import { hasListedValues, kindOfField, LISTED_FIELDS } from "../../listed-fields.ts";
import type { ListedField } from "../../listed-fields.ts";
import type { FieldsAnswer, FieldsQuery, FieldSummary } from "../../store.ts";
import {
  ATTRIBUTE_PATHS,
  attributeColumn,
  attributeKey,
  attributeKindTerms,
  attributeName,
  readKindTerm,
} from "../documents/attributes.ts";
import type { ValueKind } from "../documents/attributes.ts";
import type { Names } from "../documents/mapping.ts";
import { bucketTerm, readFieldValues } from "./field-values.ts";
import { exists } from "../compile/compile.ts";
import { and, or } from "../client/queries.ts";
import type { Query } from "../client/queries.ts";
import { newSearcher, answerTotal, withPointInTime } from "../client/scan.ts";
import type { Aggregate, Searcher } from "../client/scan.ts";

type Aggs = Record<string, estypes.AggregationsAggregationContainer>;

/** Columns up to which their existence is not checked. */
const FEW_COLUMNS = 32;
/** Attributes whose kinds are requested at once, if there are unlisted ones. */
const KEYS_PER_SEARCH = 1_000;
/** Most distinct names that Elasticsearch counts exactly, in about 320 KB; beyond it estimates. */
const EXACT_NAMES = 40_000;
/** Most names with a prefix that are counted. */
const COUNTED_NAMES = 60_000;
/** Events with values that no column holds, up to which all are read for them. */
const MOST_REST = 50_000;
/** Characters of a prefix that become part of an expression. */
const PREFIX_LENGTH = 900;

/** Queries for events that have a field. Every text has a pattern. */
const PRESENT: Record<ListedField, Query> = {
  ...mapKeywords((name) => exists(name)),
  created: { match_all: {} },
  text: { exists: { field: "folded.text" } },
  tags: { exists: { field: "folded.tags" } },
  class: { exists: { field: "folded.class" } },
  data: { term: { has: "data" } },
  geo: { term: { has: "geo" } },
  value: { exists: { field: "value" } },
  pattern: { exists: { field: "folded.pattern" } },
};

/** A field that events have, with the column of its values, or null if values are not shown. */
type Listed = Omit<FieldSummary, "values"> & { readonly column: string | null };

/**
 * Implements {@link Store.fields}.
 * @param most most attributes listed
 * @param mostRest events without columns for some values, up to which these are counted
 */
export async function fields(
  client: Client,
  names: Names,
  fieldsQuery: FieldsQuery,
  { most, mostRest = MOST_REST }: { readonly most: number; readonly mostRest?: number },
): Promise<FieldsAnswer> {
  const { log, from, to, prefix } = fieldsQuery;
  const created = { ...(from !== null && { gte: from }), ...(to !== null && { lt: to }) };
  const query: Query = { bool: { filter: [{ term: { log } }, { range: { created } }] } };
  return withPointInTime(client, names.events, async (search) => {
    const rest = restOf(query);
    const mayListAttributes = prefix === "" || prefix.startsWith("@");
    const [ofEvents, { attributes, unlisted }, restAnswer] = await Promise.all([
      listedFields(search, query, prefix),
      mayListAttributes ? listedAttributes(search, query, { prefix: prefix.slice(1), most }) : NO_ATTRIBUTES,
      search({ query: rest, size: 0, track_total_hits: mostRest + 1 }),
    ]);
    const restCount = answerTotal(restAnswer);
    const frequentFirst = [...ofEvents, ...attributes].flatMap(({ column }) => column ?? []);
    const values = await readFieldValues(search, {
      query,
      listed: frequentFirst,
      existing: await existingOf(client, names, frequentFirst),
      most: fieldsQuery.values,
      rest: restCount === 0 ? null : rest,
      isRestRead: restCount <= mostRest,
    });
    const byName = await sortYielding(attributes, (a, b) => compareCodePoints(a.name, b.name));
    const listed = [...ofEvents, ...byName];
    const isWithout = ({ column }: Listed): boolean => column !== null && !values.has(column);
    return {
      fields: listed.map(({ name, kind, count, column }) => ({
        name,
        kind,
        count,
        values: (column === null ? undefined : values.get(column)) ?? [],
      })),
      unlisted,
      withoutValues: fieldsQuery.values === 0 ? 0 : listed.filter(isWithout).length,
    };
  });
}

/** Implements {@link Store.attributeNames}. @param most most names */
export async function attributeNames(client: Client, names: Names, log: LogKey, most: number): Promise<string[]> {
  const terms = await topTermsOf(newSearcher(client, names.events), { term: { log } }, { size: most });
  return Array.from(countsIn(terms).keys(), attributeName);
}

/** Returns the listed columns that indices have, which only few of ten thousand names do. */
async function existingOf(client: Client, { events }: Names, columns: readonly string[]): Promise<Set<string>> {
  if (columns.length <= FEW_COLUMNS) return new Set(columns);
  const found = await client.fieldCaps({
    index: events,
    fields: attributeColumn("texts", "*"),
    ignore_unavailable: true,
  });
  return new Set(columns.filter((column) => !column.includes(".") || Object.hasOwn(found.fields, column)));
}

async function listedFields(search: Searcher, query: Query, prefix: string): Promise<Listed[]> {
  const listed = LISTED_FIELDS.filter((field) => field.startsWith(prefix));
  if (listed.length === 0) return [];
  const aggs = Object.fromEntries(listed.map((field) => [field, { filter: PRESENT[field] }]));
  const { aggregations } = await search({ query, size: 0, track_total_hits: false, aggs });
  return listed.flatMap((name) => {
    const count = aggregations?.[name]?.doc_count ?? 0;
    if (count === 0) return [];
    return { name, kind: kindOfField(name), count, column: hasListedValues(name) ? name : null };
  });
}

/** Attributes, the most frequent ones first. */
type Attributes = { readonly attributes: readonly Listed[]; readonly unlisted: number };
const NO_ATTRIBUTES: Attributes = { attributes: [], unlisted: 0 };

async function listedAttributes(
  search: Searcher,
  query: Query,
  { prefix, most }: { readonly prefix: string; readonly most: number },
): Promise<Attributes> {
  const start = attributeKey(prefix);
  const terms = await topTermsOf(search, query, { size: most, include: startingWith(start) });
  const counts = new Map(
    countsIn(terms)
      .entries()
      .filter(([key]) => key.startsWith(start)),
  );
  const isWhole = (terms?.sum_other_doc_count ?? 0) === 0;
  const unlisted = isWhole ? 0 : Math.max(1, (await countNames(search, query, start)) - counts.size);
  const kinds = await kindsOf(search, query, [...counts.keys()]);
  const attributes = Array.from(counts, ([key, count]) => {
    const [kind = "text", another] = kinds.get(key) ?? [];
    return {
      name: `@${attributeName(key)}`,
      kind: another === undefined ? kind : ("mixed" as const),
      count,
      column: attributeColumn("texts", key),
    };
  });
  return { attributes, unlisted };
}

type TermsOptions = { readonly size: number; readonly field?: string; readonly include?: string | string[] };

/** Returns the most frequent terms of a field; by default of the names of attributes. */
async function topTermsOf(search: Searcher, query: Query, options: TermsOptions): Promise<Aggregate | undefined> {
  const { size, field = ATTRIBUTE_PATHS.keys, include = "" } = options;
  const terms = { field, size, order: [{ _count: "desc" as const }, { _key: "asc" as const }] };
  const aggs: Aggs = { terms: { terms: { ...terms, ...(include !== "" && { include }) } } };
  const { aggregations } = await search({ query, size: 0, track_total_hits: false, aggs });
  return aggregations?.["terms"];
}

/** Returns an expression for keys that begin with a text. Keys have no special characters. */
function startingWith(start: string): string {
  return start === "" ? "" : `${start.slice(0, PREFIX_LENGTH)}.*`;
}

function countsIn(terms: Aggregate | undefined): Map<string, number> {
  return new Map(terms?.buckets?.map((bucket) => [bucketTerm(bucket), bucket.doc_count]));
}

/** Returns about how many names begin with a key. They are counted by Elasticsearch alone. */
async function countNames(search: Searcher, query: Query, start: string): Promise<number> {
  const field = ATTRIBUTE_PATHS.keys;
  const cardinality: Aggs = { count: { cardinality: { field, precision_threshold: EXACT_NAMES } } };
  const buckets: Aggs = {
    terms: { terms: { field, size: COUNTED_NAMES, include: startingWith(start) } },
    count: { stats_bucket: { buckets_path: "terms._count" } },
  };
  const { aggregations } = await search({
    query,
    size: 0,
    track_total_hits: false,
    aggs: start === "" ? cardinality : buckets,
    filter_path: "pit_id,aggregations.count",
  });
  const counted = aggregations?.["count"];
  return (start === "" ? counted?.value : counted?.count) ?? 0;
}

/** Returns the kinds of the values of attributes, by key. */
async function kindsOf(search: Searcher, query: Query, keys: readonly string[]): Promise<Map<string, ValueKind[]>> {
  const kinds = new Map<string, ValueKind[]>();
  for (let from = 0; from < keys.length; from += KEYS_PER_SEARCH) {
    const include = keys.slice(from, from + KEYS_PER_SEARCH).flatMap(attributeKindTerms);
    const terms = await topTermsOf(search, query, { field: ATTRIBUTE_PATHS.kinds, size: include.length, include });
    for (const term of countsIn(terms).keys()) {
      const { key, kind } = readKindTerm(term);
      kinds.set(key, [...(kinds.get(key) ?? []), kind]);
    }
  }
  return kinds;
}

/** Finds documents with values that no column holds. */
function restOf(query: Query): Query {
  return and([query, or([{ exists: { field: ATTRIBUTE_PATHS.rest } }, { exists: { field: "_ignored" } }])]);
}
