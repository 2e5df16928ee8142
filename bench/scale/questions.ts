import type { Unit } from "../frame.ts";
import { RARE_SOURCE, RARE_TAG } from "../support/events.ts";
import { requestIdOf, USERS } from "./events.ts";

/** What is measured, and what it is to come to at ten million events. */
export type Row = { readonly name: string; readonly unit: Unit; readonly goal: string };

type Random = (below: number) => number;
type Path = readonly [path: string, parameters: Readonly<Record<string, string>>];

/** One question, as each contender is asked it. */
export type Asked = {
  /** Requests to Loggia, one after the other. */
  readonly loggia: readonly Path[];
  /** One request to VictoriaLogs, in LogsQL. */
  readonly victoriaLogs: { readonly query: string; readonly limit?: string };
};

export type Question = Row & {
  /** Draws values for one question, of events so many. */
  readonly draw: (random: Random, count: number) => Asked;
  /** How many records answer it, whatever was drawn. */
  readonly records?: number;
};

const NEWEST = { order: "desc", pagesize: "100" };
const BY_DAY = "GROUPBY DAY COLUMNS(KEY, COUNT, SUM, MIN, MAX)";
const STATS_BY_DAY = "stats by (_time:1d) count(), sum(value), min(value), max(value)";

function newestOf(parameters: Readonly<Record<string, string>>, query: string): Asked {
  return { loggia: [["/events", { ...NEWEST, ...parameters }]], victoriaLogs: { query, limit: "100" } };
}

function groups(lql: string, query: string): Asked {
  return { loggia: [["/query", { query: lql }]], victoriaLogs: { query } };
}

export const QUESTIONS: readonly Question[] = [
  {
    name: "one event by a word of its text",
    unit: "ms",
    goal: "10",
    records: 1,
    draw(random, count) {
      const id = requestIdOf(random(count));
      return newestOf({ text: id }, id);
    },
  },
  {
    name: "a word that no text has",
    unit: "ms",
    goal: "",
    records: 0,
    draw(random) {
      const id = requestIdOf(-1 - random(1e9));
      return newestOf({ text: id }, id);
    },
  },
  {
    name: "newest 100 of a tag and a source",
    unit: "ms",
    goal: "20",
    draw: () => newestOf({ tags: RARE_TAG, source: RARE_SOURCE }, `tags:${RARE_TAG} source:=${RARE_SOURCE}`),
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
    }),
  },
  {
    name: `newest 100 of one user of ${USERS.toLocaleString("en-US")}`,
    unit: "ms",
    goal: "50",
    draw(random) {
      const user = `user-${random(USERS)}`;
      return newestOf({ user }, `user:=${user}`);
    },
  },
  { name: "newest 100", unit: "ms", goal: "10", records: 100, draw: () => newestOf({}, "*") },
  {
    name: "count, sum, min, max by day",
    unit: "ms",
    goal: "70",
    draw: () => groups(`GET events ${BY_DAY}`, `* | ${STATS_BY_DAY}`),
  },
  {
    name: "the same of a tag",
    unit: "ms",
    goal: "100",
    draw: () => groups(`GET events WHERE tags = 'error' ${BY_DAY}`, `tags:error | ${STATS_BY_DAY}`),
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
      ),
  },
];
