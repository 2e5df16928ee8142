import { errors } from "@elastic/elasticsearch";
import type { Client } from "@elastic/elasticsearch";

import { LoggiaError } from "../../errors.ts";
import type { EventRow } from "../../events/event.ts";
import type { GroupPlan, ListPlan } from "../../query/plan.ts";
import { searchEachIndex } from "./each-index.ts";
import type { Found } from "./each-index.ts";
import { compileByWords, compileFilter } from "./compile.ts";
import type { Compiled, Query, Sort } from "./compile.ts";
import { toRow } from "./document.ts";
import type { Document } from "./document.ts";
import { scan, searcherOf, totalOf } from "./scan.ts";
import type { Request, Searcher } from "./scan.ts";
import { testOfEvents } from "./verify.ts";

/** More events than this are not read to look at each one. Measured: 120,000 a second, so that a request takes eight at most. */
const MAX_CANDIDATES = 1_000_000;
const BATCH = 2000;
/** As many events as the index of words finds are looked at sooner than every text of the index is asked. The first of them come along with their number. */
const FEW = 2000;
const FIRST = 500;

/** What a search gives of each event: `true` is all. */
type Source = true | { readonly includes: string[] } | { readonly excludes: string[] };

type Ways<T> = {
  exactly(query: Query): Promise<T>;
  /** Looks at each event that the query finds. */
  looking(query: Query): Promise<T>;
  /** @param rows all that the plan finds, in the order of `few.sort` */
  among(rows: readonly EventRow[]): T | Promise<T>;
  readonly few: {
    readonly client: Client;
    readonly index: string;
    readonly wordless: readonly string[];
    /** None unless given. */
    readonly sort?: Sort;
    readonly source: Source;
  };
};

/**
 * Answers a plan by the index of words, where that decides or leaves few events; else by its query alone where that is exact. Otherwise, and where
 * the index finds an expression too complex, `looking` gets a query that finds more, and looks at each event that it finds.
 */
export async function answer<T>(plan: ListPlan | GroupPlan, ways: Ways<T>): Promise<T> {
  const byWords = compileByWords(plan, ways.few.wordless);
  if (byWords !== null) {
    try {
      if (byWords.exact) return await ways.exactly(byWords.query);
      const rows = await fewOf(plan, byWords.query, ways.few);
      if (rows !== null) return await ways.among(rows);
    } catch (error) {
      if (!isTooComplex(error)) throw error;
    }
  }
  const { query, exact } = compileFilter(plan);
  try {
    return await (exact ? ways.exactly(query) : ways.looking(both(query, byWords)));
  } catch (error) {
    if (!isTooComplex(error)) throw error;
    return ways.looking(compileFilter(plan, "broad").query);
  }
}

/** All that a plan finds, by a query that finds more; null where that finds too many to look at each. */
async function fewOf(
  plan: ListPlan | GroupPlan,
  query: Query,
  { client, index, sort, source }: Ways<unknown>["few"],
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
  const test = testOfEvents(plan.where);
  return found.hits.map(({ _source: document }) => toRow(document as Document)).filter(test);
}

function both(query: Query, other: Compiled | null): Query {
  return other === null ? query : { bool: { filter: [query, other.query] } };
}

/**
 * The events of a plan, each looked at, in the order of `sort`.
 * @throws LoggiaError `unsupported` where there are too many to look at
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
      `This expression needs a look at each of more than ${MAX_CANDIDATES} events: narrow the question, by time for example, or ask for a plain text`,
    );
  }
  const test = testOfEvents(plan.where);
  for await (const hits of scan(search, { query, sort, batch: BATCH, source })) {
    for (const { _source: document } of hits) {
      const row = toRow(document as Document);
      if (test(row)) yield row;
    }
  }
}

/** Lucene bounds the work that an expression may cost, and indices made by others the length of one. */
function isTooComplex(error: unknown): boolean {
  if (!(error instanceof errors.ResponseError) || error.statusCode !== 400) return false;
  return /too_complex_to_determinize|max_regex_length/.test(JSON.stringify(error.body ?? null));
}
