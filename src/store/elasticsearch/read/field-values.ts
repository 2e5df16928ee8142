import type { estypes } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";

import { parseAttributes, textsOfAttribute } from "../../../events/attributes.ts";
import { compareCodePoints } from "../../../events/text.ts";
import { throwIfAborted } from "../../../elasticsearch/client.ts";
import { Yielder } from "../../../scheduling/yielding.ts";
import { MAX_LISTED_VALUES_LENGTH } from "../../store.ts";
import type { FieldSummary } from "../../store.ts";
import { ATTRIBUTE_PATHS, attributeColumn, attributeKey } from "../documents/attributes.ts";
import type { Document } from "../documents/document.ts";
import { compositePages } from "./groups/parts.ts";
import { or } from "../client/queries.ts";
import type { Query } from "../client/queries.ts";
import { ANY_ORDER, scan } from "../client/scan.ts";
import type { Aggregate, Bucket, Hit, RawKey, Searcher } from "../client/scan.ts";
import { isTooMany, Tallies } from "./tallies.ts";
import type { CountByTerm } from "./tallies.ts";
import type { WorkKind } from "../../../scheduling/yielding.ts";

type Aggs = Record<string, estypes.AggregationsAggregationContainer>;
type Values = FieldSummary["values"];

/** Values of a field that each shard returns in the first pass. */
const SHARD_SIZE = 10_000;
/**
 * Number of distinct values that a shard may return in one pass. Each temporarily takes some 150
 * bytes of the node's memory.
 */
const SHARD_SIZE_OF_MANY = 1_000_000;
/** Number of fields, and of their values, that are requested at once. */
const FIELDS_PER_SEARCH = 32;
const VALUES_PER_SEARCH = 640;
/** Values read at once where all of a field are read. */
const PAGE = 2_000;
/** Documents of a scan that are read at once: few at first, then by their length. */
const FIRST_BATCH = 50;
const BATCH = { least: 20, most: 2_000, length: 1_000_000 };
const FILTERS_PER_SEARCH = 200;
/** Extra numbers: equally frequent ones are sorted by their texts, which the index lacks. */
const MORE_NUMBERS = 1000;

export type ValuesRequest = {
  readonly querying: WorkKind;
  readonly query: Query;
  /** The columns whose values are listed, the most important ones first. */
  readonly listed: readonly string[];
  /** Those of them that indices have. */
  readonly existing: ReadonlySet<string>;
  readonly most: number;
  /** Finds events with values that no column holds; null if there are none. */
  readonly rest: Query | null;
  /** Whether the events of `rest` are few enough to be read. */
  readonly isRestRead: boolean;
};

/**
 * Returns the most frequent values of fields, by column. Columns with too many or too long values
 * are missing.
 */
export async function readFieldValues(search: Searcher, request: ValuesRequest): Promise<Map<string, Values>> {
  const found = new Map<string, Values>();
  const { listed, existing, most } = request;
  if (most === 0 || listed.length === 0) return found;
  const tallies = await talliesOfRest(search, request);
  const columns = listed.filter((column) => existing.has(column) && !tallies.isDropped(column));
  const perSearch = Math.max(1, Math.min(FIELDS_PER_SEARCH, Math.floor(VALUES_PER_SEARCH / most)));
  for (let from = 0; from < columns.length; from += perSearch) {
    const some = columns.slice(from, from + perSearch);
    for (const [column, values] of await valuesOfColumns(search, request, some, tallies)) {
      if (values !== null) found.set(column, values);
    }
    if (lengthOf(found) > MAX_LISTED_VALUES_LENGTH) break;
  }
  // The tallies of these have a limit of their own.
  const yielder = new Yielder(request.querying, throwIfAborted);
  for (const column of listed) {
    if (yielder.isDue) await yielder.turn();
    const tally = existing.has(column) ? undefined : tallies.of(column);
    if (tally !== undefined) found.set(column, firstOf(tally, most));
  }
  return found;
}

function lengthOf(found: ReadonlyMap<string, Values>): number {
  return [...found.values()].flat().reduce((sum, { value }) => sum + value.length, 0);
}

async function valuesOfColumns(
  search: Searcher,
  { query, most }: ValuesRequest,
  columns: readonly string[],
  tallies: Tallies,
): Promise<Map<string, Values | null>> {
  const found = new Map<string, Values | null>();
  const aggs: Aggs = Object.fromEntries(columns.map((field, i) => [i, topTerms(field, most, SHARD_SIZE)]));
  const { aggregations } = await search({ query, size: 0, track_total_hits: false, aggs });
  for (const [i, column] of columns.entries()) {
    const tally = tallies.of(column);
    const top = tally === undefined ? topOf(aggregations?.[i], column, most) : null;
    const exact = top ?? (tally === undefined ? await topOfMany(search, query, column, most) : null);
    found.set(column, exact ?? (await topOfAll(search, query, { column, tally, most })));
  }
  return found;
}

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
  const counts = new Map(terms?.buckets?.map((bucket) => [bucketTerm(bucket), bucket.doc_count]));
  const last = terms?.buckets?.at(-1)?.doc_count;
  const values = firstOf(counts, most);
  // Some of the numbers left out may be as frequent and sort earlier.
  if (column === "value" && (terms?.sum_other_doc_count ?? 0) > 0 && values.at(-1)?.count === last) return null;
  return values;
}

export function bucketTerm({ key }: Bucket): string {
  return typeof key === "object" ? "" : String(key);
}

type AllValues = { readonly column: string; readonly tally: CountByTerm | undefined; readonly most: number };

/** Returns the top values after counting all values, or null if there are too many. */
async function topOfAll(search: Searcher, query: Query, { column, tally, most }: AllValues): Promise<Values | null> {
  const counts = new Map(tally ?? []);
  let length = 0;
  const sources = [{ term: { terms: { field: column } } }];
  for await (const buckets of compositePages(search, query, { sources, size: PAGE }, {})) {
    for (const { key, doc_count: count } of buckets) {
      const value = String((key as Record<string, RawKey>)["term"]);
      counts.set(value, (counts.get(value) ?? 0) + count);
      length += value.length;
    }
    if (isTooMany(counts.size, length)) return null;
  }
  return firstOf(counts, most);
}

function firstOf(counts: CountByTerm, most: number): Values {
  return Array.from(counts, ([value, count]) => ({ value, count }))
    .sort((a, b) => b.count - a.count || compareCodePoints(a.value, b.value))
    .slice(0, most);
}

/**
 * Counts values of attributes without columns in their documents. Each such document is read,
 * unless they are many: then the columns concerned are dropped.
 */
async function talliesOfRest(search: Searcher, request: ValuesRequest): Promise<Tallies> {
  const { listed, rest, isRestRead } = request;
  const tallies = new Tallies(new Set(listed));
  if (rest === null) return tallies;
  if (!isRestRead) {
    for (const column of await columnsOfRest(search, rest, request)) tallies.drop(column);
    return tallies;
  }
  const source = { includes: ["attributes", ATTRIBUTE_PATHS.rest] };
  const yielder = new Yielder(request.querying, throwIfAborted);
  const scanned = scan(search, { query: rest, sort: ANY_ORDER, batch: FIRST_BATCH, nextBatch, source });
  for await (const hits of scanned) {
    for (const { _source: document, _ignored: ignored = [] } of hits) {
      if (yielder.isDue) await yielder.turn();
      tally(document as Partial<Document>, ignored, tallies);
    }
  }
  return tallies;
}

/** Returns the listed columns that lack values of some documents. */
async function columnsOfRest(search: Searcher, rest: Query, { listed, existing }: ValuesRequest): Promise<string[]> {
  const found = listed.filter((column) => !existing.has(column));
  const attributes = listed.filter((column) => existing.has(column) && column.includes("."));
  for (let from = 0; from < attributes.length; from += FILTERS_PER_SEARCH) {
    const some = attributes.slice(from, from + FILTERS_PER_SEARCH);
    const aggs: Aggs = Object.fromEntries(some.map((column, i) => [i, { filter: lacks(column) }]));
    const { aggregations } = await search({ query: rest, size: 0, track_total_hits: false, aggs });
    found.push(...some.filter((_, i) => (aggregations?.[i]?.doc_count ?? 0) > 0));
  }
  return found;
}

/** Finds documents of which a column lacks values. */
function lacks(column: string): Query {
  const key = column.slice(attributeColumn("texts", "").length);
  return or([{ term: { [ATTRIBUTE_PATHS.rest]: key } }, { term: { _ignored: column } }]);
}

/** Returns how many documents to read at once, by the length of the previous ones. */
function nextBatch(hits: readonly Hit[]): number {
  const length = hits.reduce((sum, { _source: source }) => {
    const { attributes, indexed } = source as Partial<Document>;
    return (indexed?.rest ?? []).reduce((more, key) => more + key.length, sum + (attributes?.length ?? 0) + 100);
  }, 1);
  return Math.max(BATCH.least, Math.min(BATCH.most, Math.floor((BATCH.length * hits.length) / length)));
}

function tally(document: Partial<Document>, ignored: readonly string[], tallies: Tallies): void {
  const lacking = new Set([...lackingIn(document), ...ignored]);
  if (lacking.size === 0) return;
  const attributes = parseAttributes(document.attributes ?? null);
  for (const name of attributes.keys()) {
    const column = attributeColumn("texts", attributeKey(name));
    if (lacking.has(column)) tallies.add(column, textsOfAttribute(attributes, name));
  }
}

/** Returns the columns that a document lacks. */
function lackingIn({ indexed }: Partial<Document>): string[] {
  return (indexed?.rest ?? []).map((key) => attributeColumn("texts", key));
}
