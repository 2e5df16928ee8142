import { errors } from "@elastic/elasticsearch";
import type { Client } from "@elastic/elasticsearch";

import { LoggiaError } from "../../../errors.ts";
import type { EventRow } from "../../../events/event.ts";
import type { GroupPlan, ListPlan } from "../../../query/plan.ts";
import { searchEachIndex } from "./per-index.ts";
import type { Found } from "./per-index.ts";
import { compileByWords, compileFilter } from "./compile.ts";
import type { Compiled, Query } from "./compile.ts";
import type { Sort } from "./compile-sort.ts";
import { toRow } from "../document.ts";
import type { Document } from "../document.ts";
import { YieldingTest } from "./yielding-test.ts";
import type { Names } from "../mapping.ts";
import { and, or } from "./queries.ts";
import { isFound, scan, searcherOf, totalOf } from "./scan.ts";
import type { Hit, Request, Searcher } from "./scan.ts";
import { createMultiSearcher } from "./multi-search.ts";
import { testOfEvents } from "./verify.ts";

/** Maximum number of events that are read and tested. It bounds a request to some seconds. */
const MAX_CANDIDATES = 1_000_000;
const BATCH = 2000;
/**
 * Number of events up to which testing those that the index of words finds is faster than searching
 * all texts of the index. The first of them are read together with their number.
 */
const FEW = 2000;
const FIRST = 500;

/** Source filter of a search; `true` returns everything. */
type Source = true | { readonly includes: string[] } | { readonly excludes: string[] };

type Strategies<T> = {
  /** @param search sends searches that are started together in one request */
  exact(query: Query, search: Searcher): Promise<T>;
  /** Tests each event that the query finds. */
  byScanning(query: Query): Promise<T>;
  /** @param rows all rows of the plan, in the order of `few.sort` */
  fromRows(rows: readonly EventRow[]): T | Promise<T>;
  /** Queries for events for which `exact` may be wrong, see {@link Compiled}. */
  readonly doubts: readonly Query[];
  readonly few: {
    readonly client: Client;
    readonly index: string;
    readonly names: Names;
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
  const { wordless, earlier } = strategies.few.names;
  const byWords = compileByWords(plan, wordless, earlier);
  if (byWords !== null) {
    try {
      const exact = await runExactly(byWords, strategies);
      if (exact !== null) return exact.result;
      const rows = await readFew(plan, byWords.query, strategies.few);
      if (rows !== null) return await strategies.fromRows(rows);
    } catch (error) {
      if (!isTooComplex(error)) throw error;
    }
  }
  const compiled = compileFilter(plan, "narrow", earlier);
  try {
    const exact = await runExactly(compiled, strategies);
    return exact === null ? await strategies.byScanning(withWords(compiled.query, byWords)) : exact.result;
  } catch (error) {
    if (!isTooComplex(error)) throw error;
    return strategies.byScanning(compileFilter(plan, "broad", earlier).query);
  }
}

/**
 * Returns the result of an exact query, or null if the query finds an event in doubt. That is rare,
 * so both are requested at once.
 */
async function runExactly<T>(compiled: Compiled, strategies: Strategies<T>): Promise<{ readonly result: T } | null> {
  if (!compiled.exact) return null;
  const doubts = [...(compiled.doubts ?? []), ...strategies.doubts];
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

/** Reads a plan's rows by a wider query. Returns null if there are too many events to test. */
async function readFew(
  plan: ListPlan | GroupPlan,
  query: Query,
  { client, index, sort, source }: Strategies<unknown>["few"],
): Promise<EventRow[] | null> {
  const search = async (request: Request): Promise<Found> => {
    const answer = await searcherOf(client, index)(request);
    return { hits: answer.hits.hits, total: totalOf(answer) };
  };
  const request = { query, sort: sort ?? ["_doc"], _source: source, track_total_hits: FEW + 1 };
  const first = { ...request, size: FIRST };
  let found = (sort === undefined ? await searchEachIndex(client, index, first) : null) ?? (await search(first));
  if (found.total > found.hits.length && found.total <= FEW) found = await search({ ...request, size: FEW });
  if (found.total > found.hits.length) return null;
  const rows: EventRow[] = [];
  for await (const row of matchingRows(plan, [found.hits])) rows.push(row);
  return rows;
}

/** Yields the events among hits that pass a plan's filters, and yields the thread in between. */
async function* matchingRows(
  plan: ListPlan | GroupPlan,
  batches: Iterable<readonly Hit[]> | AsyncIterable<readonly Hit[]>,
): AsyncGenerator<EventRow> {
  const test = new YieldingTest(testOfEvents(plan.where));
  for await (const hits of batches) {
    for (const { _source: document } of hits) {
      const row = toRow(document as Document);
      const holds = test.holds(row);
      if (typeof holds === "boolean" ? holds : await holds) yield row;
    }
  }
}

function withWords(query: Query, other: Compiled | null): Query {
  return other === null ? query : { bool: { filter: [query, other.query] } };
}

/**
 * Yields the events of a plan, each tested, in the order of `sort`.
 * @throws LoggiaError `unsupported` if there are too many events to test, `overloaded` if testing
 * takes too long
 */
export async function* verified(
  search: Searcher,
  plan: ListPlan | GroupPlan,
  options: { query: Query; sort: Sort; source: Source },
): AsyncGenerator<EventRow> {
  const { query, sort, source } = options;
  const count = totalOf(await search({ query, size: 0, track_total_hits: MAX_CANDIDATES + 1 }));
  if (count > MAX_CANDIDATES) {
    throw new LoggiaError(
      "unsupported",
      `This expression has to be tested on each of more than ${MAX_CANDIDATES} events: ` +
        "narrow the query, for example by time, or search for a plain text",
    );
  }
  yield* matchingRows(plan, scan(search, { query, sort, batch: BATCH, source }));
}

/** Whether an expression exceeds Lucene's limit of cost or, in foreign indices, of length. */
function isTooComplex(error: unknown): boolean {
  if (!(error instanceof errors.ResponseError) || error.statusCode !== 400) return false;
  return /too_complex_to_determinize|max_regex_length/.test(JSON.stringify(error.body ?? null));
}
