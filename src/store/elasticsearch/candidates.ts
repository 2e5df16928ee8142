import { errors } from "@elastic/elasticsearch";

import { LoggiaError } from "../../errors.ts";
import type { EventRow } from "../../events/event.ts";
import type { GroupPlan, ListPlan } from "../../query/plan.ts";
import { compileFilter } from "./compile.ts";
import type { Query, Sort } from "./compile.ts";
import { toRow } from "./document.ts";
import type { Document } from "./document.ts";
import { scan, totalOf } from "./scan.ts";
import type { Searcher } from "./scan.ts";
import { testOfEvents } from "./verify.ts";

/** More events than this are not read to look at each one. Measured: 120,000 a second, so that a request takes eight at most. */
const MAX_CANDIDATES = 1_000_000;
const BATCH = 2000;

/**
 * Answers a plan by its query alone where that is exact. Otherwise, and where the index finds an expression too complex, `looking`
 * gets a query that finds more, and looks at each event that it finds.
 */
export async function answer<T>(
  plan: ListPlan | GroupPlan,
  ways: { exactly(query: Query): Promise<T>; looking(query: Query): Promise<T> },
): Promise<T> {
  const { query, exact } = compileFilter(plan);
  try {
    return await (exact ? ways.exactly(query) : ways.looking(query));
  } catch (error) {
    if (!isTooComplex(error)) throw error;
    return ways.looking(compileFilter(plan, "broad").query);
  }
}

/**
 * The events of a plan, each looked at, in the order of `sort`.
 * @throws LoggiaError `unsupported` where there are too many to look at
 */
export async function* verified(
  search: Searcher,
  plan: ListPlan | GroupPlan,
  options: { query: Query; sort: Sort; source: { includes: string[] } | { excludes: string[] } },
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
