import { errors } from "@elastic/elasticsearch";
import type { Client } from "@elastic/elasticsearch";

import { LoggiaError } from "../../../errors.ts";
import type { EventRow } from "../../../events/event.ts";
import { dataSearchesInPlan } from "../../../query/plan.ts";
import type { GroupPlan, ListPlan } from "../../../query/plan.ts";
import { MAX_READ_EVENTS } from "../../too-wide.ts";
import { searchEachIndex } from "./per-index.ts";
import type { Found } from "./per-index.ts";
import { compileByWords, compileFilter } from "../compile/compile.ts";
import type { Compiled, VerifiedData } from "../compile/compile.ts";
import type { Query, Sort } from "../client/queries.ts";
import { ROW_SOURCE, toRow } from "../documents/document.ts";
import type { Document } from "../documents/document.ts";
import { YieldingTest } from "./yielding-test.ts";
import { ALL, and, or } from "../client/queries.ts";
import { isFound, isTooLong, scan, newSearcher, answerTotal, withPointInTime } from "../client/scan.ts";
import type { Hit, SearchRequest, Searcher } from "../client/scan.ts";
import { createMultiSearcher } from "./multi-search.ts";
import { DataReading, hitDataLength, nextBatch } from "./data-reading.ts";
import { verifyData } from "./verified-data.ts";
import { nameOfSearch } from "../compile/word-queries.ts";
import { provideData, testOfEvents } from "./verify.ts";
import type { WorkKind } from "../../../scheduling/yielding.ts";

const MOST_BATCH = 2000;
/** Events that are read at once before the length of any is known. */
const FIRST_BATCH = 100;
/**
 * Number of events up to which testing those that the index of words finds is faster than searching
 * all texts of the index. The first of them are read together with their number.
 */
const FEW = 2000;
const FIRST = 500;
/** Length of their documents, in bytes and in characters, beyond which they are read in batches. */
const FEW_BYTES = 16_000_000;
const FEW_LENGTH = 8_000_000;

/** Source filter of a search; `true` returns everything. */
type Source = true | { readonly includes: string[] } | { readonly excludes: string[] };

/** Whether the index computes what a plan asks of the events that it finds; see {@link Compiled}. */
export type Exactness = { readonly isExact: boolean; readonly doubts: readonly Query[] };

type Strategies<T> = {
  /**
   * @param search sends searches that are started together in one request, or searches the snapshot
   * on which `data` was verified
   */
  exact(query: Query, search: Searcher, data?: VerifiedData): Promise<T>;
  exactness(data?: VerifiedData): Exactness;
  /** Whether all events of the plan are needed, not only the first ones. */
  readonly isWhole: boolean;
  /** Tests each event that the query finds. */
  byScanning(query: Query): Promise<T>;
  /** @param rows all rows of the plan, in the order of `few.sort` */
  fromRows(rows: readonly EventRow[]): T | Promise<T>;
  readonly querying: WorkKind;
  readonly few: {
    readonly client: Client;
    readonly index: string;
    /** Default: no order. */
    readonly sort?: Sort;
    readonly source: Source;
  };
};

/**
 * Runs a plan with the index of words if that is exact or finds few events, otherwise with the
 * plan's query if that is exact. In other cases, and if Elasticsearch rejects an expression as too
 * complex, `byScanning` gets a query that finds a superset, and tests each event found.
 */
export async function runPlan<T>(plan: ListPlan | GroupPlan, strategies: Strategies<T>): Promise<T> {
  const isByData = dataSearchesInPlan(plan).length > 0;
  const byWords = compileByWords(plan);
  if (byWords !== null) {
    try {
      const exact = await runExactly(byWords, strategies);
      if (exact !== null) return exact.result;
      // Data is long, so it is read in small batches.
      const rows = isByData ? null : await readFew(plan, byWords.query, strategies);
      if (rows !== null) return await strategies.fromRows(rows);
    } catch (error) {
      if (!isTooComplex(error)) throw error;
    }
  }
  const compiled = compileFilter(plan);
  try {
    const query = withWords(compiled.query, byWords);
    const exact =
      (await runExactly(compiled, strategies)) ??
      (isByData && strategies.isWhole ? await runOnVerifiedData(plan, query, strategies) : null);
    return exact === null ? await strategies.byScanning(query) : exact.result;
  } catch (error) {
    if (!isTooComplex(error)) throw error;
    return strategies.byScanning(compileFilter(plan, "broad").query);
  }
}

/**
 * Returns the result of an exact query, or null if the query finds an event in doubt. That is rare,
 * so both are requested at once.
 */
async function runExactly<T>(compiled: Compiled, strategies: Strategies<T>): Promise<{ readonly result: T } | null> {
  const { isExact, doubts: others } = strategies.exactness();
  if (!compiled.exact || !isExact) return null;
  const doubts = [...(compiled.doubts ?? []), ...others];
  const search = createMultiSearcher(strategies.few.client, strategies.few.index);
  if (doubts.length === 0) return { result: await strategies.exact(compiled.query, search) };
  const [isInDoubt, result] = await Promise.allSettled([
    isFound(search, and([compiled.query, or(doubts)])),
    strategies.exact(compiled.query, search),
  ]);
  if (isInDoubt.status === "rejected") throw isInDoubt.reason;
  if (isInDoubt.value) return null;
  if (result.status === "rejected") throw result.reason;
  return { result: result.value };
}

/** Returns the result of a plan whose data was verified, or null if it is not exact nevertheless. */
async function runOnVerifiedData<T>(
  plan: ListPlan | GroupPlan,
  query: Query,
  strategies: Strategies<T>,
): Promise<{ readonly result: T } | null> {
  const { client, index } = strategies.few;
  const compileWith = (data: VerifiedData): Compiled => compileFilter(plan, "narrow", { verifiedData: data });
  // Asks only whether the other conditions are exact, so that any query may stand for the searches.
  const anyData: VerifiedData = new Map(dataSearchesInPlan(plan).map((each) => [nameOfSearch(each), ALL]));
  if (!compileWith(anyData).exact || !strategies.exactness(anyData).isExact) return null;
  return withPointInTime(client, index, async (search) => {
    const data = await verifyData(search, plan, query, strategies.querying);
    if (data === null) return null;
    const compiled = compileWith(data);
    const { isExact, doubts } = strategies.exactness(data);
    if (!compiled.exact || !isExact) return null;
    const inDoubt = [...(compiled.doubts ?? []), ...doubts];
    if (inDoubt.length > 0 && (await isFound(search, and([compiled.query, or(inDoubt)])))) return null;
    return { result: await strategies.exact(compiled.query, search, data) };
  });
}

/**
 * Reads a plan's rows by a wider query. Returns null if there are too many events to test, or if
 * they are too long.
 */
async function readFew(
  plan: ListPlan | GroupPlan,
  query: Query,
  { few: { client, index, sort, source }, querying }: Pick<Strategies<unknown>, "few" | "querying">,
): Promise<EventRow[] | null> {
  const limits = { maxResponseSize: FEW_BYTES };
  const search = async (request: SearchRequest): Promise<Found> => {
    const answer = await newSearcher(client, index, limits)(request);
    return { hits: answer.hits.hits, total: answerTotal(answer) };
  };
  const request = { query, sort: sort ?? ["_doc"], _source: source, track_total_hits: FEW + 1 };
  const first = { ...request, size: FIRST };
  try {
    let found =
      (sort === undefined ? await searchEachIndex(client, index, first, limits) : null) ?? (await search(first));
    if (found.total > found.hits.length && found.total <= FEW && areShort(found)) {
      found = await search({ ...request, size: FEW });
    }
    if (found.total > found.hits.length) return null;
    const rows: EventRow[] = [];
    for await (const row of matchingRows(plan, [found.hits], querying)) rows.push(row);
    return rows;
  } catch (error) {
    if (!isTooLong(error)) throw error;
    return null;
  }
}

/** Whether the documents of some hits are so short that all of these can be read at once. */
function areShort({ hits, total }: Found): boolean {
  const length = hits.reduce((sum, hit) => sum + hitDataLength(hit), 0);
  return (length / Math.max(1, hits.length)) * total <= FEW_LENGTH;
}

/** Yields the events among hits that pass a plan's filters, and yields the thread in between. */
async function* matchingRows(
  plan: ListPlan | GroupPlan,
  batches: Iterable<readonly Hit[]> | AsyncIterable<readonly Hit[]>,
  querying: WorkKind,
): AsyncGenerator<EventRow> {
  const test = new YieldingTest(testOfEvents(plan.where), querying);
  for await (const hits of batches) {
    for (const { _source: document } of hits) {
      const row = toRow(document as Document);
      const holds = test.holds(row);
      if (typeof holds === "boolean" ? holds : await holds) yield row;
    }
  }
}

/** Yields the events among hits as {@link matchingRows} does. Their data is known until the next. */
async function* matchingRowsByData(
  plan: ListPlan | GroupPlan,
  reading: DataReading,
  sort: Sort,
  querying: WorkKind,
): AsyncGenerator<EventRow> {
  const test = new YieldingTest(testOfEvents(plan.where), querying);
  for await (const documents of reading.batches(sort)) {
    for (const document of documents) {
      await reading.checkTime();
      const row = toRow(document);
      const forget = provideData(row, document.data ?? "");
      try {
        const holds = test.holds(row);
        if (typeof holds === "boolean" ? holds : await holds) yield row;
      } finally {
        forget();
      }
    }
  }
}

function withWords(query: Query, other: Compiled | null): Query {
  return other === null ? query : { bool: { filter: [query, other.query] } };
}

type Verification = {
  readonly query: Query;
  readonly sort: Sort;
  /** Whether all events are needed, not only the first ones. */
  readonly isWhole: boolean;
  readonly querying: WorkKind;
};

/**
 * Yields the events of a plan, each tested, in the order of `sort`. Data is available to further
 * tests of an event until the next one is requested.
 * @throws LoggiaError `unsupported` if there are too many events to test, `too_wide` if it is their
 * data that is tested, `overloaded` if testing takes too long
 */
export async function* verified(
  search: Searcher,
  plan: ListPlan | GroupPlan,
  { query, sort, isWhole, querying }: Verification,
): AsyncGenerator<EventRow> {
  const isByData = dataSearchesInPlan(plan).length > 0;
  const reading = new DataReading(search, query, plan.where);
  if ((isWhole || !isByData) && (await reading.count()) > MAX_READ_EVENTS) {
    if (isByData) throw await reading.tooManyEvents();
    throw new LoggiaError(
      "unsupported",
      `This expression has to be tested on each of more than ${MAX_READ_EVENTS} events: ` +
        "narrow the query, for example by time, or search for a plain text",
    );
  }
  if (isByData) yield* matchingRowsByData(plan, reading, sort, querying);
  else {
    const next = (hits: readonly Hit[]): number => nextBatch(hits, MOST_BATCH);
    yield* matchingRows(
      plan,
      scan(search, { query, sort, batch: FIRST_BATCH, nextBatch: next, source: ROW_SOURCE }),
      querying,
    );
  }
}

/** Whether an expression exceeds Lucene's limit of cost or, in foreign indices, of length. */
function isTooComplex(error: unknown): boolean {
  if (!(error instanceof errors.ResponseError) || error.statusCode !== 400) return false;
  return /too_complex_to_determinize|max_regex_length/.test(JSON.stringify(error.body ?? null));
}
