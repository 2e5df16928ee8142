import type { estypes } from "@elastic/elasticsearch";

import type { Unit } from "../frame.ts";
import { RARE_SOURCE, RARE_TAG } from "../support/events.ts";
import { isLog } from "../support/questions.ts";
import { requestIdOf, USERS } from "./events.ts";

/** A figure to measure, and its goal at ten million events. */
export type Row = { readonly name: string; readonly unit: Unit; readonly goal: string };

type Random = (below: number) => number;
type Path = readonly [path: string, parameters: Readonly<Record<string, string>>];

/** A query in the form of each contender. */
export type Asked = {
  /** Requests to Loggia, one after the other. */
  readonly loggia: readonly Path[];
  /** A request to VictoriaLogs, in LogsQL. */
  readonly victoriaLogs: { readonly query: string; readonly limit?: string };
  /** A request to Elasticsearch, without Loggia. */
  readonly elasticsearch: BareSearch;
};

/**
 * A search of Loggia's documents, or of a plain index of the same texts, analyzed and as keywords
 * (`texts.ts`).
 */
export type BareSearch = { readonly of: "documents" | "texts"; readonly search: estypes.SearchRequest };

export type Question = Row & {
  /** Draws the values of a query on `count` events. */
  readonly draw: (random: Random, count: number) => Asked;
  /** Number of records of the result, if it does not depend on the values. */
  readonly records?: number;
  /** Maximum ratio of Loggia's time on a cluster to that of Elasticsearch for the bare DSL. */
  readonly mostBesideBare?: number;
};

const NEWEST = { order: "desc", pagesize: "100" };
const BY_DAY = "GROUPBY DAY COLUMNS(KEY, COUNT, SUM, MIN, MAX)";
const STATS_BY_DAY = "stats by (_time:1d) count(), sum(value), min(value), max(value)";

function newestOf(parameters: Readonly<Record<string, string>>, query: string, elasticsearch: BareSearch): Asked {
  return { loggia: [["/events", { ...NEWEST, ...parameters }]], victoriaLogs: { query, limit: "100" }, elasticsearch };
}

function groups(lql: string, query: string, elasticsearch: BareSearch): Asked {
  return { loggia: [["/query", { query: lql }]], victoriaLogs: { query }, elasticsearch };
}

function word(id: string): Asked {
  return newestOf({ text: id }, id, { of: "texts", search: { query: { match: { text: id } }, size: 100 } });
}

/** Finds the newest documents that pass all filters, counted as far as Loggia counts. */
function bareNewest(...filter: estypes.QueryDslQueryContainer[]): BareSearch {
  const query = { bool: { filter: [isLog(), ...filter] } };
  return { of: "documents", search: { query, sort: [{ created: "desc" }], size: 100, track_total_hits: 10_000 } };
}

function bareGroups(groups: estypes.AggregationsAggregationContainer, tag?: string): BareSearch {
  const filter = [isLog(), ...(tag === undefined ? [] : [{ term: { "folded.tags": tag } }])];
  return {
    of: "documents",
    search: { size: 0, track_total_hits: false, query: { bool: { filter } }, aggs: { groups } },
  };
}

const BARE_BY_DAY: estypes.AggregationsAggregationContainer = {
  date_histogram: { field: "created", fixed_interval: "1d", min_doc_count: 1 },
  aggs: { stats: { stats: { field: "value" } } },
};

export const QUESTIONS: readonly Question[] = [
  {
    name: "one event by a word of its text",
    unit: "ms",
    goal: "10",
    records: 1,
    mostBesideBare: 2,
    draw(random, count) {
      return word(requestIdOf(random(count)));
    },
  },
  {
    name: "a word that no text has",
    unit: "ms",
    goal: "",
    records: 0,
    mostBesideBare: 2,
    draw(random) {
      return word(requestIdOf(-1 - random(1e9)));
    },
  },
  {
    name: "newest 100 of a tag and a source",
    unit: "ms",
    goal: "20",
    draw: () =>
      newestOf(
        { tags: RARE_TAG, source: RARE_SOURCE },
        `tags:${RARE_TAG} source:=${RARE_SOURCE}`,
        bareNewest({ term: { "folded.tags": RARE_TAG } }, { term: { "folded.source": RARE_SOURCE } }),
      ),
  },
  {
    name: "expression, first 1,000 (two pages)",
    unit: "ms",
    goal: "400",
    draw: () => ({
      loggia: ["1", "2"].map((pagenum): Path => [
        "/events",
        { pagesize: "500", pagenum, text: "timeout.*id=9[0-9]{3}" },
      ]),
      victoriaLogs: { query: '~"timeout.*id=9[0-9]{3}"', limit: "1000" },
      elasticsearch: {
        of: "texts",
        search: {
          query: { regexp: { "text.keyword": { value: ".*timeout.*id=9[0-9]{3}.*", case_insensitive: true } } },
          sort: [{ created: "asc" }],
          size: 1_000,
          track_total_hits: 10_000,
        },
      },
    }),
  },
  {
    name: `newest 100 of one user of ${USERS.toLocaleString("en-US")}`,
    unit: "ms",
    goal: "50",
    draw(random) {
      const user = `user-${random(USERS)}`;
      return newestOf({ user }, `user:=${user}`, bareNewest({ term: { "folded.user": user } }));
    },
  },
  { name: "newest 100", unit: "ms", goal: "10", records: 100, draw: () => newestOf({}, "*", bareNewest()) },
  {
    name: "count, sum, min, max by day",
    unit: "ms",
    goal: "70",
    draw: () => groups(`GET events ${BY_DAY}`, `* | ${STATS_BY_DAY}`, bareGroups(BARE_BY_DAY)),
  },
  {
    name: "the same of a tag",
    unit: "ms",
    goal: "100",
    draw: () =>
      groups(
        `GET events WHERE tags = 'error' ${BY_DAY}`,
        `tags:error | ${STATS_BY_DAY}`,
        bareGroups(BARE_BY_DAY, "error"),
      ),
  },
  {
    name: "top 10 of the users by sum",
    unit: "ms",
    goal: "100",
    records: 10,
    draw: () =>
      groups(
        "GET events GROUPBY user COLUMNS(KEY, SUM) SORT SUM DESC TAKE 10",
        "* | stats by (user) sum(value) total | sort by (total desc) limit 10",
        bareGroups({
          terms: { field: "user", size: 10, order: { total: "desc" } },
          aggs: { total: { sum: { field: "value" } } },
        }),
      ),
  },
];
