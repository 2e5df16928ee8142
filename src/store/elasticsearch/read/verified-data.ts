import type { EventId } from "../../../events/id.ts";
import { dataSearchesInPlan } from "../../../query/plan.ts";
import type { DataSearch, GroupPlan, ListPlan } from "../../../query/plan.ts";
import { MAX_READ_EVENTS } from "../../too-wide.ts";
import { toRow } from "../documents/document.ts";
import type { Document } from "../documents/document.ts";
import { DOUBT_OF_DATA } from "../compile/uncertain.ts";
import type { VerifiedData } from "../compile/compile.ts";
import type { Query } from "../client/queries.ts";
import { DataReading, FIRST_BATCH } from "./data-reading.ts";
import { and, matchAnyValue, not, NOTHING, or } from "../client/queries.ts";
import { ANY_ORDER } from "../client/scan.ts";
import type { Searcher } from "../client/scan.ts";
import { provideData, testOfEvents } from "./verify.ts";
import { findData, nameOfSearch } from "../compile/word-queries.ts";
import type { DataQueries } from "../compile/word-queries.ts";
import { YieldingTest } from "./yielding-test.ts";
import type { WorkKind } from "../../../scheduling/yielding.ts";

/** Most ids in the queries of a plan; the engine's default limit for the terms of one. */
const MAX_IDS = 65_536;
/** Plans with more searches are answered by reading their events: each keeps ids of its own. */
const MAX_SEARCHES = 16;
/**
 * Reads the data of the events that words let through, so that queries by id can take the place of
 * the searches of a plan. Other events of the plan, such as those of the other side of an OR, are
 * not read.
 *
 * @param query finds all events of the plan, and perhaps more
 * @returns null if reading the events themselves costs less, or the ids are too many for a query
 * @throws LoggiaError `too_wide`
 */
export async function verifyData(
  search: Searcher,
  plan: ListPlan | GroupPlan,
  query: Query,
  querying: WorkKind,
): Promise<VerifiedData | null> {
  const searches = [...new Map(dataSearchesInPlan(plan).map((each) => [nameOfSearch(each), each])).values()];
  if (searches.length > MAX_SEARCHES) return null;
  const isIndexed = plan.from.kind === "events";
  const found = searches.map((each) => new DataMatches(each, findData(each, isIndexed), querying));
  const among = and([query, or(found.map(({ undecided }) => undecided))]);
  const reading = new DataReading(search, among, plan.where, { includes: ["id", "log", "data", "has"] });
  const [events, candidates] = await Promise.all([new DataReading(search, query, plan.where).count(), reading.count()]);
  // One response holds so few.
  if (events <= FIRST_BATCH || (candidates > 2 * MAX_IDS && events <= MAX_READ_EVENTS)) return null;
  if (candidates > MAX_READ_EVENTS) throw await reading.tooManyEvents();
  for await (const documents of reading.batches(ANY_ORDER)) {
    for (const document of documents) {
      await reading.checkTime();
      for (const each of found) await each.add(document);
    }
    if (found.reduce((sum, { idCount }) => sum + idCount, 0) > MAX_IDS) return null;
  }
  return new Map(found.map((each) => [each.name, each.query]));
}

/** The events that a search of data finds, among those that were read. */
class DataMatches {
  readonly name: string;
  readonly #test: YieldingTest<ReturnType<typeof toRow>>;
  readonly #queries: DataQueries;
  readonly #ids: Record<"met" | "unmet", EventId[]> = { met: [], unmet: [] };

  constructor(search: DataSearch, queries: DataQueries, querying: WorkKind) {
    this.name = nameOfSearch(search);
    this.#test = new YieldingTest(testOfEvents(search), querying);
    this.#queries = queries;
  }

  /** Finds the events that have to be read. */
  get undecided(): Query {
    return this.#queries.certain === null ? this.#queries.candidates : DOUBT_OF_DATA;
  }

  async add(document: Document): Promise<void> {
    const row = toRow(document);
    const forget = provideData(row, document.data ?? "");
    try {
      const outcome = (await this.#test.holds(row)) ? "met" : "unmet";
      const ids = this.#ids[outcome];
      const isNeeded = outcome === "met" || this.#queries.certain === null;
      if (isNeeded && ids.length <= MAX_IDS) ids.push(row.id);
    } finally {
      forget();
    }
  }

  /** The number of ids in {@link query}. */
  get idCount(): number {
    const { met, unmet } = this.#ids;
    return this.#queries.certain === null ? Math.min(met.length, unmet.length) : met.length;
  }

  /** Finds the events whose data meets the search. */
  get query(): Query {
    const { certain, candidates } = this.#queries;
    const { met, unmet } = this.#ids;
    if (certain !== null) return or([and([certain, not(DOUBT_OF_DATA)]), withIds(met)]);
    return met.length <= unmet.length ? withIds(met) : and([candidates, not(withIds(unmet))]);
  }
}

function withIds(ids: readonly EventId[]): Query {
  return ids.length === 0 ? NOTHING : matchAnyValue("id", ids);
}
